//! The official conformance suite for MCP clients, played with the built binary.
//!
//! The suite starts a server for each scenario and a program that stands for the client. That program only tells the
//! test; the test then runs a session with the server, in which a scripted model calls every tool that it is told of,
//! and a host that says yes to every question and signs in wherever the session wants it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};

use serde_json::{Map, Value, json};
use tiller_testenv::{node, npm_program};
use tiller_testkit::{Captured, Reply};

use crate::harness::World;
use crate::live::Live;

/// Scenarios that go on at the same time.
const AT_ONCE: usize = 3;
/// More often than this nobody signs in; the suite does not want more than three times.
const SIGN_INS: usize = 4;
/// A scenario of the suite, as the program that stands for the client tells it.
#[derive(serde::Deserialize)]
struct Scenario {
    url: String,
    name: String,
    context: Value,
}

/// Plays what is on; gives what the suite says of each scenario, with a mark for those that passed.
fn played(options: &[&str]) -> Vec<(String, bool)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let relay = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp_relay.py");
    let suite = Command::new(node())
        .arg(npm_program("conformance"))
        .args(["client", "--verbose", "--timeout", "600000"])
        .args(options)
        .args(["--command", &format!("python3 -I -S {} {port}", relay.display())])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (jobs, waiting) = mpsc::channel::<TcpStream>();
    let waiting = Arc::new(Mutex::new(waiting));
    let output = std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let waiting = Arc::clone(&waiting);
            scope.spawn(move || {
                let world = World::new();
                world.server.respond_with(obedient);
                loop {
                    let job = waiting.lock().unwrap().recv();
                    let Ok(stream) = job else { return };
                    play_for(&world, stream);
                }
            });
        }
        let accepting = scope.spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                // Nobody but the end of the suite connects without a word.
                if stream.peek(&mut [0]).unwrap() == 0 {
                    return;
                }
                jobs.send(stream).unwrap();
            }
        });
        let output = suite.wait_with_output().unwrap();
        drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
        accepting.join().unwrap();
        output
    });
    let said = String::from_utf8_lossy(&output.stdout);
    let verdict = |line: &str| {
        let (mark, rest) = line.split_once(' ')?;
        let passed = match mark {
            "✓" => true,
            "✗" => false,
            _ => return None,
        };
        Some((rest.split(':').next()?.to_owned(), passed))
    };
    let verdicts: Vec<_> = said.lines().filter_map(verdict).collect();
    assert!(!verdicts.is_empty(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    verdicts
}

fn play_for(world: &World, mut stream: TcpStream) {
    let mut line = String::new();
    BufReader::new(&mut stream).read_line(&mut line).unwrap();
    play(world, &serde_json::from_str(&line).unwrap());
    // The suite may have lost patience.
    let _ = stream.write_all(b"\n");
}

/// One session with the server of a scenario.
fn play(world: &World, scenario: &Scenario) {
    let config = json!({"mcpServers": {"s": server(world, scenario)}}).to_string();
    let host = ["--permission-mode", "bypassPermissions", "--permission-prompt-tool", "stdio"];
    let args = [&["--mcp-config", &config, "--strict-mcp-config"], &host[..]].concat();
    let mut live = world.talk(&args);
    for round in 0..SIGN_INS {
        if !ready(&mut live) {
            break;
        }
        let prompt = json!({"round": round, "calls": scenario.context["toolCalls"]});
        live.say(&prompt.to_string());
        answer_all(&mut live);
        if settled(&mut live, None)["status"] != "needs-auth" {
            break;
        }
    }
    live.finish();
}

/// The server as a user would write it down.
fn server(world: &World, scenario: &Scenario) -> Value {
    let context = &scenario.context;
    let mut oauth = json!({"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"});
    for (known, key) in [("client_id", "clientId"), ("client_secret", "clientSecret")] {
        if let Some(value) = context.get(known) {
            oauth[key] = value.clone();
        }
    }
    let file = |name: &str, key: &str| {
        world.write(name, context[key].as_str().unwrap());
        json!(world.path(name))
    };
    match scenario.name.as_str() {
        "auth/client-credentials-basic" => oauth["grant"] = json!("client_credentials"),
        "auth/client-credentials-jwt" => {
            oauth["grant"] = json!("client_credentials");
            oauth["privateKeyFile"] = file("key.pem", "private_key_pem");
        }
        "auth/wif-jwt-bearer" => {
            oauth["grant"] = json!("jwt_bearer");
            oauth["assertionFile"] = file("workload.jwt", "valid_jwt");
        }
        "auth/enterprise-managed-authorization" => {
            oauth["grant"] = json!("enterprise");
            oauth["identityProvider"] = json!({"issuer": context["idp_issuer"], "clientId": context["idp_client_id"],
                "idToken": context["idp_id_token"]});
        }
        _ => {}
    }
    json!({"type": "http", "url": scenario.url, "oauth": oauth})
}

/// Where the server stands, and whether signing in to it has failed meanwhile.
fn status(live: &mut Live) -> (Value, bool) {
    let request = json!({"subtype": "mcp_status"});
    live.send(&json!({"type": "control_request", "request_id": "r", "request": request}));
    let mut frames = live.until(|frame| frame["type"] == "control_response");
    let server = frames.pop().unwrap()["response"]["response"]["mcpServers"][0].take();
    let has_failed = |frame: &Value| frame["content"].as_str().unwrap_or_default().contains("signing in");
    (server, frames.iter().any(has_failed))
}

/// Waits until the server stands somewhere, but not at this page.
fn settled(live: &mut Live, page: Option<&str>) -> Value {
    loop {
        let (server, _) = status(live);
        let is_there = page.is_some() && server["authUrl"].as_str() == page;
        if server["status"] != "pending" && !is_there {
            return server;
        }
    }
}

/// Signs in as often as it takes. False if the server cannot be used.
fn ready(live: &mut Live) -> bool {
    for _ in 0..=SIGN_INS {
        match settled(live, None)["status"].as_str() {
            Some("connected") => return true,
            Some("needs-auth") => sign_in(live),
            _ => return false,
        }
    }
    false
}

fn sign_in(live: &mut Live) {
    live.request(&json!({"subtype": "mcp_authenticate", "serverName": "s"}));
    loop {
        match status(live) {
            (_, true) => return,
            (server, _) => {
                if let Some(page) = server["authUrl"].as_str() {
                    visit(page);
                    settled(live, Some(page));
                    return;
                }
            }
        }
    }
}

/// Opens a page as a browser does whose user agrees at once.
fn visit(page: &str) {
    let mut page = Some(page.to_owned());
    while let Some(url) = page {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url} is not on this machine"));
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let moved = answer
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("location")));
        page = moved.map(|(_, place)| place.to_owned());
    }
}

