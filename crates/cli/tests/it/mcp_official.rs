//! The official MCP servers, as `cargo xtask setup` gets them, over standard input and output and over HTTP.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tiller_testenv::{npm_program, python};
use tiller_testkit::{Matcher, Reply};

use crate::harness::{World, blocks_of, eventually, result_text};
use crate::live::Live;
use crate::mcp::go;

/// A world with one server.
fn world_with(server: &Value) -> World {
    World::new().file(".mcp.json", &json!({"mcpServers": {"s": server}}).to_string())
}

fn everything() -> Value {
    json!({"command": npm_program("mcp-server-everything"), "args": []})
}

/// The same server as a service.
struct Service(Child, u16);

impl Service {
    fn start(how: &str) -> Self {
        loop {
            // A port that is free now may be taken in a moment; then the next one is tried.
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut child = Command::new(npm_program("mcp-server-everything"))
                .arg(how)
                .env("PORT", port.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
            let listens = lines.any(|line| line.contains("listening"));
            std::thread::spawn(move || lines.for_each(drop));
            if listens {
                return Self(child, port);
            }
            child.wait().unwrap();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Calls what there is to call, answers what is asked, and looks at all of it. A call may take four seconds without a sign of
/// life.
fn try_everything(mut server: Value) {
    server["timeout"] = json!(4_000);
    let world = world_with(&server);
    let from_server =
        |body: &Value| body["tools"].is_null() && body.to_string().contains("Tell me of the sea");
    world.server.conversation(Matcher::custom(from_server)).reply(Reply::text("It is wide."));
    world.server.replies([
        Reply::new()
            .tool_with_id("sum", "mcp__s__get-sum", json!({"a": 2, "b": 40}))
            .tool_with_id("image", "mcp__s__get-tiny-image", json!({}))
            .tool_with_id("facts", "mcp__s__get-structured-content", json!({"location": "Chicago"}))
            .tool_with_id("links", "mcp__s__get-resource-links", json!({"count": 2}))
            .tool_with_id("read", "ReadMcpResourceTool", json!({"server": "s", "uri": FEATURES}))
            // It says how far it is four times a second, else its time would be over.
            .tool_with_id(
                "long",
                "mcp__s__trigger-long-running-operation",
                json!({"duration": 5, "steps": 20}),
            ),
        Reply::new()
            .tool_with_id("roots", "mcp__s__get-roots-list", json!({}))
            .tool_with_id("ask", "mcp__s__trigger-elicitation-request", json!({}))
            .tool_with_id(
                "model",
                "mcp__s__trigger-sampling-request",
                json!({"prompt": "Tell me of the sea"}),
            ),
        Reply::text("done"),
    ]);
    let host = ["--permission-mode", "bypassPermissions", "--permission-prompt-tool", "stdio"];
    let mut live = world.talk(&host);
    eventually("everything is offered", || {
        let status = live.request(&json!({"subtype": "mcp_status"})).to_string();
        ["get-roots-list", "trigger-elicitation-request", "trigger-sampling-request"]
            .iter()
            .all(|tool| status.contains(tool))
    });
    live.say("/mcp__s__args-prompt Paris Texas");
    let frames = answered(&mut live);
    assert_eq!(live.finish().code, 0);
    look_at_everything(&world, &frames);
}

const FEATURES: &str = "demo://resource/static/document/features.md";

/// Answers as a user would who agrees; gives the frames of the turn.
fn answered(live: &mut Live) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let frame = live.frame();
        match (frame["type"].as_str(), frame["request"]["subtype"].as_str()) {
            (Some("result"), _) => return frames,
            (_, Some("elicitation")) => {
                assert!(frame["request"]["requested_schema"]["properties"]["name"].is_object(), "{frame}");
                live.answer(&frame, &json!({"action": "accept", "content": {"name": "Ada", "check": true}}));
            }
            (_, Some("can_use_tool")) => {
                assert_eq!(frame["request"]["tool_name"], "McpSampling", "{frame}");
                live.answer(&frame, &json!({"behavior": "allow", "updatedInput": frame["request"]["input"]}));
            }
            _ => frames.push(frame),
        }
    }
}

fn look_at_everything(world: &World, frames: &[Value]) {
    let messages = world.server.messages();
    let last = messages.last().unwrap().body();
    for (call, word) in [
        ("sum", "42"),
        ("links", "demo://resource"),
        ("read", "Everything"),
        ("long", "completed"),
        ("roots", world.dir().to_str().unwrap()),
        ("ask", "Ada"),
        ("model", "It is wide."),
    ] {
        let said = result_text(last, call);
        assert!(said.contains(word), "{call}: {said}");
    }
    let has_image = |result: &&Value| {
        result["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "image"))
    };
    assert_eq!(blocks_of(last, "tool_result").iter().filter(has_image).count(), 1);
    let facts = frames.iter().find_map(|frame| frame["mcp_meta"]["structuredContent"].as_object());
    assert!(facts.unwrap()["temperature"].is_number());
    let progress = frames.iter().find(|frame| frame["type"] == "tool_progress").unwrap();
    assert_eq!(progress["tool_name"], "mcp__s__trigger-long-running-operation");
    assert_eq!((&progress["tool_use_id"], &progress["total"]), (&json!("long"), &json!(20.0)));
    assert!(progress["elapsed_time_seconds"].is_number() && progress["uuid"].is_string(), "{progress}");
    let first = messages[0].body()["messages"].to_string();
    assert!(first.contains("Paris"), "a prompt: {first}");
    world.server.assert_clean();
}

// MCP-01
#[test]
fn everything_over_standard_input_and_output() {
    try_everything(everything());
}

// MCP-01
#[test]
fn everything_over_http() {
    let service = Service::start("streamableHttp");
    try_everything(json!({"type": "http", "url": format!("http://127.0.0.1:{}/mcp", service.1)}));
}

#[test]
fn the_filesystem_server_works_in_its_directory() {
    let world = World::new().file("notes/a.txt", "hello from a file");
    let dir = world.path("notes");
    let server = json!({"command": npm_program("mcp-server-filesystem"), "args": [dir]});
    world.write(".mcp.json", &json!({"mcpServers": {"fs": server}}).to_string());
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fs__read_text_file", json!({"path": dir.join("a.txt")})),
        Reply::new().tool_with_id(
            "b",
            "mcp__fs__write_file",
            json!({"path": dir.join("b.txt"), "content": "new"}),
        ),
        Reply::text("done"),
    ]);
    go(&world, "go");
    let messages = world.server.messages();
    assert!(result_text(messages[1].body(), "a").contains("hello from a file"));
    assert_eq!(world.read("notes/b.txt"), "new");
    world.server.assert_clean();
}

#[test]
fn the_git_server_reads_the_repository() {
    let world = World::new().file("a.txt", "x");
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(world.dir()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "a.txt"]);
    git(&["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "The first one"]);
    let server = json!({"command": python(), "args": ["-m", "mcp_server_git", "--repository", world.dir()]});
    world.write(".mcp.json", &json!({"mcpServers": {"git": server}}).to_string());
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__git__git_log", json!({"repo_path": world.dir()})),
        Reply::text("done"),
    ]);
    go(&world, "go");
    let log = result_text(world.server.messages().pop().unwrap().body(), "a");
    assert!(log.contains("The first one"), "{log}");
    world.server.assert_clean();
}
