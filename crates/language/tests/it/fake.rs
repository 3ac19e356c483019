//! A language server that finds `BROKEN` in lines and behaves as it is told. The test binary starts itself for it.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

use crate::world::{Plan, World};

const BEHAVIOUR: &str = "FAKE_BEHAVIOUR";

/// How the server behaves.
pub(crate) fn behaving(behaviour: &str) -> Plan {
    // Standard output belongs to the test harness.
    let words = ["bash", "-c", "exec 3>&1 >/dev/null; exec \"$@\"", "fake"];
    let own = std::env::current_exe().unwrap().display().to_string();
    let rest = [own.as_str(), "--ignored", "--exact", "fake::serve", "--nocapture"];
    let command = words.into_iter().chain(rest).map(str::to_owned).collect();
    let mut plan = Plan::new(command);
    plan.vars.push((BEHAVIOUR.to_owned(), behaviour.to_owned()));
    plan
}

/// A world with such a server.
pub(crate) fn world(behaviour: &str) -> World {
    behaving(behaviour).begin()
}

#[test]
#[ignore = "only runs as a language server"]
#[expect(clippy::disallowed_methods, reason = "tests speak through the environment")]
fn serve() {
    let behaviour = std::env::var(BEHAVIOUR).unwrap();
    let out = fs_err::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
    let mut server = Fake { out, behaviour, input: BufReader::new(std::io::stdin()) };
    server.begin();
    while let Some(message) = server.hear() {
        server.on(&message);
    }
}

struct Fake {
    out: fs_err::File,
    behaviour: String,
    input: BufReader<std::io::Stdin>,
}

impl Fake {
    fn is(&self, behaviour: &str) -> bool {
        self.behaviour == behaviour
    }

    fn begin(&mut self) {
        fs_err::write("started", std::process::id().to_string()).unwrap();
        match self.behaviour.as_str() {
            "noisy" => self.out.write_all(b"Welcome!\nlistening ...\r\n\r\n").unwrap(),
            "garbage" => while self.out.write_all(&[b'\n', 0xff, b'{', 0]).is_ok() {},
            "huge" => self.out.write_all(b"Content-Length: 99999999999\r\n\r\n{").unwrap(),
            "voiceless" => {
                self.out.write_all(b"Content-Length: 10\r\n\r\n{").unwrap();
                fs_err::write("hanging", "").unwrap();
                loop {
                    std::thread::park();
                }
            }
            _ => {}
        }
    }

    fn hear(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.input.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).unwrap();
        Some(serde_json::from_slice(&body).unwrap())
    }

    fn say(&mut self, message: &Value) {
        let body = message.to_string();
        // Whoever listens may have heard enough.
        _ = write!(self.out, "Content-Length: {}\r\n\r\n{body}", body.len());
    }

    fn on(&mut self, message: &Value) {
        match message["method"].as_str() {
            Some("initialize") if self.is("silent") => {}
            Some("initialize") => self.greet(&message["id"]),
            Some("initialized") if self.is("deaf") => loop {
                std::thread::park();
            },
            Some("textDocument/didOpen" | "textDocument/didChange") => self.on_text(&message["params"]),
            Some("shutdown") => self.say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": null})),
            Some("exit") => {
                fs_err::write("left", "").unwrap();
                std::process::exit(0);
            }
            None if message["id"] == "question" => fs_err::write("answer", message.to_string()).unwrap(),
            _ => {}
        }
    }

    fn greet(&mut self, id: &Value) {
        if self.is("wrong ids") {
            for wrong in [json!(77), json!("1"), json!(-1), json!(null), json!({"id": 1})] {
                self.say(&json!({"jsonrpc": "2.0", "id": wrong, "result": {"capabilities": {}}}));
            }
        }
        let capabilities = json!({"textDocumentSync": {"openClose": true, "change": 1}});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": {"capabilities": capabilities}}));
        if self.is("curious") {
            let params = json!({"items": [{"section": "text.width"}]});
            let question = json!({"id": "question", "method": "workspace/configuration", "params": params});
            self.say(&question);
        }
    }

    fn on_text(&mut self, params: &Value) {
        match self.behaviour.as_str() {
            "mute" => return,
            "crashing" => crash(),
            "crashing once" if !already("crashed") => crash(),
            "gated" => _ = fs_err::read("gate").unwrap(),
            "flooding" => self.flood(),
            "wrong ids" => self.say(&json!({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}})),
            "mumbling" => {
                for body in ["", "null", "[]", "{}", "{\"id\"", "\u{0}", "{\"method\": 7}"] {
                    write!(self.out, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
                }
            }
            _ => {}
        }
        let document = &params["textDocument"];
        let text = document["text"].as_str().or_else(|| params["contentChanges"][0]["text"].as_str());
        let broken = (0..).zip(text.unwrap().lines()).filter(|(_, line)| line.contains("BROKEN"));
        let diagnostics: Vec<Value> = broken.map(|(number, line)| problem(number, line)).collect();
        let params =
            json!({"uri": document["uri"], "version": document["version"], "diagnostics": diagnostics});
        self.say(&json!({"method": "textDocument/publishDiagnostics", "params": params}));
    }

    fn flood(&mut self) {
        let many: Vec<Value> = (0..200).map(|line| problem(line, &"x".repeat(5_000))).collect();
        for number in 0..50 {
            let params = json!({"uri": format!("file:///elsewhere/{number}.txt"), "diagnostics": many});
            self.say(&json!({"method": "textDocument/publishDiagnostics", "params": params}));
            let params = json!({"token": number, "value": {"kind": "report", "message": "x".repeat(10_000)}});
            self.say(&json!({"method": "$/progress", "params": params}));
        }
    }
}

fn problem(line: u64, message: &str) -> Value {
    json!({"range": {"start": {"line": line, "character": 0}}, "severity": 1, "source": "fake", "message": message})
}

#[expect(clippy::print_stderr, reason = "servers complain there")]
fn crash() {
    eprintln!("the last straw");
    std::process::exit(3);
}

/// Whether this was asked before, by whatever process.
fn already(what: &str) -> bool {
    let was_there = std::path::Path::new(what).exists();
    fs_err::write(what, "").unwrap();
    was_there
}