/// Says yes to every question until the turn is over.
fn answer_all(live: &mut Live) {
    loop {
        let frame = live.frame();
        match (frame["type"].as_str(), frame["request"]["subtype"].as_str()) {
            (Some("result"), _) => return,
            (_, Some("elicitation")) => live.answer(&frame, &json!({"action": "accept", "content": {}})),
            (_, Some("can_use_tool")) => {
                live.answer(&frame, &json!({"behavior": "allow", "updatedInput": frame["request"]["input"]}));
            }
            _ => {}
        }
    }
}

/// A model that calls what the prompt names, or else every tool of the server, once for each prompt.
fn obedient(request: &Captured) -> Reply {
    let body = request.body();
    let texts = body["messages"].as_array().into_iter().flatten().flat_map(|message| {
        message["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str())
    });
    let prompt = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok()).next_back();
    let Some(round) = prompt.as_ref().and_then(|prompt| prompt["round"].as_u64()) else {
        return Reply::text("nothing to do");
    };
    let is_done = body["messages"].to_string().contains(&format!("\"round-{round}-0\""));
    let wanted = prompt.as_ref().and_then(|prompt| prompt["calls"].as_array());
    let calls: Vec<(String, Value)> = match wanted {
        Some(calls) => calls.iter().map(|call| (full(&call["name"]), call["arguments"].clone())).collect(),
        None => tools(body)
            .map(|tool| (tool["name"].as_str().unwrap().to_owned(), arguments(body, tool)))
            .collect(),
    };
    if is_done || calls.is_empty() {
        return Reply::text("done");
    }
    let call = |reply: Reply, (number, (name, input)): (usize, (String, Value))| {
        reply.tool_with_id(&format!("round-{round}-{number}"), &name, input)
    };
    calls.into_iter().enumerate().fold(Reply::new(), call)
}

fn full(name: &Value) -> String {
    format!("mcp__s__{}", name.as_str().unwrap())
}

/// The tools of the server, as the model is told of them.
fn tools(body: &Value) -> impl Iterator<Item = &Value> {
    let all = body["tools"].as_array().into_iter().flatten();
    all.filter(|tool| tool["name"].as_str().unwrap_or_default().starts_with("mcp__s__"))
}

/// Something for everything that a tool needs.
fn arguments(body: &Value, tool: &Value) -> Value {
    let schema = &tool["input_schema"];
    let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("object") if name == "schema" => schema_of_the_other(body),
        Some("object") => json!({}),
        Some("array") => json!([]),
        _ => json!("something"),
    };
    let given: Map<String, Value> = needed.map(|name| (name.to_owned(), value(name))).collect();
    Value::Object(given)
}

/// What the server says that its other tool needs, as far as the model was told: a schema that the provider would not
/// take stands in the description.
fn schema_of_the_other(body: &Value) -> Value {
    let other = tools(body).find(|tool| tool["input_schema"]["properties"].get("schema").is_none()).unwrap();
    let words = other["description"].as_str().unwrap_or_default();
    let told = words.find('{').and_then(|start| serde_json::from_str(&words[start..]).ok());
    told.unwrap_or_else(|| other["input_schema"].clone())
}

// MCP-02
#[test]
fn every_scenario_of_the_official_suite_passes() {
    let verdicts = played(&["--suite", "all"]);
    let failed: Vec<&str> =
        verdicts.iter().filter(|(_, passed)| !passed).map(|(name, _)| name.as_str()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let score = format!("{} of {} scenarios", verdicts.len() - failed.len(), verdicts.len());
    let docs = include_str!("../../../../docs/mcp.md");
    assert!(docs.contains(&score), "docs/mcp.md does not say {score}");
}
