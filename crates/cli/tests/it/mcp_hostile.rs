//! MCP servers that misbehave, and what they may not do.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{World, result_text};
use crate::mcp::{configure, go, world_with};

fn last_result(world: &World, call: &str) -> String {
    result_text(world.server.messages().pop().unwrap().body(), call)
}

/// A server that works, beside one that does not: the former suffers nothing.
fn beside(mode: &[&str]) -> (World, serde_json::Value) {
    let world = World::new().var("MCP_TIMEOUT", "3000");
    configure(&world, &[("bad", mode), ("good", &[])]);
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__good__echo", json!({"text": "fine"})).tool_with_id(
            "b",
            "SearchMcpTools",
            json!({"query": ""}),
        ),
        Reply::text("done"),
    ]);
    let frames = go(&world, "go");
    assert!(last_result(&world, "a").contains("echo: fine"));
    world.server.assert_clean();
    let init = frames.into_iter().find(|frame| frame["subtype"] == "init").unwrap();
    (world, init)
}

// MCP-05
#[test]
fn a_server_that_hangs_floods_or_dies_at_start_harms_no_other() {
    for (mode, why) in [
        ("hang", "not ready within 3 s"),
        ("mute", "not ready within 3 s"),
        ("flood", "more than it may"),
        ("line", "more than it may"),
        ("die", "exit code 4: cannot find my configuration"),
    ] {
        let (world, init) = beside(&[mode]);
        assert_eq!(init["mcp_servers"][0], json!({"name": "bad", "status": "failed"}), "{mode}");
        let said = last_result(&world, "b");
        // On a slow machine a flood may not be one before time is up.
        let is_late = why == "more than it may" && said.contains("not ready within");
        assert!(said.contains(why) || is_late, "{mode}: {said}");
    }
}

// MCP-05
#[test]
fn a_list_without_end_is_cut() {
    let world = world_with(&["endless"]);
    world.server.replies([
        Reply::new().tool_with_id("a", "SearchMcpTools", json!({"query": "mcp__fake__t7"})),
        Reply::text("done"),
    ]);
    let frames = go(&world, "go");
    assert!(last_result(&world, "a").contains("mcp__fake__t7"));
    let told = frames.iter().any(|frame| frame.to_string().contains("only the first 2000 count"));
    assert!(told, "{frames:#?}");
}

// MCP-05
#[test]
fn malformed_frames_are_passed_over() {
    let world = world_with(&["garbage"]);
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__echo", json!({"text": "through"})),
        Reply::text("done"),
    ]);
    go(&world, "go");
    assert!(last_result(&world, "a").contains("echo: through"));
}

// MCP-05
#[test]
fn five_megabytes_do_not_reach_the_model_but_a_file() {
    let world = world_with(&[]);
    world.server.replies([Reply::new().tool_with_id("a", "mcp__fake__big", json!({})), Reply::text("done")]);
    go(&world, "go");
    let told = last_result(&world, "a");
    assert!(told.len() < 120_000 && told.contains("5000008 characters"), "{}", told.len());
    let file = told.split("Everything is in ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    assert_eq!(fs_err::read_to_string(file).unwrap().len(), 5_000_008);
}

// MCP-05
#[test]
fn a_server_that_dies_in_a_call_is_told_and_comes_back() {
    let world = world_with(&[]);
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__die", json!({})),
        Reply::new().tool_with_id("b", "mcp__fake__echo", json!({"text": "again"})),
        Reply::text("done"),
    ]);
    let mut live = world.talk(&["--permission-mode", "bypassPermissions"]);
    live.say("go");
    live.turn();
    let messages = world.server.messages();
    let died = result_text(messages[1].body(), "a");
    assert!(died.contains("broke during mcp__fake__die"), "{died}");
    let again = result_text(messages[2].body(), "b");
    // The break may be noticed only by this call.
    let is_told = ["echo: again", "cannot be used", "broke during"].iter().any(|said| again.contains(said));
    assert!(is_told, "{again}");
    assert_eq!(live.finish().code, 0);
}

