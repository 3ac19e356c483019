//! MCP servers that are part of the program that starts Tiller, as agent SDKs let their users write them.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{World, result_text};
use crate::live::Live;

/// How SDKs declare such a server: on the command line, or in their first request.
const BY_OPTION: [&str; 2] = ["--mcp-config", r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#];

fn by_request() -> Value {
    json!({"subtype": "initialize", "sdkMcpServers": ["calc"]})
}

/// A host with the server `calc`, whose tools have these names.
struct Host {
    live: Live,
    tools: Vec<&'static str>,
    /// The methods it was asked for.
    heard: Vec<String>,
}

impl Host {
    fn new(live: Live) -> Self {
        Self { live, tools: vec!["add"], heard: Vec::new() }
    }

    /// Serves until such a frame comes; gives all that are not for the server.
    #[track_caller]
    fn serve_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.live.frame();
            if wanted(&frame) {
                frames.push(frame);
                return frames;
            }
            if frame["request"]["subtype"] == "mcp_message" {
                assert_eq!(frame["request"]["server_name"], "calc");
                let answer = self.answer(&frame["request"]["message"]);
                self.live.answer(&frame, &json!({"mcp_response": answer}));
            } else {
                frames.push(frame);
            }
        }
    }

    #[track_caller]
    fn turn(&mut self) -> Vec<Value> {
        self.serve_until(|frame| frame["type"] == "result")
    }

    fn answer(&mut self, message: &Value) -> Value {
        let method = message["method"].as_str().unwrap();
        self.heard.push(method.to_owned());
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
        let result = match method {
            "initialize" => {
                json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "calc", "version": "1.0"}})
            }
            "tools/list" => {
                let tool = |name| json!({"name": name, "description": "adds", "inputSchema": schema});
                json!({"tools": self.tools.iter().map(tool).collect::<Vec<_>>()})
            }
            "tools/call" => {
                let arguments = &message["params"]["arguments"];
                let sum = arguments["a"].as_i64().unwrap() + arguments["b"].as_i64().unwrap();
                json!({"content": [{"type": "text", "text": format!("the sum is {sum}")}]})
            }
            // To a notification there is no answer; the receipt has a form all the same.
            _ => return json!({"jsonrpc": "2.0", "result": {}}),
        };
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
    }
}

fn asks_for_a_sum(world: &World) {
    let call = Reply::new().tool_with_id("c", "mcp__calc__add", json!({"a": 40, "b": 2}));
    world.server.replies([call, Reply::text("42")]);
}

fn world() -> World {
    World::new().var("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1").var("TILLER_MCP_WAIT_MS", "60000")
}

// Both SDKs have a way of their own.
#[test]
fn the_model_uses_a_server_of_the_host_however_it_is_declared() {
    for by_option in [true, false] {
        let world = world();
        asks_for_a_sum(&world);
        let rule = ["--allowedTools", "mcp__calc__add"];
        let args = if by_option { [&BY_OPTION[..], &rule].concat() } else { rule.to_vec() };
        let mut host = Host::new(world.talk(&args));
        let is_state = |frame: &&Value| frame["subtype"] == "session_state_changed";
        if !by_option {
            // The first message stands right behind the request, as one SDK sends it.
            let request = json!({"type": "control_request", "request_id": "i", "request": by_request()});
            host.live.send(&request);
        }
        host.live.say("add them");
        let frames = host.turn();
        let init = frames.iter().find(|frame| frame["subtype"] == "init").unwrap();
        assert_eq!(init["mcp_servers"], json!([{"name": "calc", "status": "connected"}]));
        assert!(init["tools"].to_string().contains("mcp__calc__add"), "{init}");
        // Nobody has to do anything while programs talk to each other.
        let states: Vec<&Value> = frames.iter().filter(is_state).map(|frame| &frame["state"]).collect();
        assert_eq!(states, ["running"]);
        let result = frames.last().unwrap();
        assert_eq!((&result["result"], &result["permission_denials"]), (&json!("42"), &json!([])));
        assert_eq!(host.heard, ["initialize", "notifications/initialized", "tools/list", "tools/call"]);
        let told = result_text(world.server.messages().pop().unwrap().body(), "c");
        assert!(told.contains("the sum is 42"), "{told}");
        let end = host.live.finish();
        assert_eq!((end.code, end.stderr.as_str()), (0, ""));
        world.server.assert_clean();
    }
}

