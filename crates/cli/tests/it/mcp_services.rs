//! MCP servers that are services, good and bad ones, on loopback.

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::{Value, json};
use tiller_testkit::{McpService, Reply};

use crate::harness::{World, eventually, result_text};
use crate::mcp::go;
use crate::terminal_mcp::browser;

/// A world whose user has this server.
fn having(world: World, server: &Value) -> World {
    fs_err::create_dir_all(world.config_dir()).unwrap();
    fs_err::write(world.config_dir().join("mcp.json"), json!({"mcpServers": {"s": server}}).to_string())
        .unwrap();
    world
}

/// A world with this server, whose user is known there.
fn world_with(kind: &str, url: &str) -> World {
    let headers = json!({"Authorization": McpService::authorization()});
    having(World::new(), &json!({"type": kind, "url": url, "headers": headers}))
}

/// Calls the tool; gives the first frame, and what the model was told.
fn called(world: &World) -> (Value, String) {
    let call = json!({"tool": "mcp__s__whoami"});
    world.server.replies([Reply::new().tool_with_id("a", "CallMcpTool", call), Reply::text("done")]);
    let frames = go(world, "go");
    let init = frames.into_iter().find(|frame| frame["subtype"] == "init").unwrap();
    (init, result_text(world.server.messages().pop().unwrap().body(), "a"))
}

/// What the program says about the server.
fn state(world: &World) -> String {
    world.run(&["mcp", "get", "s"]).stdout
}

#[test]
fn a_service_that_says_everything_over_one_stream_works() {
    let service = McpService::start();
    let world = world_with("sse", &service.sse_url());
    let (init, said) = called(&world);
    assert_eq!(init["mcp_servers"], json!([{"name": "s", "status": "connected"}]));
    assert!(said.contains("you are signed in"), "{said}");
    let unknown = having(World::new(), &json!({"type": "sse", "url": service.sse_url()}));
    assert!(state(&unknown).contains("needs sign-in"), "{}", state(&unknown));
}

// MCP-05
#[test]
fn a_service_that_wants_messages_sent_elsewhere_gets_none() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let elsewhere = format!("http://{}/messages", other.local_addr().unwrap());
    let service = McpService::behaving(&["--endpoint", &elsewhere]);
    let world = world_with("sse", &service.sse_url());
    let said = state(&world);
    assert!(said.contains("the place that it names for messages is not its own"), "{said}");
    assert_eq!(other.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "somebody was sent there");
}

// MCP-05
#[test]
fn an_answer_of_twenty_megabytes_is_not_read() {
    let service = McpService::behaving(&["huge-call"]);
    let (init, said) = called(&world_with("http", &service.url()));
    assert_eq!(init["mcp_servers"][0]["status"], "connected");
    assert!(said.contains("answered mcp__s__whoami with more than may be read (16 MB)"), "{said}");
    let service = McpService::behaving(&["huge-list"]);
    let said = state(&world_with("http", &service.url()));
    assert!(said.contains("it did not tell what it offers: it answered with more than 16 MB"), "{said}");
    // Over one stream there is nothing to go on with.
    let said = state(&world_with("sse", &service.sse_url()));
    assert!(said.contains("failed"), "{said}");
}

#[test]
fn the_secret_of_a_registration_is_kept_and_shown_again() {
    let service = McpService::behaving(&["secret"]);
    let world = World::new();
    let browser = browser(&world);
    let world = world.var("BROWSER", &browser);
    let world = having(world, &json!({"type": "http", "url": service.url()}));
    world.run(&["mcp", "login", "s"]).ok();
    // What was given is good for a moment only: it is renewed each time, and that takes the secret.
    for _ in 0..2 {
        eventually("it is let in", || state(&world).contains("s: ready"));
    }
}
