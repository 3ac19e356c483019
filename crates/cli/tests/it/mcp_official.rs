//! The official MCP servers, as `cargo xtask setup` gets them, over standard input and output and over HTTP.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tiller_testenv::{npm_program, python};
use tiller_testkit::Reply;

use crate::harness::{World, blocks_of, eventually, result_text};
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
    fn start() -> Self {
        loop {
            // A port that is free now may be taken in a moment; then the next one is tried.
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut child = Command::new(npm_program("mcp-server-everything"))
                .arg("streamableHttp")
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

/// Calls what there is to call, and looks at all of it.
fn try_everything(world: &World) {
    world.server.replies([
        Reply::new()
            .tool_with_id("sum", "mcp__s__get-sum", json!({"a": 2, "b": 40}))
            .tool_with_id("image", "mcp__s__get-tiny-image", json!({}))
            .tool_with_id("facts", "mcp__s__get-structured-content", json!({"location": "Chicago"}))
            .tool_with_id("links", "mcp__s__get-resource-links", json!({"count": 2}))
            .tool_with_id(
                "long",
                "mcp__s__trigger-long-running-operation",
                json!({"duration": 1, "steps": 4}),
            )
            .tool_with_id(
                "text",
                "ReadMcpResourceTool",
                json!({"server": "s", "uri": "demo://resource/static/document/features.md"}),
            ),
        Reply::new().tool_with_id("ask", "mcp__s__trigger-elicitation-request", json!({})),
        Reply::text("done"),
    ]);
    let frames = go(world, "go");
    let messages = world.server.messages();
    let said = |call: &str| result_text(messages[1].body(), call);
    assert!(said("sum").contains("42"), "{}", said("sum"));
    assert!(said("links").contains("demo://resource"), "{}", said("links"));
    assert!(said("long").contains("completed"), "{}", said("long"));
    assert!(said("text").to_lowercase().contains("everything"), "{}", said("text"));
    let images = blocks_of(messages[1].body(), "tool_result").into_iter().filter(|result| {
        result["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "image"))
    });
    assert_eq!(images.count(), 1);
    assert!(
        frames.iter().any(|frame| frame["tool_use_result"]["structuredContent"]["temperature"].is_number())
    );
    let elicited = result_text(messages[2].body(), "ask");
    assert!(elicited.contains("declined") || elicited.contains("decline"), "{elicited}");
    world.server.assert_clean();
}

#[test]
fn everything_over_standard_input_and_output() {
    try_everything(&world_with(&everything()));
}

#[test]
fn everything_over_http() {
    let service = Service::start();
    try_everything(&world_with(
        &json!({"type": "http", "url": format!("http://127.0.0.1:{}/mcp", service.1)}),
    ));
}

#[test]
fn its_prompts_become_messages_and_its_roots_are_ours() {
    let world = world_with(&everything());
    world.server.replies([
        Reply::new().tool_with_id("roots", "mcp__s__get-roots-list", json!({})),
        Reply::text("done"),
    ]);
    let mut live = world.talk(&["--permission-mode", "bypassPermissions"]);
    eventually("the tool for roots is offered", || {
        live.request(&json!({"subtype": "mcp_status"})).to_string().contains("mcp__s__get-roots-list")
    });
    live.say("/mcp__s__args-prompt Paris");
    live.turn();
    assert_eq!(live.finish().code, 0);
    let messages = world.server.messages();
    assert!(messages[0].body()["messages"].to_string().contains("Paris"));
    let roots = result_text(messages[1].body(), "roots");
    assert!(roots.contains(&world.dir().display().to_string()), "{roots}");
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