// PERM-18: its tools need a yes like those of any other server.
#[test]
fn tools_of_the_host_are_not_allowed_by_themselves() {
    let world = world();
    asks_for_a_sum(&world);
    let mut host = Host::new(world.talk(&BY_OPTION));
    host.live.say("add them");
    let result = host.turn().pop().unwrap();
    assert_eq!(result["permission_denials"][0]["tool_name"], "mcp__calc__add");
    assert!(!host.heard.iter().any(|method| method == "tools/call"));
    host.live.finish();
    world.server.assert_clean();
}

#[test]
fn tools_that_the_host_adds_later_are_found() {
    let world = world();
    let call = Reply::new().tool_with_id("c", "mcp__calc__plus", json!({"a": 1, "b": 2}));
    world.server.replies([Reply::text("ready"), call, Reply::text("3")]);
    let mut host = Host::new(world.talk(&[&BY_OPTION[..], &["--allowedTools", "mcp__calc"]].concat()));
    host.live.say("hello");
    host.turn();
    host.tools.push("plus");
    let news = json!({"subtype": "mcp_message", "server_name": "calc",
        "message": {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}});
    host.live.send(&json!({"type": "control_request", "request_id": "n", "request": news}));
    let asked = |frame: &Value| frame["request"]["message"]["method"] == "tools/list";
    let list = host.serve_until(asked).pop().unwrap();
    let answer = host.answer(&list["request"]["message"]);
    host.live.answer(&list, &json!({"mcp_response": answer}));
    host.live.say("add them");
    assert_eq!(host.turn().pop().unwrap()["result"], "3");
    let told = result_text(world.server.messages().pop().unwrap().body(), "c");
    assert!(told.contains("the sum is 3"), "{told}");
    host.live.finish();
    world.server.assert_clean();
}

// HEAD-02: nobody waits for a host that is gone.
#[test]
fn a_call_ends_when_the_host_is_gone() {
    let world = world();
    asks_for_a_sum(&world);
    let mut host = Host::new(world.talk(&[&BY_OPTION[..], &["--allowedTools", "mcp__calc"]].concat()));
    host.live.say("add them");
    host.serve_until(|frame| frame["request"]["message"]["method"] == "tools/call");
    let end = host.live.finish();
    let result = end.frames.iter().find(|frame| frame["type"] == "result").unwrap();
    assert_eq!(result["result"], "42");
    let told = result_text(world.server.messages().pop().unwrap().body(), "c");
    assert!(told.contains("the stream closed"), "{told}");
    world.server.assert_clean();
}

#[test]
fn a_server_that_the_host_does_not_know_has_failed() {
    let world = world();
    world.server.reply(Reply::text("without"));
    let mut live = world.talk(&BY_OPTION);
    let asked = live.until(|frame| frame["request"]["subtype"] == "mcp_message").pop().unwrap();
    let error = json!({"subtype": "error", "request_id": asked["request_id"], "error": "no server calc"});
    live.send(&json!({"type": "control_response", "response": error}));
    live.say("go");
    assert_eq!(live.turn().pop().unwrap()["result"], "without");
    let status = live.request(&json!({"subtype": "mcp_status"}));
    let calc = &status["response"]["mcpServers"][0];
    assert_eq!(calc["status"], "failed");
    assert!(calc["error"].as_str().unwrap().contains("no server calc"), "{calc}");
    live.finish();
    world.server.assert_clean();
}

// Whoever relies on tools does not get a run without them.
#[test]
fn without_a_host_such_a_server_is_an_error() {
    let world = World::new();
    let run = world.run(&[&["-p", "go"], &BY_OPTION[..]].concat());
    assert_eq!(run.code(), 1);
    assert!(
        run.stderr.contains("calc") && run.stderr.contains("--input-format stream-json"),
        "{}",
        run.stderr
    );
    assert_eq!(world.server.messages().len(), 0);
    world.write(".mcp.json", r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#);
    world.server.reply(Reply::text("without"));
    let run = world.run(&["-p", "go"]).ok();
    assert!(run.stderr.contains("type sdk is for --mcp-config"), "{}", run.stderr);
    world.server.assert_clean();
}
