//! A tool of an MCP server that answers questions about permission.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{World, result_text};

/// Allows what says so in its content, and answers everything else in the ways a tool can get it wrong.
const SERVER: &str = r#"
import json, sys
def answer(arguments):
    with open("asked.jsonl", "a") as log:
        log.write(json.dumps(arguments) + "\n")
    content = arguments["input"].get("content", "")
    if content == "die":
        sys.exit(1)
    return {
        "fine": json.dumps({"behavior": "allow"}),
        "other": json.dumps({"behavior": "allow", "updatedInput": {**arguments["input"], "content": "changed"}}),
        "bad": json.dumps({"behavior": "deny", "message": "not like this"}),
    }.get(content, "sure, go ahead")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "gate", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "decide", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": answer(message["params"]["arguments"])}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

fn world() -> World {
    let config = json!({"mcpServers": {"gate": {"command": "python3", "args": ["gate.py"]}}});
    World::new().file("gate.py", SERVER).file("gate.json", &config.to_string())
}

/// Lets the model write files with these contents, one after the other; gives what it was told of each.
fn write(world: &World, contents: &[&str], args: &[&str]) -> Vec<String> {
    let id = |at: usize| format!("c{at}");
    for (at, content) in contents.iter().enumerate() {
        let input = json!({"file_path": world.path(&format!("f{at}")), "content": content});
        world.server.reply(Reply::new().tool_with_id(&id(at), "Write", input));
    }
    world.server.reply(Reply::text("done"));
    let ask = ["-p", "go", "--mcp-config", "gate.json", "--permission-prompt-tool", "mcp__gate__decide"];
    world.run(&[&ask[..], args].concat());
    world.server.assert_clean();
    let last = world.server.messages().pop().unwrap();
    (0..contents.len()).map(|at| result_text(last.body(), &id(at))).collect()
}

// PERM-18
#[test]
fn a_tool_of_a_server_answers_in_place_of_the_user() {
    let world = world();
    let told = write(&world, &["fine", "other", "bad", "odd", "die"], &[]);
    assert_eq!((world.read("f0"), world.read("f1")), ("fine".to_owned(), "changed".to_owned()));
    assert!(told[1].contains("changed the input"), "{}", told[1]);
    for (at, reason) in [(2, "not like this"), (3, "mcp__gate__decide"), (4, "mcp__gate__decide")] {
        assert!(told[at].contains(reason), "{}", told[at]);
        assert!(!world.path(&format!("f{at}")).exists(), "{at}");
    }
    let asked = world.read("asked.jsonl");
    let asked: Value = serde_json::from_str(asked.lines().next().unwrap()).unwrap();
    assert_eq!((&asked["tool_name"], &asked["tool_use_id"]), (&json!("Write"), &json!("c0")));
    assert_eq!(asked["input"]["content"], "fine");
    let offered = world.server.messages()[0].body()["tools"].to_string();
    assert!(!offered.contains("mcp__gate__decide"), "the model does not get it");
}

// PERM-18, PERM-03: a hostile model and a tool that always agrees.
#[test]
fn a_yes_of_the_tool_overrules_no_rule_and_no_plan() {
    for args in [&["--disallowedTools", "Write(f0)"][..], &["--permission-mode", "plan"]] {
        let world = world();
        write(&world, &["fine"], args);
        assert!(!world.path("f0").exists(), "{args:?}");
    }
}

// PERM-18: whoever wants something does not ask the tool itself what it says.
#[test]
fn the_model_cannot_call_the_tool_that_decides() {
    let world = world();
    let input = json!({"tool_name": "Write", "input": {"content": "fine"}, "tool_use_id": "x"});
    let call = json!({"tool": "mcp__gate__decide", "arguments": input});
    world.server.replies([Reply::new().tool_with_id("c", "CallMcpTool", call), Reply::text("done")]);
    let tool = ["--permission-prompt-tool", "mcp__gate__decide", "--allowedTools", "mcp__gate,CallMcpTool"];
    world.run(&[&["-p", "go", "--mcp-config", "gate.json"], &tool[..]].concat());
    assert!(!world.path("asked.jsonl").exists());
    world.server.assert_clean();
}

#[test]
fn what_cannot_answer_is_refused_at_the_start() {
    let world = world();
    for tool in ["nonsense", "mcp__gate", "mcp__gate__", "mcp__other__decide"] {
        let run = world.run(&["-p", "go", "--mcp-config", "gate.json", "--permission-prompt-tool", tool]);
        assert_eq!(run.code(), 1);
        assert!(run.stderr.contains("mcp__server__tool"), "{}", run.stderr);
    }
    assert!(world.server.messages().is_empty());
}
