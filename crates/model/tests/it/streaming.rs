//! Streams become blocks and events.

use futures::StreamExt;
use serde_json::{Value, json};
use tiller_model::{Model, ModelEvent};
use tiller_protocol::usage::StopReason;
use tiller_testkit::{Gate, ModelServer, Reply};

use crate::harness::{Answer, answer, ask, bytes, client};

async fn play(reply: Reply) -> Answer {
    let server = ModelServer::start();
    server.reply(reply);
    let answer = answer(&client(&server), ask("go")).await;
    server.assert_clean();
    answer
}

#[tokio::test]
async fn events_come_in_the_promised_order() {
    let answer = play(Reply::text("Hello").chunked(2)).await;
    assert_eq!(answer.outline(), ["started", "block Hello", "finished end_turn"]);
    let kinds: Vec<String> =
        answer.raw().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds.first().unwrap(), "message_start");
    assert_eq!(kinds.last().unwrap(), "message_stop");
    assert!(matches!(&answer.events[0], ModelEvent::Started { request_id: Some(_), .. }));
    let block = answer.events.iter().position(|event| matches!(event, ModelEvent::Block { .. })).unwrap();
    assert!(
        matches!(&answer.events[block + 1], ModelEvent::Raw(json) if json.contains("content_block_stop"))
    );
    assert!(matches!(answer.finished(), ModelEvent::Finished { stop_reason: StopReason::EndTurn, .. }));
}

#[tokio::test]
async fn every_kind_of_block_survives() {
    let result = json!([{"type": "web_search_result", "url": "https://a.example", "title": "A"}]);
    let reply = Reply::new()
        .thinking("Look first.")
        .redacted("seed")
        .and_text("I look.")
        .server_tool("web_search", json!({"query": "a"}), result)
        .tool("Read", json!({"file_path": "/tmp/ü", "limit": 3}))
        .tool("List", json!({}))
        .several_message_deltas()
        .pings();
    let answer = play(reply).await;
    let blocks = answer.blocks();
    let kinds: Vec<String> = blocks.iter().map(tiller_protocol::block::RawBlock::kind).collect();
    let expected = [
        "thinking",
        "redacted_thinking",
        "text",
        "server_tool_use",
        "web_search_tool_result",
        "tool_use",
        "tool_use",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(blocks[0].to_value()["thinking"], "Look first.");
    assert!(!blocks[0].to_value()["signature"].as_str().unwrap().is_empty());
    assert_eq!(blocks[5].as_tool_use().unwrap().input, json!({"file_path": "/tmp/ü", "limit": 3}));
    assert_eq!(blocks[6].as_tool_use().unwrap().input, json!({}));
    assert!(matches!(answer.finished(), ModelEvent::Finished { stop_reason: StopReason::ToolUse, .. }));
}

// CACHE-05, CACHE-08
#[tokio::test]
async fn blocks_sent_back_are_what_the_provider_signed() {
    let server = ModelServer::start();
    server.reply(Reply::new().thinking("Hm.").and_text("I read.").tool_with_id(
        "t1",
        "Read",
        json!({"p": 1}),
    ));
    server.reply(Reply::text("Done."));
    let client = client(&server);
    let mut request = ask("go");
    request.tools = bytes(&json!([{"name": "Read", "input_schema": {"type": "object"}}]));
    let first = answer(&client, request.clone()).await;
    assert_eq!(first.blocks()[0].to_value()["thinking"], "Hm.", "a readable display was asked for");
    let blocks: Vec<String> = first.blocks().iter().map(|block| block.json().to_owned()).collect();
    request.messages.push(format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(",")).into());
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "x"});
    request.messages.push(bytes(&json!({"role": "user", "content": [result]})));
    let second = answer(&client, request).await;
    assert_eq!(second.outline(), ["started", "block Done.", "finished end_turn"]);
    server.assert_clean();
}

#[tokio::test]
async fn pieces_may_be_torn_anywhere() {
    let reply = || {
        Reply::new().thinking("Größe").and_text("„täglich“ 𝄞\n").tool_with_id(
            "t",
            "Read",
            json!({"ä": "€\n\"𝄞"}),
        )
    };
    let whole = play(reply()).await;
    let torn = play(reply().split_every_byte().write_size(1)).await;
    for (whole, torn) in whole.blocks().iter().zip(torn.blocks()).skip(1) {
        assert_eq!(whole.to_value(), torn.to_value());
    }
    assert_eq!(torn.blocks()[0].to_value()["thinking"], "Größe");
    assert_eq!(whole.outline(), torn.outline());
}

#[tokio::test]
async fn the_future_is_ignored_or_kept() {
    let strange = json!({"type": "of_the_future", "x": {"y": [1.5]}});
    let reply =
        Reply::text("a").unknown_delta().unknown_event().raw_block(strange.clone()).and_text("b").stop("new");
    let answer = play(reply).await;
    assert_eq!(answer.outline(), ["started", "block a", "block of_the_future", "block b", "finished new"]);
    assert_eq!(answer.blocks()[1].to_value(), strange);
}

#[tokio::test]
async fn invalid_tool_input_is_reported_and_harmless() {
    let answer =
        play(Reply::new().invalid_tool_json("Read", r#"{"file_path": "/tm"#).stop("max_tokens")).await;
    let found = answer.events.iter().find_map(|event| match event {
        ModelEvent::Block { block, invalid_input, .. } => Some((block.clone(), invalid_input.clone())),
        _ => None,
    });
    let (block, invalid) = found.unwrap();
    assert_eq!(invalid.as_deref(), Some(r#"{"file_path": "/tm"#));
    assert_eq!(block.as_tool_use().unwrap().input, json!({}));
    assert!(matches!(answer.finished(), ModelEvent::Finished { stop_reason: StopReason::MaxTokens, .. }));
}

#[tokio::test]
async fn ends_other_than_the_usual() {
    let refused = play(Reply::text("I").refusal(Some("cyber"), "No.")).await;
    let ModelEvent::Finished { stop_reason, stop_details, .. } = refused.finished() else { unreachable!() };
    assert_eq!(stop_reason, &StopReason::Refusal);
    assert_eq!(stop_details.as_ref().map(|details| &details["category"]), Some(&Value::from("cyber")));
    let paused = play(Reply::text("…").pause_turn()).await;
    assert!(matches!(paused.finished(), ModelEvent::Finished { stop_reason: StopReason::PauseTurn, .. }));
    let full = play(Reply::text("…").window_exceeded()).await;
    assert_eq!(full.outline().last().unwrap(), "finished model_context_window_exceeded");
}

#[tokio::test]
async fn usage_is_the_last_report() {
    let usage = json!({"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 3});
    let answer = play(Reply::text("x").usage(usage).several_message_deltas()).await;
    let ModelEvent::Finished { usage, .. } = answer.finished() else { unreachable!() };
    assert_eq!((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (7, 5, 3));
}

#[tokio::test]
async fn pieces_arrive_before_the_answer_is_complete() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("early").gate(&gate).more(" late"));
    let mut stream = client(&server).stream(ask("go"));
    loop {
        let event = stream.next().await.unwrap().unwrap();
        if matches!(&event, ModelEvent::Raw(json) if json.contains("early")) {
            break;
        }
    }
    gate.open();
    let rest: Vec<_> = stream.collect().await;
    assert!(matches!(rest.last(), Some(Ok(ModelEvent::Finished { .. }))));
}
