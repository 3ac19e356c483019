//! What Tiller contacts (NET-01), and what it does not when it is told to stay on this machine (NET-02).

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tiller_testkit::{Matcher, Reply};

use crate::harness::{World, result_text};

/// A web server that answers every visitor alike and remembers what was asked for.
struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Answers with a head and a body.
    fn answering(head: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let site = Self { port, asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut line = String::new();
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                let _ = lines.read_line(&mut line);
                asked.lock().unwrap().push(line.trim_end().to_owned());
                for line in lines.lines().map_while(Result::ok) {
                    if line.is_empty() {
                        break;
                    }
                }
                let _ = write!(
                    stream,
                    "HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        site
    }

    fn page() -> Self {
        Self::answering("200 OK\r\ncontent-type: text/plain", "a page")
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

/// A call of `WebFetch` under an id of its own.
fn fetch(url: &str) -> (String, Reply) {
    static FETCHES: AtomicUsize = AtomicUsize::new(0);
    let id = format!("fetch{}", FETCHES.fetch_add(1, Ordering::Relaxed));
    let input = json!({"url": url, "prompt": "What does it say?"});
    (id.clone(), Reply::new().tool_with_id(&id, "WebFetch", input))
}

fn last_request(world: &World) -> Value {
    let requests = world.server.messages();
    let main = requests.iter().rev().find(|request| request.body()["tools"].is_array());
    main.unwrap().body().clone()
}

/// Prepares the small model for so many pages.
fn digesting(world: &World, pages: usize) {
    let digests = world.server.conversation(Matcher::model("claude-haiku-5-5"));
    digests.replies((0..pages).map(|_| Reply::text("the digest")));
}

// NET-02
#[test]
fn offline_refuses_a_model_that_is_elsewhere() {
    let world = World::new();
    for (args, var) in [(&["--offline"][..], ("UNUSED", "1")), (&[], ("TILLER_OFFLINE", "1"))] {
        let mut command = world.command(&[&["-p", "go", "--output-format", "json"], args].concat());
        command.env("ANTHROPIC_BASE_URL", "https://model.example:444/v1").env(var.0, var.1);
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("offline") && stderr.contains("https://model.example:444"), "{stderr}");
        assert!(stderr.contains("ANTHROPIC_BASE_URL"), "{stderr}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["is_error"], true);
    }
    assert_eq!(world.server.requests().len(), 0);
}

// NET-02: a proxy could pass it on.
#[test]
fn offline_talks_to_a_local_model_past_every_proxy() {
    let proxy = Site::answering("502 Bad Gateway", "");
    let world = World::new().var("HTTP_PROXY", &proxy.url()).var("HTTPS_PROXY", &proxy.url());
    let world = world.var("ALL_PROXY", &proxy.url()).var("TILLER_MAX_RETRIES", "0");
    assert_ne!(world.run(&["-p", "go"]).code(), 0);
    let through_proxy = proxy.asked().len();
    assert!(through_proxy > 0, "the proxy counts as long as the run is not offline");

    let port = world.server.url().rsplit(':').next().unwrap().to_owned();
    let by_name = world.var("ANTHROPIC_BASE_URL", &format!("http://localhost:{port}"));
    by_name.server.reply(Reply::text("done"));
    assert_eq!(by_name.run(&["-p", "go", "--offline"]).ok().stdout, "done\n");
    let deeper = by_name.var("ANTHROPIC_BASE_URL", &format!("http://model.localhost:{port}"));
    deeper.server.reply(Reply::text("done"));
    assert_eq!(deeper.run(&["-p", "go", "--offline"]).ok().stdout, "done\n");
    assert_eq!(proxy.asked().len(), through_proxy);
    deeper.server.assert_clean();
}

// NET-02: whatever the mode and the rules say.
#[test]
fn offline_the_web_tools_reach_this_machine_only() {
    let proxy = Site::answering("502 Bad Gateway", "");
    let page = Site::page();
    let away = Site::answering("302 Found\r\nlocation: https://example.org/next", "");
    let world = World::new().var("HTTP_PROXY", &proxy.url()).var("HTTPS_PROXY", &proxy.url());
    digesting(&world, 2);
    let (here, here_reply) = fetch(&page.url());
    let (name, name_reply) = fetch(&format!("http://app.localhost:{}/", page.port));
    let (moved, moved_reply) = fetch(&away.url());
    let (there, there_reply) = fetch("https://example.org/");
    let (number, number_reply) = fetch("http://10.0.0.1/");
    world.server.replies([
        here_reply,
        name_reply,
        moved_reply,
        there_reply,
        number_reply,
        Reply::new().tool_with_id("search", "WebSearch", json!({"query": "x"})),
        Reply::text("done"),
    ]);
    let rules = ["--permission-mode", "bypassPermissions", "--allowedTools", "WebFetch,WebSearch"];
    world.run(&[&["-p", "go", "--offline"][..], &rules].concat());
    let request = last_request(&world);
    for id in [&here, &name] {
        assert!(result_text(&request, id).contains("the digest"), "{}", result_text(&request, id));
    }
    assert!(result_text(&request, &moved).contains("not followed"), "{}", result_text(&request, &moved));
    for id in [there.as_str(), &number, "search"] {
        let told = result_text(&request, id);
        assert!(told.contains("offline") && told.contains("this machine only"), "{told}");
    }
    assert_eq!((page.asked().len(), proxy.asked()), (2, Vec::new()));
    world.server.assert_clean();
}

// NET-02: nor do commands leave, in whatever mode, where the kernel can see to that.
#[test]
fn offline_commands_have_no_network() {
    if tiller_sandbox::probe().level == tiller_sandbox::Level::None {
        eprintln!("skipped: the kernel cannot confine commands here");
        return;
    }
    for mode in ["bypassPermissions", "acceptEdits"] {
        let page = Site::page();
        let visit = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{} && printf 'GET /{mode} HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3",
            page.port
        );
        let bash = || Reply::new().tool_with_id("visit", "Bash", json!({"command": visit}));
        let args = ["-p", "go", "--permission-mode", mode, "--allowedTools", "Bash"];
        let world = World::new();
        world.server.replies([bash(), Reply::text("done"), bash(), Reply::text("done")]);
        world.run(&args).ok();
        assert!(result_text(&last_request(&world), "visit").contains("a page"), "the way is open otherwise");
        world.run(&[&args[..], &["--offline"]].concat());
        let told = result_text(&last_request(&world), "visit");
        assert!(!told.contains("a page"), "{mode}: {told}");
        assert_eq!(page.asked().len(), 1, "{mode}");
        world.server.assert_clean();
    }
}

// NET-01: a domain of the setting needs no question, another one does.
#[test]
fn domains_of_the_settings_are_allowed() {
    let page = Site::page();
    let settings = |domains: Value| json!({"web": {"allowedDomains": domains}}).to_string();
    for (domains, allowed, warning) in [
        (json!(["127.0.0.1"]), true, ""),
        (json!(["example.org"]), false, ""),
        (json!(["https://example.org/x", "127.0.0.1"]), true, "is not a domain"),
    ] {
        let world = World::new();
        digesting(&world, 1);
        let (id, reply) = fetch(&page.url());
        world.server.replies([reply, Reply::text("done")]);
        let run = world.run(&["-p", "go", "--settings", &settings(domains)]);
        let told = result_text(&last_request(&world), &id);
        assert_eq!(told.contains("the digest"), allowed, "{told}");
        assert!(run.stderr.contains(warning) && !run.stderr.contains("no effect"), "{run:#?}");
    }
    assert_eq!(page.asked().len(), 2);
}

/// Set in the copy of this test that runs in a network of its own.
const INSIDE: &str = "TILLER_TEST_OWN_NETWORK";

/// Datagrams sent, and packets for which there was no way out: names that were looked up, connections that were tried.
fn attempts() -> u64 {
    let counter = |table: &str, group: &str, name: &str| -> u64 {
        let lines: Vec<Vec<&str>> = table
            .lines()
            .filter(|line| line.starts_with(group))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let column = lines[0].iter().position(|column| *column == name).unwrap();
        lines[1][column].parse().unwrap()
    };
    let snmp = fs_err::read_to_string("/proc/self/net/snmp").unwrap();
    let four = counter(&snmp, "Ip:", "OutNoRoutes") + counter(&snmp, "Udp:", "OutDatagrams");
    let snmp6 = fs_err::read_to_string("/proc/self/net/snmp6").unwrap_or_default();
    let six = snmp6.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let six = six.filter(|(name, _)| ["Ip6OutNoRoutes", "Udp6OutDatagrams"].contains(name));
    four + six.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum::<u64>()
}

/// Uses everything that could contact somebody, in a network that has nothing but this machine.
fn check_inside() {
    let page = Site::page();
    let world = World::new();
    digesting(&world, 1);
    let (id, reply) = fetch(&page.url());
    world.server.replies([
        reply,
        Reply::new()
            .tool("Bash", json!({"command": "echo hello"}))
            .tool("Read", json!({"file_path": "none"})),
        Reply::text("done"),
    ]);
    let run = world.run(&["-p", "go", "--permission-mode", "bypassPermissions", "--debug"]).ok();
    assert!(result_text(&last_request(&world), &id).contains("the digest"), "{run:#?}");
    let mut elsewhere = world.command(&["-p", "go", "--offline"]);
    elsewhere.env("ANTHROPIC_BASE_URL", "https://model.example");
    assert_eq!(elsewhere.output().unwrap().status.code(), Some(1));
    assert_eq!(attempts(), 0, "somebody else was to be contacted");

    // The counters do count: without --offline the same run looks the name up.
    let mut elsewhere = world.command(&["-p", "go"]);
    elsewhere.env("ANTHROPIC_BASE_URL", "https://model.example").env("TILLER_MAX_RETRIES", "0");
    assert_eq!(elsewhere.output().unwrap().status.code(), Some(1));
    assert_ne!(attempts(), 0, "the check is blind");
}

// NET-01: the built binary, in a network whose every attempt to leave is counted.
#[test]
fn nobody_is_contacted_who_was_not_named() {
    if std::env::var_os(INSIDE).is_some() {
        return check_inside();
    }
    let own_network = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "sh", "-c", script]);
        command
    };
    if !own_network("ip link set lo up").output().is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: a network of one's own needs unshare, ip and user namespaces");
        return;
    }
    let test = std::env::current_exe().unwrap();
    let name = std::thread::current().name().unwrap().to_owned();
    let mut again = own_network("ip link set lo up && exec \"$0\" --exact \"$1\" --nocapture");
    let output = again.arg(test).arg(name).env(INSIDE, "1").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("1 passed"), "{}", text(&output.stdout));
}
