//! Permission questions that go to the host.

use serde_json::{Value, json};
use tiller_testkit::{Captured, Reply};

use crate::harness::{World, result_text};
use crate::live::Live;

/// A session that asks the host, with a command that needs permission under way.
fn asking(world: &World) -> Live {
    world.server.reply(Reply::new().tool_with_id("touch", "Bash", json!({"command": "touch asked"})));
    let mut live = world.talk(&["--permission-prompt-tool", "stdio"]);
    live.say("touch it");
    live
}

fn told(world: &World) -> String {
    let last: Captured = world.server.messages().pop().unwrap();
    result_text(last.body(), "touch")
}

#[test]
fn the_question_says_what_would_run() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    let request = &question["request"];
    assert_eq!(
        (request["tool_name"].as_str(), request["tool_use_id"].as_str()),
        (Some("Bash"), Some("touch"))
    );
    assert_eq!(request["input"], json!({"command": "touch asked"}));
    assert!(!world.path("asked").exists());
    world.server.reply(Reply::text("done"));
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": request["input"]}));
    let result = live.turn().pop().unwrap();
    assert_eq!((result["result"].as_str(), &result["permission_denials"]), (Some("done"), &json!([])));
    assert!(world.path("asked").exists());
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn the_host_may_change_the_input() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    world.server.reply(Reply::text("done"));
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": {"command": "touch changed"}}));
    live.turn();
    assert!(world.path("changed").exists() && !world.path("asked").exists());
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-16: a no with a reason is told to the model, and the turn goes on.
#[test]
fn a_denial_is_told_to_the_model() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    world.server.reply(Reply::text("as you wish"));
    live.answer(&question, &json!({"behavior": "deny", "message": "not on my disk"}));
    let result = live.turn().pop().unwrap();
    assert_eq!((result["result"].as_str(), result["is_error"].as_bool()), (Some("as you wish"), Some(false)));
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "touch asked");
    assert!(told(&world).contains("not on my disk"));
    assert!(!world.path("asked").exists());
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-16: a no that says so ends the turn.
#[test]
fn a_denial_can_end_the_turn() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    live.answer(&question, &json!({"behavior": "deny", "message": "stop", "interrupt": true}));
    let result = live.turn().pop().unwrap();
    assert_eq!((result["outcome"].as_str(), result["is_error"].as_bool()), (Some("interrupted"), Some(true)));
    assert_eq!(world.server.messages().len(), 1);
    world.server.reply(Reply::text("fine"));
    live.say("something else");
    assert_eq!(live.turn().pop().unwrap()["result"], "fine");
    assert!(told(&world).contains("refused"));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn a_callback_that_fails_is_a_denial() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    world.server.reply(Reply::text("as you wish"));
    let response =
        json!({"subtype": "error", "request_id": question["request_id"], "error": "callback raised"});
    live.send(&json!({"type": "control_response", "response": response}));
    live.turn();
    assert!(told(&world).contains("callback raised"));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// HEAD-02: nothing waits for an answer that cannot come.
#[test]
fn a_host_that_goes_away_has_said_no() {
    let world = World::new();
    let mut live = asking(&world);
    live.question();
    world.server.reply(Reply::text("alone now"));
    let end = live.finish();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("alone now"), 0));
    assert_eq!(result["permission_denials"][0]["tool_use_id"], "touch");
    assert!(told(&world).contains("stream closed"));
    world.server.assert_clean();
}

// HEAD-02: also when the question comes after the host is gone.
#[test]
fn nobody_is_asked_who_is_not_there() {
    let world = World::new();
    let mut live = asking(&world);
    world.server.reply(Reply::text("alone now"));
    live.close_stdin();
    let end = live.wait();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("alone now"), 0));
    assert_eq!(result["permission_denials"][0]["tool_use_id"], "touch");
    world.server.assert_clean();
}

// On interrupt the question is taken back.
#[test]
fn an_interrupt_withdraws_the_question() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    live.request(&json!({"subtype": "interrupt"}));
    let frames = live.turn();
    let withdrawn: Vec<&Value> =
        frames.iter().filter(|frame| frame["type"] == "control_cancel_request").collect();
    assert_eq!(withdrawn.len(), 1);
    assert_eq!(withdrawn[0]["request_id"], question["request_id"]);
    assert_eq!(frames.last().unwrap()["outcome"], "interrupted");
    assert!(!world.path("asked").exists());
    assert_eq!(live.finish().code, 1);
    world.server.assert_clean();
}

// PERM-03: what a rule forbids is not asked about; what a rule allows is not either.
#[test]
fn rules_come_before_questions() {
    let world = World::new();
    world.server.replies([
        Reply::new().tool_with_id("no", "Bash", json!({"command": "touch forbidden"})),
        Reply::new().tool_with_id("yes", "Bash", json!({"command": "touch allowed"})),
        Reply::text("done"),
    ]);
    let rules = ["--disallowedTools", "Bash(touch forbidden)", "--allowedTools", "Bash(touch allowed)"];
    let mut live = world.talk(&[&["--permission-prompt-tool", "stdio"][..], &rules].concat());
    live.say("go");
    let frames = live.turn();
    assert!(frames.iter().all(|frame| frame["type"] != "control_request"));
    assert!(world.path("allowed").exists() && !world.path("forbidden").exists());
    assert_eq!(frames.last().unwrap()["permission_denials"].as_array().unwrap().len(), 1);
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-15: a mode change during a turn holds for the next decision.
#[test]
fn a_mode_change_holds_for_the_next_call() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    let response = live.request(&json!({"subtype": "set_permission_mode", "mode": "acceptEdits"}));
    assert_eq!(response["subtype"], "success");
    world.server.replies([
        Reply::new().tool("Write", json!({"file_path": "new", "content": "x"})),
        Reply::text("done"),
    ]);
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": question["request"]["input"]}));
    let frames = live.turn();
    assert!(frames.iter().all(|frame| frame["type"] != "control_request"));
    assert_eq!(world.read("new"), "x");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn states_tell_that_somebody_is_waited_for() {
    let world = World::new().var("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    let mut live = asking(&world);
    let frames = live.until(|frame| frame["request"]["subtype"] == "can_use_tool");
    let states: Vec<&str> = frames.iter().filter_map(|frame| frame["state"].as_str()).collect();
    assert_eq!(states, ["running", "requires_action"]);
    world.server.reply(Reply::text("ok"));
    live.answer(frames.last().unwrap(), &json!({"behavior": "deny", "message": "no"}));
    let frames = live.until(|frame| frame["state"] == "idle");
    let states: Vec<&str> = frames.iter().filter_map(|frame| frame["state"].as_str()).collect();
    assert_eq!(states, ["running", "idle"]);
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}