// MCP-05
#[test]
fn a_call_that_never_ends_is_given_up() {
    let world = world_with(&[]).var("MCP_TOOL_TIMEOUT", "1000");
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__never", json!({})),
        Reply::new().tool_with_id("b", "mcp__fake__slow", json!({})),
        Reply::text("done"),
    ]);
    go(&world, "go");
    let messages = world.server.messages();
    assert!(result_text(messages[1].body(), "a").contains("did not answer within"));
    assert!(result_text(messages[2].body(), "b").contains("slowly done"));
}

// MCP-06
#[test]
fn servers_get_nothing_from_a_user_who_is_not_there() {
    let world = world_with(&[]);
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__elicit", json!({})),
        Reply::new().tool_with_id("b", "mcp__fake__sample", json!({})),
        Reply::text("done"),
    ]);
    let frames = go(&world, "go");
    let messages = world.server.messages();
    assert!(result_text(messages[1].body(), "a").contains("decline"));
    assert!(result_text(messages[2].body(), "b").contains("nobody is there"));
    assert_eq!(messages.len(), 3, "the model was not asked on behalf of the server");
    let is_told = |frame: &&Value| {
        frame["type"] == "system" && frame.to_string().contains("nobody can be asked in this run")
    };
    assert_eq!(frames.iter().filter(is_told).count(), 2, "{frames:#?}");
}

#[test]
fn a_host_answers_for_the_user() {
    let world = world_with(&[]).var("TILLER_MCP_WAIT_MS", "60000");
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__elicit", json!({})),
        Reply::new().tool_with_id("b", "mcp__fake__sample", json!({})),
        Reply::text("Paris"),
        Reply::text("done"),
    ]);
    let mut live = world.talk(&[
        "--permission-prompt-tool",
        "stdio",
        "--allowedTools",
        "mcp__fake__elicit,mcp__fake__sample",
    ]);
    live.say("go");
    let asked = live.until(|frame| frame["request"]["subtype"] == "elicitation").pop().unwrap();
    assert_eq!(asked["request"]["requested_schema"]["required"], json!(["name"]));
    live.answer(&asked, &json!({"action": "accept", "content": {"name": "Ada"}}));
    let question = live.question();
    assert_eq!(question["request"]["tool_name"], "McpSampling");
    assert!(question["request"]["input"].to_string().contains("capital of France"));
    live.answer(&question, &json!({"behavior": "allow"}));
    live.turn();
    assert_eq!(live.finish().code, 0);
    let messages = world.server.messages();
    let elicited = result_text(messages[1].body(), "a");
    assert!(
        elicited.contains("accept") && elicited.contains("Ada") && elicited.contains("age"),
        "{elicited}"
    );
    let sampled = result_text(messages.last().unwrap().body(), "b");
    assert!(sampled.contains("Paris"), "{sampled}");
}

// SECR-01: a server that has read a file cannot hand its credentials to the model in words of its own.
#[test]
fn what_a_server_says_to_the_model_is_masked() {
    let token = concat!("gh", "p_q7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0PsAeUiO");
    let world = world_with(&[]).var("TILLER_MCP_WAIT_MS", "60000").file(".env", &format!("TOKEN={token}\n"));
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__sample", json!({"text": ".env"})),
        Reply::text("a token"),
        Reply::text("done"),
    ]);
    let mut live = world.talk(&["--permission-prompt-tool", "stdio", "--allowedTools", "mcp__fake__sample"]);
    live.say("go");
    let question = live.question();
    assert!(question["request"]["input"].to_string().contains("[secret:github-token:"), "{question}");
    live.answer(&question, &json!({"behavior": "allow"}));
    live.turn();
    assert_eq!(live.finish().code, 0);
    let sampled = world.server.messages()[1].body().to_string();
    assert_eq!(sampled.matches("[secret:github-token:").count(), 2, "{sampled}");
    for request in world.server.requests() {
        assert!(!String::from_utf8_lossy(request.raw()).contains(token));
    }
}

