//! Sessions that a host talks to in JSON lines.

use serde_json::{Value, json};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, blocks_of, entries, eventually};

/// The smallest picture there is: one transparent pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A picture with 8001 pixels in a row.
const WIDE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAH0EAAAABAQAAAACU2s6JAAAAEUlEQVR42mNgGAWjYBQMfwAAA+oAAf4i1lEAAAAASUVORK5CYII=";

fn kinds(frames: &[Value]) -> Vec<String> {
    let kind = |frame: &Value| {
        let parts = [&frame["type"], &frame["subtype"], &frame["state"]];
        parts.iter().filter_map(|part| part.as_str()).collect::<Vec<_>>().join(" ")
    };
    frames.iter().map(kind).collect()
}

#[test]
fn two_turns_each_with_init_and_result() {
    let world = World::new();
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    let mut live = world.talk(&[]);
    for answer in ["one", "two"] {
        live.say("go");
        let frames = live.turn();
        assert_eq!(kinds(&frames), ["system init", "assistant", "result success"]);
        assert_eq!(frames[2]["result"], answer);
        assert_eq!(frames[2]["num_turns"], 1);
    }
    let end = live.finish();
    assert_eq!((end.frames.len(), end.code, end.stderr.as_str()), (0, 0, ""));
    world.server.assert_clean();
}

// STEER-67: what is sent while a command runs reaches the model with the next request.
#[test]
fn a_message_during_a_command_steers() {
    let world = World::new();
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": "mkfifo gate && cat gate"})),
        Reply::text("in spaces"),
    ]);
    let mut live = world.talk(&["--permission-mode", "bypassPermissions", "--replay-user-messages"]);
    live.say("indent it");
    live.until(|frame| frame["message"]["content"][0]["type"] == "tool_use");
    live.send(&json!({"type": "user", "uuid": "5b5c3a0e-8a57-4f7e-9d0e-d2a1f5b6c7d8", "message": {"content": "with spaces"}}));
    eventually("the message is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    eventually("the command waits", || world.path("gate").exists());
    world.write("gate", "open");
    let frames = live.turn();
    assert_eq!(frames.last().unwrap()["result"], "in spaces");
    let replayed: Vec<&Value> = frames.iter().filter(|frame| frame["isReplay"] == true).collect();
    assert_eq!(replayed.last().unwrap()["uuid"], "5b5c3a0e-8a57-4f7e-9d0e-d2a1f5b6c7d8");
    let request = world.server.messages()[1].body()["messages"].to_string();
    assert!(request.contains("with spaces") && request.contains("The user has sent another message"));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// What is meant for later waits for the end of the turn and starts its own.
#[test]
fn a_message_for_later_is_a_turn_of_its_own() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("one").gate(&gate), Reply::text("two")]);
    let mut live = world.talk(&[]);
    live.say("first");
    gate.wait_reached();
    live.send(&json!({"type": "user", "message": {"content": "second"}, "priority": "later"}));
    eventually("the message is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    gate.open();
    assert_eq!(live.turn().last().unwrap()["result"], "one");
    assert_eq!(live.turn().last().unwrap()["result"], "two");
    assert_eq!(world.server.messages()[0].body()["messages"].as_array().unwrap().len(), 1);
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// The interrupt is answered before the turn ends and says what is still queued; that waits until the
// user speaks again.
#[test]
fn an_interrupt_is_answered_at_once() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("never").gate(&gate), Reply::text("again"), Reply::text("queued")]);
    let mut live = world.talk(&[]);
    live.say("first");
    gate.wait_reached();
    let id = "5b5c3a0e-8a57-4f7e-9d0e-d2a1f5b6c7d9";
    live.send(&json!({"type": "user", "uuid": id, "message": {"content": "second"}, "priority": "later"}));
    let response = live.request(&json!({"subtype": "interrupt"}));
    assert_eq!(response["response"]["still_queued"], json!([id]));
    let result = live.turn().pop().unwrap();
    assert_eq!((result["outcome"].as_str(), result["is_error"].as_bool()), (Some("interrupted"), Some(true)));
    live.say("third");
    assert_eq!(live.turn().pop().unwrap()["result"], "queued", "both are heard in one turn");
    assert_eq!(live.finish().code, 0);
    gate.open();
    world.server.assert_clean();
}

#[test]
fn the_last_result_decides_the_exit_code() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("never").gate(&gate));
    let mut live = world.talk(&[]);
    live.say("first");
    gate.wait_reached();
    live.request(&json!({"subtype": "interrupt"}));
    live.turn();
    assert_eq!(live.finish().code, 1);
    gate.open();
    world.server.assert_clean();
}

