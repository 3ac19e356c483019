//! Measurements in the local debug log, and the switch for running calls while the model writes.

use serde_json::{Value, json};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, eventually, result_text};

/// Runs with a debug log; gives its measurements.
fn measured(world: &World, args: &[&str]) -> Vec<Value> {
    let all = ["-p", "go", "--permission-mode", "bypassPermissions", "--debug-file", "debug"];
    world.run(&[&all[..], args].concat());
    measurements(world)
}

/// The measurements of the debug log.
fn measurements(world: &World) -> Vec<Value> {
    let debug = world.read("debug");
    let lines = debug.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["target"] == "tiller::telemetry").map(|mut line| line["fields"].take()).collect()
}

#[track_caller]
fn only<'a>(events: &'a [Value], name: &str) -> &'a Value {
    let found: Vec<&Value> = events.iter().filter(|event| event["event"] == name).collect();
    assert_eq!(found.len(), 1, "{name} in {events:#?}");
    found[0]
}

#[track_caller]
fn first<'a>(events: &'a [Value], name: &str) -> &'a Value {
    let found = events.iter().find(|event| event["event"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {events:#?}"))
}

fn reading(world: &World) {
    world.write("a", "content\n");
    world.server.replies([
        Reply::new().tool("Read", json!({"file_path": "a"})).tool("Read", json!({"file_path": "a"})),
        Reply::text("done"),
    ]);
}

// LOOP-48: every measurement names its turn and its step.
#[test]
fn a_step_with_calls_is_measured() {
    let world = World::new();
    reading(&world);
    let events = measured(&world, &[]);
    assert!(
        events.iter().all(|event| event["chainId"].is_string() && event["depth"].is_u64()),
        "{events:#?}"
    );
    assert_eq!(only(&events, "tiller_streaming_tools_used")["toolCount"], 2);
    // The answer that ends the turn is followed by no attachments.
    let before = only(&events, "tiller_query_before_attachments");
    assert_eq!((before["assistantCount"].as_u64(), before["resultCount"].as_u64()), (Some(2), Some(2)));
    assert!(before["messageCount"].is_u64(), "{before}");
    let after = first(&events, "tiller_query_after_attachments");
    assert_eq!((after["totalCount"].as_u64(), after["changedFileCount"].as_u64()), (Some(0), Some(0)));
    let of_setup =
        events.iter().filter_map(|event| event["event"].as_str()?.strip_prefix("tiller_query_setup_"));
    assert_eq!(of_setup.collect::<Vec<_>>(), ["start", "end", "start", "end"], "around each of two requests");
    world.server.assert_clean();
}

// LOOP-48
#[test]
fn failures_and_fallbacks_are_measured() {
    let world = World::new();
    world.server.reply(Reply::status(400, "invalid_request_error", "no"));
    let error = measured(&world, &[]);
    assert_eq!(only(&error, "tiller_query_error")["toolUseCount"], 0);
    assert_eq!(only(&error, "tiller_query_error")["assistantCount"], 0);
    assert_eq!(world.server.unplayed(), 0);

    let world = World::new();
    let overloaded = || Reply::status(529, "overloaded_error", "busy");
    world.server.replies([overloaded(), overloaded(), overloaded(), Reply::text("done")]);
    let fallback = measured(&world, &["--fallback-model", "haiku"]);
    let fallback = only(&fallback, "tiller_model_fallback");
    assert_eq!(
        (fallback["original"].as_str(), fallback["fallback"].as_str()),
        (Some("claude-sonnet-5-5"), Some("claude-haiku-5-5"))
    );
    assert!(fallback["entryPoint"].is_string());
    world.server.assert_clean();

    let world = World::new();
    world.server.replies([Reply::text("half").cut(), Reply::text("whole")]);
    let orphaned = measured(&world, &[]);
    let orphaned = only(&orphaned, "tiller_orphaned_messages");
    assert_eq!(
        (orphaned["count"].as_u64(), orphaned["cause"].as_str()),
        (Some(1), Some("streaming_fallback"))
    );
    world.server.assert_clean();
}

// LOOP-48
#[test]
fn the_choice_of_an_agent_is_measured() {
    let world = World::new();
    let task = json!({"subagent_type": "Explore", "description": "Look", "prompt": "Look around."});
    world.server.replies([Reply::new().tool("Task", task), Reply::text("Seen."), Reply::text("done")]);
    let events = measured(&world, &[]);
    let selected = only(&events, "tiller_agent_selected");
    assert_eq!(
        (selected["agentType"].as_str(), selected["source"].as_str(), &selected["builtIn"]),
        (Some("Explore"), Some("default"), &json!(true))
    );
    assert!(selected["model"].as_str().unwrap().starts_with("claude-"), "{selected}");
    let of_the_lead = only(&events, "tiller_streaming_tools_used");
    assert_eq!(selected["chainId"], of_the_lead["chainId"], "{events:#?}");
    world.server.assert_clean();
}

// LOOP-26
#[test]
fn flattery_is_counted_and_nothing_more() {
    let world = World::new();
    world.server.reply(Reply::text("Great catch!").and_text("You are so right. Great catch!"));
    let events = measured(&world, &[]);
    assert_eq!(only(&events, "tiller_response_keyword")["is_overly_agreeable"], true);
    assert_eq!(world.server.messages().len(), 1);
    world.server.assert_clean();
    let world = World::new();
    world.server.reply(Reply::text("The test fails because of line 3."));
    assert!(measured(&world, &[]).iter().all(|event| event["event"] != "tiller_response_keyword"));
    world.server.assert_clean();
}

// LOOP-09: without the streaming executor calls wait for the end of the answer; one that fails leaves the others alone
// (EXEC-42).
#[test]
fn calls_can_wait_for_the_whole_answer() {
    let off = [
        World::new().var("TILLER_STREAMING_TOOL_EXECUTION", "0"),
        World::new().file(".tiller/settings.json", r#"{"streamingToolExecution": false}"#),
    ];
    for world in off {
        world.write("a", "content\n");
        world.server.replies([
            Reply::new().tool_with_id("bad", "Bash", json!({"command": "false"})).tool_with_id(
                "good",
                "Read",
                json!({"file_path": "a"}),
            ),
            Reply::text("done"),
        ]);
        let events = measured(&world, &[]);
        assert_eq!(only(&events, "tiller_streaming_tools_not_used")["toolCount"], 2);
        assert!(result_text(world.server.messages()[1].body(), "good").contains("content"));
        world.server.assert_clean();
    }
}

// LOOP-09: the environment outranks the settings.
#[test]
fn the_environment_can_switch_streaming_on_again() {
    let world = World::new()
        .var("TILLER_STREAMING_TOOL_EXECUTION", "1")
        .file(".tiller/settings.json", r#"{"streamingToolExecution": false}"#);
    reading(&world);
    only(&measured(&world, &[]), "tiller_streaming_tools_used");
    world.server.assert_clean();
}

// LOOP-35: what was delivered is pending until it is answered, and nothing is where nothing was delivered.
#[test]
fn steering_that_was_answered_is_measured() {
    let world = World::new().file("a", "content\n");
    let gate = Gate::new();
    world.server.replies([
        Reply::new().tool("Read", json!({"file_path": "a"})).gate(&gate),
        Reply::text("done"),
        Reply::text("again"),
    ]);
    let mut live = world.talk(&["--permission-mode", "bypassPermissions", "--debug-file", "debug"]);
    live.say("go");
    gate.wait_reached();
    live.say("and quickly");
    eventually("the message is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    gate.open();
    live.turn();
    live.say("once more");
    live.turn();
    live.finish();
    assert_eq!(only(&measurements(&world), "tiller_steering_answered")["count"], 1);
    world.server.assert_clean();
}
