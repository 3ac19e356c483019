//! Calls start while the model is still writing; changes are barriers.

use serde_json::json;
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, is_result_of, result_text, stream_args};

// LOOP-15, LOOP-16: the gate holds the stream open until all four results have been printed.
#[test]
fn reads_and_searches_run_before_the_stream_has_ended() {
    let world = World::new().file("a", "1\n").file("b", "2\n").file("c", "3\n");
    let gate = Gate::new();
    world.server.replies([
        Reply::new()
            .tool("Read", json!({"file_path": "a"}))
            .tool("Read", json!({"file_path": "b"}))
            .tool("Read", json!({"file_path": "c"}))
            .tool("Grep", json!({"pattern": "1"}))
            .gate(&gate),
        Reply::text("done"),
    ]);
    let mut live = world.start(&stream_args("look"));
    let mut results = 0;
    while results < 4 {
        if live.frame()["message"]["content"][0]["type"] == "tool_result" {
            results += 1;
        }
    }
    gate.open();
    let end = live.finish();
    assert_eq!((end.result().0["result"].as_str(), end.code), (Some("done"), 0));
    world.server.assert_clean();
}

// EXEC-16, EXEC-22, EXEC-12: the read behind the edit sees the edit, the one before does not.
#[test]
fn an_edit_between_reads_is_a_barrier() {
    let world = World::new().file("a", "old\n");
    world.server.replies([
        Reply::new()
            .tool_with_id("before", "Read", json!({"file_path": "a"}))
            .tool_with_id("edit", "Edit", json!({"file_path": "a", "old_string": "old", "new_string": "new"}))
            .tool_with_id("after", "Read", json!({"file_path": "a"})),
        Reply::text("done"),
    ]);
    let frames = world.stream("change it");
    let order: Vec<usize> = ["before", "edit", "after"]
        .iter()
        .map(|call| frames.iter().position(|frame| is_result_of(frame, call)).unwrap())
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    let request = world.server.messages()[1].body().clone();
    assert!(result_text(&request, "before").contains("old"));
    assert!(result_text(&request, "after").contains("new"));
    world.server.assert_clean();
}
