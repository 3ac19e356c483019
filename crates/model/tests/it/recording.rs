//! Answers are recorded and played.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use tiller_model::recording::{Player, Recorder};
use tiller_model::{Catalog, Model, ModelError, ModelEvent};
use tiller_testkit::{Gate, ModelServer, Reply};
use tokio::time::Instant;

use crate::harness::{answer, ask, client};

fn player(recording: &str) -> Player {
    let placeholders = BTreeMap::from([("cwd".to_owned(), "/tmp/\"odd\"".to_owned())]);
    Player::new(recording, &placeholders, Catalog::shipped().unwrap()).unwrap()
}

// REPL-02
#[tokio::test]
async fn blocks_written_by_hand_are_streamed() {
    let call =
        json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "{{cwd}}/a.rs"}});
    let thinking = json!({"type": "thinking", "thinking": "First look.", "signature": "s"});
    let text = json!({"type": "text", "text": "I look into {{cwd}} now."});
    let first = json!({"model": "m", "blocks": [thinking, text, call], "usage": {"input_tokens": 9}});
    let second = json!({"blocks": [{"type": "text", "text": "Done."}], "stop_reason": "refusal", "stop_details": {"a": 1}});
    let player = player(&format!("{first}\n\n{second}\n"));
    let played = answer(&player, ask("anything")).await;
    let expected = [
        "started",
        "block thinking",
        "block I look into /tmp/\"odd\" now.",
        "block tool_use",
        "finished tool_use",
    ];
    assert_eq!(played.outline(), expected);
    assert_eq!(played.blocks()[0].to_value(), thinking);
    let input = played.blocks()[2].as_tool_use().unwrap().input;
    assert_eq!(input, json!({"file_path": "/tmp/\"odd\"/a.rs"}));
    let deltas = played.raw().iter().filter(|event| event["type"] == "content_block_delta").count();
    assert!(deltas > 8, "text comes in small pieces");

    let refused = answer(&player, ask("anything")).await;
    assert_eq!(refused.outline(), ["started", "block Done.", "finished refusal"]);
    assert_eq!(player.remaining(), 0);
    let beyond = answer(&player, ask("anything")).await.error;
    assert!(matches!(&beyond, Some(ModelError::Recording(text)) if text.contains("2 answers")), "{beyond:?}");
}

// REPL-01
#[tokio::test]
async fn what_was_recorded_is_played_alike() {
    let server = ModelServer::start();
    server.replies([
        Reply::new().thinking("Hm.").and_text("streamed"),
        Reply::text("half").unfinished().cut(),
        Reply::text("repeated"),
        Reply::text("whole"),
        Reply::status(404, "not_found_error", "model: x"),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.jsonl");
    let recorder = Recorder::new(Arc::new(client(&server)), &path).unwrap();
    let streamed = answer(&recorder, ask("1")).await;
    answer(&recorder, ask("2")).await;
    let whole = recorder.complete(ask("3")).await.unwrap();
    answer(&recorder, ask("4")).await;

    let player = Player::open(&path, &BTreeMap::new(), Catalog::shipped().unwrap()).unwrap();
    // Side requests may come in another order than they were recorded in.
    assert_eq!(player.complete(ask("3")).await.unwrap().blocks, whole.blocks);
    let again = answer(&player, ask("1")).await;
    assert_eq!(again.raw(), streamed.raw());
    assert_eq!(again.blocks(), streamed.blocks());
    assert_eq!(answer(&player, ask("2")).await.outline(), ["started", "block repeated", "finished end_turn"]);
    assert!(player.differences().is_empty());
    assert_eq!(answer(&player, ask("changed")).await.outline(), ["error not_found_error"]);
    let differences = player.differences();
    assert_eq!((differences[0].request, differences[0].what.as_str()), (4, "messages[0] differs"));
}

#[tokio::test]
async fn an_answer_nobody_waited_for_is_recorded_as_cut() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.jsonl");
    let recorder = Recorder::new(Arc::new(client(&server)), &path).unwrap();
    let mut stream = recorder.stream(ask("1"));
    while !matches!(stream.next().await, Some(Ok(ModelEvent::Raw(json))) if json.contains("half")) {}
    drop(stream);
    let player = Player::open(&path, &BTreeMap::new(), Catalog::shipped().unwrap()).unwrap();
    let played = answer(&player, ask("1")).await;
    assert_eq!(played.outline(), ["started", "error recording"]);
}

#[tokio::test(start_paused = true)]
async fn the_pace_can_be_set() {
    let player = player(r#"{"blocks":[{"type":"text","text":"one two three"}]}"#);
    let begun = Instant::now();
    answer(&player.with_pace(Duration::from_millis(20)), ask("x")).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(60));
}

#[test]
fn a_line_that_is_no_answer_is_named() {
    let error = Player::new("{}\nnonsense\n", &BTreeMap::new(), Catalog::shipped().unwrap()).err().unwrap();
    assert!(error.to_string().contains("line 2"), "{error}");
}