// MCP-06
#[test]
fn a_lying_hint_is_stopped_by_asking() {
    for mode in ["plan", "default"] {
        let world = world_with(&[]);
        world.server.replies([
            Reply::new().tool_with_id("a", "mcp__fake__lie", json!({})).tool_with_id(
                "b",
                "CallMcpTool",
                json!({"tool": "mcp__fake__write", "arguments": {}}),
            ),
            Reply::text("done"),
        ]);
        let args = ["-p", "go", "--permission-mode", mode, "--allow-dangerously-skip-permissions"];
        assert_eq!(world.run(&args).code(), 3);
        assert!(!world.path("written-by-server").exists(), "{mode}");
        for call in ["a", "b"] {
            let said = last_result(&world, call);
            assert!(said.contains("nobody can be asked"), "{mode}: {said}");
        }
    }
}

// MCP-06
#[test]
fn while_planning_a_rule_covers_only_what_is_marked_read_only() {
    let world = world_with(&[]);
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__echo", json!({"text": "x"})).tool_with_id(
            "b",
            "mcp__fake__write",
            json!({}),
        ),
        Reply::text("done"),
    ]);
    let args = ["-p", "go", "--permission-mode", "plan", "--allowedTools", "mcp__fake"];
    assert_eq!(world.run(&args).code(), 3);
    assert!(last_result(&world, "a").contains("echo: x"));
    assert!(!world.path("written-by-server").exists());
}

#[test]
fn what_may_destroy_something_says_so_in_the_question() {
    let world = world_with(&[]);
    world
        .server
        .replies([Reply::new().tool_with_id("a", "mcp__fake__destroy", json!({})), Reply::text("done")]);
    let mut live = world.talk(&["--permission-prompt-tool", "stdio"]);
    live.say("go");
    let question = live.question();
    assert!(question.to_string().contains("may destroy something"), "{question}");
    live.answer(&question, &json!({"behavior": "deny", "message": "no"}));
    live.turn();
    assert_eq!(live.finish().code, 0);
}

// What a rule says about a server holds for its tools, its resources and what is mentioned of it.
#[test]
fn a_denied_server_gives_nothing() {
    let world = world_with(&[]);
    let named = json!({"tool": "mcp__fake__echo", "arguments": {"text": "x"}});
    world.server.replies([
        Reply::new().tool_with_id("a", "mcp__fake__echo", json!({"text": "x"})),
        Reply::new().tool_with_id("b", "CallMcpTool", named),
        Reply::new().tool_with_id("c", "ReadMcpResourceTool", json!({"server": "fake", "uri": "note://one"})),
        Reply::text("done"),
    ]);
    let deny = ["--disallowedTools", "mcp__fake", "--permission-mode", "bypassPermissions"];
    world.run(&[&["-p", "see @fake:note://one"], &deny[..]].concat());
    let messages = world.server.messages();
    let first = messages[0].body().to_string();
    assert!(!first.contains("the text of note://one") && !first.contains("Says the text again"), "{first}");
    for call in ["a", "b"] {
        let said = last_result(&world, call);
        assert!(said.contains("There is no tool named mcp__fake__echo"), "{said}");
    }
    let said = last_result(&world, "c");
    assert!(said.contains("not allowed") && !said.contains("the text of"), "{said}");
}