// HEAD-03: what Python and JavaScript make of half a character costs that character and no more.
#[test]
fn half_a_character_does_not_end_the_run() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    let halves = r#"a \ud83d b \ude00\ud83d\ud83d\ude00 \\ud83d \n é"#;
    let message = format!(r#"{{"type":"user","message":{{"role":"user","content":"{halves}"}}}}"#);
    let args = ["--input-format", "stream-json", "--output-format", "stream-json"];
    let run = world.run_with_stdin(&args, &format!("{message}\n")).ok();
    assert_eq!(run.frames().last().unwrap()["result"], "ok");
    let sent = blocks_of(world.server.messages()[0].body(), "text");
    let heard = "a \u{fffd} b \u{fffd}\u{fffd}\u{1f600} \\ud83d \n é";
    assert!(sent.iter().any(|block| block["text"] == heard), "{sent:#?}");
    world.server.assert_clean();
}

// HEAD-03
#[test]
fn a_line_that_is_not_json_ends_the_run() {
    let world = World::new();
    let run =
        world.run_with_stdin(&["--input-format", "stream-json", "--output-format", "stream-json"], "{oops\n");
    assert_eq!((run.code(), run.stdout.as_str()), (1, ""));
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("line 1 of standard input is not JSON"), "{}", run.stderr);
    world.server.assert_clean();
}

// HEAD-03
#[test]
fn a_line_that_is_not_json_ends_the_turn_with_a_result() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("never").gate(&gate));
    let mut live = world.talk(&[]);
    live.say("go");
    gate.wait_reached();
    live.send(&json!("a text, not an object"));
    let end = live.wait();
    assert_eq!(end.result().0["is_error"], true);
    assert_eq!((end.code, end.stderr.lines().count()), (1, 1), "{end:#?}");
    assert!(end.stderr.contains("line 2"), "{}", end.stderr);
    gate.open();
    world.server.assert_clean();
}

#[test]
fn unknown_frames_are_passed_over() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    let mut live = world.talk(&[]);
    live.send(&json!({"type": "keep_alive"}));
    live.send(&json!({"type": "from_the_future", "x": 1}));
    live.send(
        &json!({"type": "control_response", "response": {"subtype": "success", "request_id": "unknown"}}),
    );
    live.say("go");
    live.turn();
    let end = live.finish();
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    world.server.assert_clean();
}

#[test]
fn the_end_of_input_does_not_cancel_the_turn() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("one").gate(&gate), Reply::text("two")]);
    let mut live = world.talk(&[]);
    live.say("go");
    gate.wait_reached();
    live.send(&json!({"type": "user", "message": {"content": "later"}, "priority": "later"}));
    live.close_stdin();
    gate.open();
    let end = live.wait();
    assert_eq!(end.result().0["result"], "two");
    assert_eq!(end.code, 0);
    world.server.assert_clean();
}

#[test]
fn nothing_in_nothing_out() {
    let world = World::new();
    let run = world.run(&["--input-format", "stream-json", "--output-format", "stream-json"]).ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    world.server.assert_clean();
}

#[test]
fn session_states_frame_each_turn_when_the_host_reads_them() {
    let world = World::new().var("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    let mut live = world.talk(&[]);
    live.say("go");
    let frames = live.until(|frame| frame["state"] == "idle");
    let expected = [
        "system session_state_changed running",
        "system init",
        "assistant",
        "result success",
        "system session_state_changed idle",
    ];
    assert_eq!(kinds(&frames), expected);
    assert!(
        frames.iter().filter(|frame| !frame["state"].is_null()).all(|frame| frame["sdk_host_only"] == true)
    );
    live.say("go");
    let end = live.finish();
    assert_eq!(kinds(&end.frames), expected, "also when input ended meanwhile");
    assert_eq!(end.code, 0);
    world.server.assert_clean();
}

// The message keeps the id its sender gave it, in what is printed back and in the log.
#[test]
fn messages_are_replayed_with_their_ids() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    let mut live = world.talk(&["--replay-user-messages"]);
    let id = "8a2f8d1c-93b4-4f0e-a6ff-1f2e3d4c5b6a";
    live.send(&json!({"type": "user", "uuid": id, "message": {"content": "go"}}));
    let frames = live.turn();
    assert_eq!((frames[1]["uuid"].as_str(), frames[1]["isReplay"].as_bool()), (Some(id), Some(true)));
    assert_eq!(frames[1]["message"]["content"][0]["text"], "go");
    assert_eq!(live.finish().code, 0);
    assert!(entries(&world.logs()[0]).iter().any(|entry| entry["uuid"] == id));
    world.server.assert_clean();
}

#[test]
fn pictures_reach_the_model_as_they_are() {
    let world = World::new();
    world.server.reply(Reply::text("a pixel"));
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}});
    let mut live = world.talk(&[]);
    let content = json!([{"type": "text", "text": "what is this?"}, image]);
    live.send(&json!({"type": "user", "message": {"role": "user", "content": content}}));
    live.turn();
    assert_eq!(live.finish().code, 0);
    let request = world.server.messages()[0].body().clone();
    assert_eq!(blocks_of(&request, "image")[0]["source"], image["source"]);
    world.server.assert_clean();
}

