//! Agents in the background of a run that a host talks to.

use serde_json::{Value, json};
use tiller_testkit::{Gate, Matcher, Reply};

use crate::harness::{World, eventually};
use crate::live::Live;

/// A session whose agent waits at the gate, after the turn that started it.
fn at_work(world: &World, gate: &Gate) {
    let order = json!({"description": "look around", "prompt": "find gold", "subagent_type": "Explore",
        "run_in_background": true});
    world.server.replies([Reply::new().tool_with_id("t", "Task", order), Reply::text("started")]);
    let agent = world.server.conversation(Matcher::first_user_contains("find gold"));
    agent.reply(Reply::text("In notes.txt.").gate(gate));
}

fn started(world: &World, gate: &Gate) -> (Live, Vec<Value>) {
    at_work(world, gate);
    let mut live = world.talk(&[]);
    live.say("go");
    let frames = live.turn();
    assert_eq!(frames.last().unwrap()["result"], "started");
    gate.wait_reached();
    (live, frames)
}

fn states(frames: &[Value]) -> Vec<&str> {
    let state = |frame: &Value| frame["subtype"] == "session_state_changed";
    frames.iter().filter(|frame| state(frame)).map(|frame| frame["state"].as_str().unwrap()).collect()
}

// HEAD-03
#[test]
fn the_end_of_input_waits_for_agents_and_the_turn_they_wake() {
    let world = World::new();
    let gate = Gate::new();
    let (mut live, _) = started(&world, &gate);
    world.server.reply(Reply::text("gold it is"));
    live.close_stdin();
    gate.open();
    let end = live.wait();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("gold it is"), 0));
    assert_eq!(result["origin"], json!({"kind": "task-notification"}));
    world.server.assert_clean();
}

// HEAD-03
#[test]
fn a_run_of_one_prompt_waits_for_agents() {
    let world = World::new();
    let gate = Gate::new();
    at_work(&world, &gate);
    world.server.reply(Reply::text("gold it is"));
    let live = world.start(&["-p", "go", "--output-format", "json"]);
    gate.wait_reached();
    eventually("the agent that delegates was answered twice", || world.server.messages().len() >= 3);
    gate.open();
    let end = live.wait();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("gold it is"), 0));
    world.server.assert_clean();
}

// HEAD-03
#[test]
fn agents_that_take_too_long_are_stopped_and_that_is_told() {
    let world = World::new().var("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "1");
    let gate = Gate::new();
    at_work(&world, &gate);
    let end = world.start(&["-p", "go", "--output-format", "json"]).wait();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("started"), 0));
    assert!(result["warnings"][0].as_str().unwrap().contains("look around"), "{result}");
    gate.open();
}

// HEAD-03: a host that hears that nothing is owed closes its end.
#[test]
fn a_session_is_not_idle_while_agents_work() {
    let world = World::new().var("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    let gate = Gate::new();
    let (mut live, frames) = started(&world, &gate);
    assert_eq!(states(&frames), ["running"]);
    world.server.reply(Reply::text("gold it is"));
    gate.open();
    let frames = live.until(|frame| frame["state"] == "idle");
    assert_eq!(states(&frames), ["idle"], "{frames:#?}");
    let results: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "result").collect();
    assert_eq!((results.len(), &results[0]["result"]), (1, &json!("gold it is")));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// EXEC-32
#[test]
fn an_agent_that_is_stopped_was_stopped_and_did_not_fail() {
    let world = World::new().var("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    let gate = Gate::new();
    let (mut live, frames) = started(&world, &gate);
    let begun = frames.iter().find(|frame| frame["subtype"] == "task_started").unwrap();
    let stop = json!({"subtype": "stop_task", "task_id": begun["task_id"]});
    assert_eq!(live.request(&stop)["subtype"], "success");
    let frames = live.until(|frame| frame["state"] == "idle");
    let ended = frames.iter().find(|frame| frame["subtype"] == "task_notification").unwrap();
    assert_eq!((&ended["task_id"], &ended["status"]), (&begun["task_id"], &json!("stopped")));
    assert_eq!(live.finish().code, 0);
    gate.open();
}