// What a rule denies is not even named to the model.
#[test]
fn a_denied_server_is_nowhere_to_be_found() {
    let world = World::new();
    configure(&world, &[("hushed", &[]), ("hushed-too", &["die"]), ("good", &[])]);
    let calls = [
        ("SearchMcpTools", json!({"query": ""})),
        ("SearchMcpTools", json!({"query": "echo write text", "limit": 20})),
        ("ListMcpResourcesTool", json!({})),
        ("ListMcpResourcesTool", json!({"server": "nobody"})),
        ("ReadMcpResourceTool", json!({"server": "nobody", "uri": "note://one"})),
    ];
    let ids: Vec<String> = (0..calls.len()).map(|number| format!("call{number}")).collect();
    let all = ids.iter().zip(&calls);
    world.server.replies([
        all.fold(Reply::new(), |reply, (id, (tool, input))| reply.tool_with_id(id, tool, input.clone())),
        Reply::text("done"),
    ]);
    let rules = "mcp__hushed,mcp__hushed-too__*,mcp__good__write";
    let args = ["-p", "go", "--disallowedTools", rules, "--permission-mode", "bypassPermissions"];
    let output = world.command(&args).env("TILLER_MCP_WAIT_MS", "60000").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    for request in world.server.messages() {
        let body = request.body().to_string();
        assert!(!body.contains("hushed") && !body.contains("mcp__good__write"), "{body}");
    }
    let first = world.server.messages().remove(0).body()["system"].to_string();
    assert!(first.contains("good"), "{first}");
    for (id, shown) in ids.iter().zip(["mcp__good__echo", "mcp__good__echo", "note://one", "good"]) {
        assert!(last_result(&world, id).contains(shown), "{}", last_result(&world, id));
    }
}

const TOKEN: &str = concat!("gh", "p_q7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0PsAeUiO");

// SECR-01: in results of every form, and in all that a server says of itself.
#[test]
fn credentials_in_the_words_of_servers_are_masked() {
    let world = World::new();
    configure(&world, &[("dead", &["die", "--leak", TOKEN]), ("loose", &["--leak", TOKEN])]);
    let calls = [
        ("a", "mcp__loose__picture", json!({})),
        ("b", "SearchMcpTools", json!({"query": ""})),
        ("c", "SearchMcpTools", json!({"query": "echo"})),
        ("d", "ListMcpResourcesTool", json!({})),
    ];
    let all =
        calls.iter().fold(Reply::new(), |all, (id, tool, input)| all.tool_with_id(id, tool, input.clone()));
    world.server.replies([all, Reply::text("done")]);
    let frames = go(&world, "go");
    let log = world.log();
    for told in world.server.messages().iter().map(|request| request.body()).chain(&frames).chain(&log) {
        assert!(!told.to_string().contains(TOKEN), "{told}");
    }
    let first = world.server.messages().remove(0);
    let masked = |part: &str| first.body()[part].to_string().matches("[secret:github-token:").count();
    assert!(masked("system") >= 1 && masked("tools") >= 20, "{}", first.body());
    for (call, words) in
        [("b", "cannot find my configuration [secret:"), ("c", "again [secret:"), ("d", "one [secret:")]
    {
        assert!(last_result(&world, call).contains(words), "{}", last_result(&world, call));
    }
    let structured = frames.iter().find_map(|frame| frame["mcp_meta"].get("structuredContent")).unwrap();
    for part in ["/data", "/signature", "/source/data"] {
        assert!(structured.pointer(part).unwrap().as_str().unwrap().contains("[secret:"), "{structured}");
    }
    let picture = &world.server.messages().pop().unwrap().body().to_string();
    assert!(picture.contains("iVBORw0KGgo"), "an image is an image");
}

// UNDO-01: also of what a server has done, whatever it says of its tool.
#[test]
fn what_a_server_has_changed_can_be_taken_back() {
    let world = world_with(&[]);
    world.write("written-by-server", "before");
    world.server.replies([Reply::new().tool_with_id("a", "mcp__fake__lie", json!({})), Reply::text("done")]);
    let frames = go(&world, "go");
    assert_eq!(world.read("written-by-server"), "x");
    let session = frames[0]["session_id"].as_str().unwrap();
    world.run(&["rewind", session, "--to", "1", "--files"]).ok();
    assert_eq!(world.read("written-by-server"), "before");
}

#[test]
fn a_server_that_asks_for_what_it_may_not_have_is_told_so() {
    let world = world_with(&[]);
    world.server.replies([Reply::new().tool_with_id("a", "mcp__fake__nosy", json!({})), Reply::text("done")]);
    go(&world, "go");
    let said = last_result(&world, "a");
    for part in ["-32601", "only pages at http and https", "tools are not available here"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(world.server.messages().len(), 2, "the model was not asked on behalf of the server");
}
