//! Whatever the provider does, the conversation that follows is one it accepts.

use serde_json::json;
use tiller_testkit::Reply;

use crate::harness::{World, result_text};

fn answer_after(replies: impl IntoIterator<Item = Reply>) -> World {
    let world = World::new().file("a", "content\n");
    world.server.replies(replies);
    is_fine(&world);
    world
}

fn is_fine(world: &World) {
    let frames = world.stream("go");
    assert_eq!(frames.last().unwrap()["result"], "fine", "{frames:#?}");
}

fn read() -> Reply {
    Reply::new().tool_with_id("call", "Read", json!({"file_path": "a"}))
}

#[test]
fn overload_twice_then_success() {
    let overloaded = || Reply::status(529, "overloaded_error", "busy");
    let world = answer_after([overloaded(), overloaded(), Reply::text("fine")]);
    assert_eq!(world.server.messages().len(), 3);
}

#[test]
fn rate_limit_with_retry_after() {
    let limited = Reply::status(429, "rate_limit_error", "slow down").header("retry-after", "0");
    answer_after([limited, Reply::text("fine")]);
}

// LOOP-17, LOOP-18, LOOP-19, LOOP-46: the half answer is void, its call is answered once, the repeat counts.
#[test]
fn a_stream_cut_in_the_middle_is_repeated_without_streaming() {
    let world = answer_after([
        Reply::text("half").tool("Read", json!({"file_path": "a"})).cut(),
        read(),
        Reply::text("fine"),
    ]);
    let requests = world.server.messages();
    assert_eq!(requests[1].body()["stream"], false);
    assert!(result_text(requests[2].body(), "call").contains("content"));
    assert!(!requests[2].body()["messages"].to_string().contains("half"));
    let log = world.log();
    let orphaned: Vec<_> = log.iter().filter(|entry| entry["type"] == "orphaned").collect();
    assert_eq!(orphaned.len(), 1);
    let ids = orphaned[0]["ids"].as_array().unwrap();
    let void = log.iter().filter(|entry| ids.contains(&entry["uuid"]));
    // If the call was quick enough, what it has shown of the file is void as well.
    let kinds: Vec<&str> =
        void.filter_map(|entry| entry["type"].as_str()).filter(|kind| *kind != "effect").collect();
    assert_eq!(kinds, ["assistant", "assistant", "user"]);
    assert_eq!(world.server.rejections(), Vec::<String>::new());
}

#[test]
fn a_silent_stream_is_repeated() {
    let world = World::new().var("TILLER_STREAM_IDLE_TIMEOUT_MS", "300");
    world.server.reply(Reply::text("ha").stall());
    // On a busy machine even an answer that comes may take longer than that, and is asked for once more.
    world.server.respond_with(|_| Reply::text("fine"));
    is_fine(&world);
}

#[test]
fn garbage_in_the_stream_is_repeated() {
    answer_after([Reply::new().garbage("event: content_block_delta\ndata: {oops\n\n"), Reply::text("fine")]);
}

#[test]
fn overload_inside_the_stream_is_repeated() {
    answer_after([Reply::text("ha").error_event("overloaded_error", "busy"), Reply::text("fine")]);
}

// EXEC-05
#[test]
fn invalid_tool_json_is_told_to_the_model() {
    let world = answer_after([Reply::new().invalid_tool_json("Read", "{\"file_pa"), Reply::text("fine")]);
    let text = world.server.messages()[1].body()["messages"].to_string();
    assert!(text.contains("not valid JSON"), "{text}");
    world.server.assert_clean();
}

// EXEC-25
#[test]
fn an_unknown_tool_is_told_to_the_model() {
    let world = answer_after([Reply::new().tool("Teleport", json!({})), Reply::text("fine")]);
    let text = world.server.messages()[1].body()["messages"].to_string();
    assert!(text.contains("no tool named Teleport"), "{text}");
    world.server.assert_clean();
}
