//! What waits while the agent works: its order, and what becomes of it after an interrupt and at the end.

use serde_json::{Value, json};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, eventually};
use crate::live::Live;

const QUEUED: &str = "5b5c3a0e-8a57-4f7e-9d0e-d2a1f5b6c7d9";

fn queued(text: &str) -> Value {
    json!({"type": "user", "uuid": QUEUED, "message": {"content": text}})
}

/// A turn that was interrupted while a message waited.
fn interrupted(world: &World, gate: &Gate) -> Live {
    let mut live = world.talk(&[]);
    live.say("go");
    gate.wait_reached();
    live.send(&queued("waits"));
    let receipt = live.request(&json!({"subtype": "interrupt"}));
    assert_eq!(receipt["response"]["still_queued"], json!([QUEUED]));
    assert_eq!(live.turn().pop().unwrap()["outcome"], "interrupted");
    live
}

fn prompts(world: &World, request: usize) -> String {
    world.server.messages()[request].body()["messages"].to_string()
}

// STEER-67: what was said first is heard first.
#[test]
fn what_waited_through_an_interrupt_is_not_overtaken() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("never").gate(&gate), Reply::text("one"), Reply::text("two")]);
    let mut live = interrupted(&world, &gate);
    live.say("newer");
    assert_eq!(live.turn().pop().unwrap()["result"], "two");
    assert!(prompts(&world, 1).contains("waits") && !prompts(&world, 1).contains("newer"));
    assert!(prompts(&world, 2).contains("newer"));
    assert_eq!(live.finish().code, 0);
    gate.open();
    world.server.assert_clean();
}

// HEAD-03
#[test]
fn the_end_of_input_finishes_what_waited_through_an_interrupt() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("never").gate(&gate), Reply::text("heard")]);
    let end = interrupted(&world, &gate).finish();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("heard"), 0));
    gate.open();
    world.server.assert_clean();
}

// SESS-13
#[test]
fn what_an_earlier_run_has_left_comes_before_the_prompt() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("never").gate(&gate));
    let live = interrupted(&world, &gate);
    live.signal("TERM");
    live.wait();
    gate.open();
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    let run = world.run(&["-p", "next", "--continue"]).ok();
    assert_eq!(run.stdout, "two\n");
    assert!(prompts(&world, 1).contains("waits") && !prompts(&world, 1).contains("next"));
    assert!(prompts(&world, 2).contains("next"));
    world.server.assert_clean();
}

#[test]
fn a_session_that_is_only_opened_starts_nothing() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("never").gate(&gate));
    let live = interrupted(&world, &gate);
    live.signal("TERM");
    live.wait();
    gate.open();
    let end = world.talk(&["--continue"]).finish();
    assert_eq!((end.frames.len(), end.code), (0, 0), "{end:#?}");
    world.server.assert_clean();
}

// SESS-13: /compact waits for its turn like everything else, and gets a result of its own.
#[test]
fn a_compaction_waits_for_its_turn() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("one").gate(&gate), Reply::text("A summary."), Reply::text("two")]);
    let mut live = world.talk(&[]);
    live.say("go");
    gate.wait_reached();
    live.send(&queued("/compact"));
    eventually("it is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    gate.open();
    assert_eq!(live.turn().pop().unwrap()["result"], "one");
    let frames = live.turn();
    assert!(frames.iter().any(|frame| frame["subtype"] == "compact_boundary"), "{frames:#?}");
    live.say("more");
    assert_eq!(live.turn().pop().unwrap()["result"], "two");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn a_compaction_survives_an_interrupt() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("never").gate(&gate), Reply::text("A summary.")]);
    let mut live = world.talk(&[]);
    live.say("go");
    gate.wait_reached();
    live.send(&queued("/compact"));
    let receipt = live.request(&json!({"subtype": "interrupt"}));
    assert_eq!(receipt["response"]["still_queued"], json!([QUEUED]));
    live.turn();
    let end = live.finish();
    assert!(end.frames.iter().any(|frame| frame["subtype"] == "compact_boundary"), "{end:#?}");
    assert_eq!(end.result().1, 0);
    gate.open();
}

// STEER-67
#[test]
fn a_note_starts_no_turn_and_goes_with_the_next_message() {
    let world = World::new();
    world.server.reply(Reply::text("understood"));
    let mut live = world.talk(&[]);
    live.send(&json!({"type": "user", "message": {"content": "the port is 4711"}, "shouldQuery": false}));
    eventually("it is kept", || {
        !world.logs().is_empty() && world.log().iter().any(|entry| entry["type"] == "queued")
    });
    assert!(world.server.messages().is_empty());
    live.say("go");
    assert_eq!(live.turn().pop().unwrap()["result"], "understood");
    assert!(prompts(&world, 0).contains("the port is 4711"));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn a_message_that_waits_can_be_cancelled() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("one").gate(&gate));
    let mut live = world.talk(&[]);
    live.say("go");
    gate.wait_reached();
    live.send(&queued("waits"));
    let cancel = json!({"subtype": "cancel_async_message", "message_uuid": QUEUED});
    assert_eq!(live.request(&cancel)["response"]["cancelled"], true);
    gate.open();
    assert_eq!(live.turn().pop().unwrap()["result"], "one");
    assert_eq!(live.request(&cancel)["response"]["cancelled"], false);
    let end = live.finish();
    assert_eq!((end.frames.len(), end.code), (0, 0), "{end:#?}");
    world.server.assert_clean();
}
