//! Sixty MCP servers with ten tools each: what they cost, and that each of their tools can be found and called.

use serde_json::{Value, json};
use tiller_testkit::{Captured, Reply};

use crate::harness::{World, result_text};
use crate::mcp::{configure, go};

const SERVERS: usize = 60;
const TOOLS_EACH: &str = "10";
/// Tokens of the first request that all of them may take; four bytes are about one.
const AT_MOST: usize = 3_000;

fn first_request(world: &World) -> Captured {
    world.server.messages().remove(0)
}

/// Looks for a tool by what it does, and calls what was found: with the tool for that, and with its own name.
fn find_and_call(request: &Captured) -> Reply {
    const WANTED: [(usize, usize); 3] = [(0, 9), (42, 7), (59, 0)];
    let body = request.body();
    let results = body["messages"].to_string().matches("\"tool_result\"").count();
    let query =
        |(server, task): &(usize, usize)| json!({"query": format!("number {task} of area{server:02}")});
    let named = |text: &str| {
        text.split("mcp__").nth(1).map(|rest| format!("mcp__{}", rest.split_whitespace().next().unwrap()))
    };
    match results {
        0 => WANTED.iter().enumerate().fold(Reply::new(), |reply, (number, wanted)| {
            reply.tool_with_id(&format!("find-{number}"), "SearchMcpTools", query(wanted))
        }),
        3 => (0..3).fold(Reply::new(), |reply, number| {
            let found = result_text(body, &format!("find-{number}"));
            let name = named(&found.replace("\\n", " ")).unwrap_or_else(|| panic!("{found}"));
            let (id, words) = (format!("call-{number}"), json!({"text": name}));
            match number {
                0 => reply.tool_with_id(&id, &name, words),
                _ => reply.tool_with_id(&id, "CallMcpTool", json!({"tool": name, "arguments": words})),
            }
        }),
        _ => Reply::text("done"),
    }
}

// CACHE-05
// MCP-03
#[test]
fn six_hundred_tools_cost_little_and_each_can_be_found_and_called() {
    let without = World::new();
    without.server.reply(Reply::text("hi"));
    go(&without, "go");

    let world = World::new();
    let servers: Vec<(String, [String; 4])> = (0..SERVERS)
        .map(|number| {
            let args = ["--tools", TOOLS_EACH, "--area", &format!("area{number:02}")];
            (format!("server{number:02}"), args.map(str::to_owned))
        })
        .collect();
    let args: Vec<Vec<&str>> =
        servers.iter().map(|(_, args)| args.iter().map(String::as_str).collect()).collect();
    let named: Vec<(&str, &[&str])> =
        servers.iter().zip(&args).map(|((name, _), args)| (name.as_str(), args.as_slice())).collect();
    configure(&world, &named);
    world.server.respond_with(find_and_call);
    let frames = go(&world, "go");

    let init = frames.iter().find(|frame| frame["subtype"] == "init").unwrap();
    let is_server = |name: &&Value| name.as_str().unwrap().starts_with("mcp__server");
    assert_eq!(init["tools"].as_array().unwrap().iter().filter(is_server).count(), 600);
    let tokens = first_request(&world).raw().len().saturating_sub(first_request(&without).raw().len()) / 4;
    assert!(tokens < AT_MOST, "{tokens} tokens");
    let messages = world.server.messages();
    let last = messages.last().unwrap();
    for (number, name) in
        ["mcp__server00__task_009", "mcp__server42__task_007", "mcp__server59__task_000"].iter().enumerate()
    {
        let (_, task) = name.rsplit_once("__").unwrap();
        let result = result_text(last.body(), &format!("call-{number}"));
        assert!(result.contains(&format!("{task}: {name}")), "{result}");
    }
    let tools = &messages[0].body()["tools"];
    assert!(messages.iter().all(|message| message.body()["tools"] == *tools), "tools stay what they are");
    world.server.assert_clean();
}