// LOG-05: what the provider would refuse is scaled, or told in words, before it is part of the conversation.
#[test]
fn pictures_that_the_provider_would_refuse_spoil_nothing() {
    let world = World::new();
    world.server.replies([Reply::text("a line"), Reply::text("still here")]);
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let content = json!([{"type": "text", "text": "what is this?"}, image(WIDE), image(&PIXEL[..40])]);
    let mut live = world.talk(&[]);
    live.send(&json!({"type": "user", "message": {"role": "user", "content": content}}));
    live.turn();
    live.say("and now?");
    live.turn();
    assert_eq!(live.finish().code, 0);
    let request = world.server.messages()[1].body().clone();
    assert_eq!(blocks_of(&request, "image").len(), 1);
    assert!(request["messages"].to_string().contains("An image (image/png) was left out"), "{request:#}");
    world.server.assert_clean();
}

#[test]
fn partial_messages_come_only_when_asked_for() {
    for (flag, wanted) in [(&[][..], false), (&["--include-partial-messages"][..], true)] {
        let world = World::new();
        world.server.reply(Reply::text("ok"));
        let mut live = world.talk(flag);
        live.say("go");
        let frames = live.turn();
        let events: Vec<&str> = frames.iter().filter_map(|frame| frame["event"]["type"].as_str()).collect();
        assert_eq!(events.contains(&"content_block_delta"), wanted);
        assert_eq!(live.finish().code, 0);
        world.server.assert_clean();
    }
}

// SDKs give up on lines of more than a mebibyte.
#[test]
fn a_large_picture_does_not_come_back() {
    let world = World::new();
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": "mkfifo gate && cat gate"})),
        Reply::text("ok"),
    ]);
    let data = format!("{}{}", &PIXEL[..PIXEL.len() - 4], "AAAA".repeat(400_000));
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let picture = json!({"type": "user", "message": {"role": "user", "content": [image]}});
    let mut live = world.talk(&["--permission-mode", "bypassPermissions", "--replay-user-messages"]);
    live.send(&picture);
    eventually("the command waits", || world.path("gate").exists());
    live.send(&picture);
    eventually("the message is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    world.write("gate", "open");
    let frames = live.turn();
    assert!(frames.iter().all(|frame| frame.to_string().len() < 1024 * 1024));
    let replayed: Vec<&Value> = frames.iter().filter(|frame| frame["isReplay"] == true).collect();
    assert_eq!(replayed.len(), 2);
    assert!(
        replayed
            .iter()
            .all(|frame| frame["message"]["content"][0]["text"].as_str().unwrap().contains("image/png"))
    );
    assert_eq!(live.finish().code, 0);
    assert_eq!(blocks_of(world.server.messages()[1].body(), "image").len(), 2);
    world.server.assert_clean();
}

// What cannot wait stops the turn and is done next.
#[test]
fn a_message_for_now_stops_the_turn() {
    let world = World::new();
    let gate = Gate::new();
    world.server.replies([Reply::text("never").gate(&gate), Reply::text("at once")]);
    let mut live = world.talk(&[]);
    live.say("first");
    gate.wait_reached();
    live.send(&json!({"type": "user", "message": {"content": "stop, do this"}, "priority": "now"}));
    assert_eq!(live.turn().pop().unwrap()["outcome"], "interrupted");
    assert_eq!(live.turn().pop().unwrap()["result"], "at once");
    assert_eq!(live.finish().code, 0);
    gate.open();
    world.server.assert_clean();
}

#[test]
fn a_message_without_content_ends_the_run() {
    let world = World::new();
    let mut live = world.talk(&[]);
    live.send(&json!({"type": "user", "message": {"role": "user"}}));
    let end = live.wait();
    assert_eq!((end.frames.len(), end.code), (0, 1));
    assert!(end.stderr.contains("cannot be understood"), "{}", end.stderr);
    world.server.assert_clean();
}

// Somebody else's words in a host's prompt: they name no files and call for no commands.
#[test]
fn what_a_host_has_composed_is_taken_word_for_word() {
    let world =
        World::new().file("secret.txt", "from the file").file(".tiller/commands/ship.md", "Ship everything.");
    world.server.replies([Reply::text("a"), Reply::text("b"), Reply::text("c"), Reply::text("d")]);
    let mut live = world.talk(&[]);
    for text in ["/ship it", "/compact", "look at @secret.txt"] {
        let message = json!({"role": "user", "content": text});
        live.send(&json!({"type": "user", "message": message, "client_composed": true}));
        live.turn();
    }
    let sent = world.server.messages().pop().unwrap().body()["messages"].to_string();
    for text in ["/ship it", "/compact", "look at @secret.txt"] {
        assert!(sent.contains(text), "{sent}");
    }
    assert!(!sent.contains("Ship everything.") && !sent.contains("from the file"), "{sent}");
    live.say("look at @secret.txt");
    live.turn();
    let sent = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(sent.contains("from the file"), "{sent}");
    assert_eq!(live.finish().code, 0);
}
