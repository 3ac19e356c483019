//! What the server plays, seen by a plain HTTP client.

use crate::support::{Client, ask, kinds};
use serde_json::{Value, json};
use tiller_testkit::{Gate, Matcher, ModelServer, Reply};

#[tokio::test]
async fn text_is_streamed_in_order() {
    let server = ModelServer::start();
    server.reply(Reply::text("Hello, world").chunked(5));
    let events = Client::new(&server).events(&ask("hi")).await;
    assert_eq!(
        kinds(&events),
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    assert_eq!(events[2]["delta"], json!({ "type": "text_delta", "text": "Hello" }));
    assert_eq!(events[6]["delta"]["stop_reason"], "end_turn");
    server.assert_clean();
}

#[tokio::test]
async fn without_stream_the_message_comes_whole() {
    let server = ModelServer::start();
    server.reply(Reply::text("Let me look.").tool("Read", json!({ "path": "/a" })));
    let mut body = ask("hi");
    body["stream"] = json!(false);
    body["tools"] = json!([{ "name": "Read", "input_schema": { "type": "object" } }]);
    let (status, message) = Client::new(&server).post(&body).await;
    assert_eq!(status, 200);
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!(message["id"], "msg_01");
    assert_eq!(
        message["content"],
        json!([
            { "type": "text", "text": "Let me look." },
            { "type": "tool_use", "id": "toolu_01", "name": "Read", "input": { "path": "/a" } },
        ])
    );
}

#[tokio::test]
async fn tool_input_is_split_at_every_byte_even_inside_escapes() {
    let server = ModelServer::start();
    let input = json!({ "text": "naïve 🎉" });
    server.reply(Reply::new().tool("Write", input.clone()).split_every_byte());
    let events = Client::new(&server).events(&ask("hi")).await;
    let pieces: Vec<&str> =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert!(pieces.iter().all(|piece| piece.len() <= 1), "{pieces:?}");
    let joined = pieces.concat();
    assert!(joined.is_ascii() && joined.contains("\\ud83c\\udf89"), "{joined}");
    assert_eq!(serde_json::from_str::<Value>(&joined).unwrap(), input);
}

#[tokio::test]
async fn empty_tool_input_is_streamed_as_an_empty_string() {
    let server = ModelServer::start();
    server.reply(Reply::new().tool("List", json!({})));
    let events = Client::new(&server).events(&ask("hi")).await;
    let pieces: Vec<&str> =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(pieces, [""]);
}

#[tokio::test]
async fn writes_can_tear_events_apart() {
    let server = ModelServer::start();
    server.reply(Reply::text("Grüße").write_size(1));
    let client = Client::new(&server);
    let chunks = client.chunks(&ask("hi")).await;
    assert!(chunks.len() > 100);
    assert!(String::from_utf8(chunks.concat()).unwrap().contains("Grüße"));
}

#[tokio::test]
async fn a_gate_holds_the_rest_back() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("before ").gate(&gate).more("after"));
    let mut response = Client::new(&server).send(&ask("hi")).await;
    gate.wait_reached_async().await;
    let mut seen = String::new();
    while !seen.contains("before") {
        seen.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(!seen.contains("after") && !seen.contains("content_block_stop"));
    assert_eq!(server.requests()[0].sent(), None);
    gate.open();
    while let Some(chunk) = response.chunk().await.unwrap() {
        seen.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(seen.contains("after"));
    assert_eq!(seen.matches("event: content_block_start").count(), 1, "the gate is inside one block");
    assert!(server.requests()[0].sent() > Some(server.requests()[0].arrived()));
}

#[tokio::test]
async fn a_gate_can_hold_the_headers_back() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("late").gate_headers(&gate));
    let client = Client::new(&server);
    let pending = tokio::spawn(async move { client.send(&ask("hi")).await.status() });
    gate.wait_reached_async().await;
    assert!(!pending.is_finished());
    assert_eq!(server.requests()[0].status(), None);
    gate.open();
    assert_eq!(pending.await.unwrap(), 200);
}

#[test]
fn blocking_tests_can_wait_for_requests() {
    let server = ModelServer::start();
    server.reply(Reply::text("ok"));
    let (url, key) = (server.url().to_owned(), server.key().to_owned());
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { Client::at(&url, &key).events(&ask("hi")).await.len() })
    });
    let seen = server.wait_for_requests(1);
    assert_eq!(seen[0].path(), "/v1/messages");
    assert_eq!(seen[0].body()["messages"][0]["content"], "hi");
    assert!(client.join().unwrap() > 4);
    assert_eq!(server.requests()[0].status(), Some(200));
}

#[tokio::test]
async fn a_cut_breaks_the_connection_in_mid_block() {
    let server = ModelServer::start();
    server.reply(Reply::text("half").unfinished().cut());
    let (seen, ended) = Client::new(&server).read_to_end(&ask("hi")).await;
    assert!(seen.contains("half") && !seen.contains("content_block_stop"), "{seen}");
    assert!(ended.is_err());
}

#[tokio::test]
async fn a_stream_can_end_without_stop() {
    let server = ModelServer::start();
    server.reply(Reply::text("half").end_without_stop());
    let (seen, ended) = Client::new(&server).read_to_end(&ask("hi")).await;
    assert!(seen.contains("content_block_stop") && !seen.contains("message_stop"));
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_stall_lasts_until_the_server_goes_away() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.reply(Reply::text("half").gate(&gate).stall());
    let mut response = Client::new(&server).send(&ask("hi")).await;
    gate.open();
    let mut seen = String::new();
    while !seen.contains("content_block_stop") {
        seen.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    drop(server);
    assert!(response.chunk().await.is_err());
}

#[tokio::test]
async fn garbage_error_events_and_unknown_things_are_played_as_written() {
    let server = ModelServer::start();
    server.reply(
        Reply::new()
            .unknown_event()
            .raw_block(json!({ "type": "future_block", "x": 1 }))
            .and_text("a")
            .unknown_delta()
            .ping()
            .garbage("event: message_delta\ndata: {not json\n\n")
            .error_event("overloaded_error", "Overloaded"),
    );
    let (seen, _) = Client::new(&server).read_to_end(&ask("hi")).await;
    for part in ["event: future_event", "future_block", "future_delta", "event: ping", "data: {not json"] {
        assert!(seen.contains(part), "{part} is missing in {seen}");
    }
    let last = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert!(seen.ends_with(last), "{seen}");
}

#[tokio::test]
async fn status_replies_carry_shape_and_headers() {
    let server = ModelServer::start();
    server.reply(Reply::status(429, "rate_limit_error", "slow down").header("retry-after", "0"));
    server.reply(Reply::status(529, "overloaded_error", "Overloaded"));
    let client = Client::new(&server);
    let response = client.send(&ask("hi")).await;
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "0");
    let id = response.headers()["request-id"].to_str().unwrap().to_owned();
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        body,
        json!({
            "type": "error",
            "error": { "type": "rate_limit_error", "message": "slow down" },
            "request_id": id,
        })
    );
    assert_eq!(client.post(&ask("hi")).await.0, 529);
    server.assert_clean();
}

#[tokio::test]
async fn stops_and_usage_are_played() {
    let server = ModelServer::start();
    server.replies([
        Reply::text("no").refusal(Some("cyber"), "not that"),
        Reply::text("x").usage(json!({ "input_tokens": 190_000 })).several_message_deltas(),
        Reply::new().tool("Write", json!({ "content": "long enough" })).max_tokens_cut(),
        Reply::text("x").window_exceeded(),
        Reply::text("x").stop_sequence("END"),
    ]);
    let client = Client::new(&server);
    let refused = client.events(&ask("hi")).await;
    let delta = &refused[refused.len() - 2]["delta"];
    assert_eq!(delta["stop_reason"], "refusal");
    assert_eq!(delta["stop_details"]["category"], "cyber");

    let several = client.events(&ask("hi")).await;
    assert_eq!(several[0]["message"]["usage"]["input_tokens"], 190_000);
    let deltas: Vec<&Value> = several.iter().filter(|event| event["type"] == "message_delta").collect();
    assert_eq!(deltas.len(), 2);
    assert_eq!(deltas[0]["delta"]["stop_reason"], Value::Null);

    let cut = client.events(&ask("hi")).await;
    let json: String = cut.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert!(!json.is_empty() && serde_json::from_str::<Value>(&json).is_err(), "{json}");
    assert_eq!(cut[cut.len() - 2]["delta"]["stop_reason"], "max_tokens");

    let full = client.events(&ask("hi")).await;
    assert_eq!(full[full.len() - 2]["delta"]["stop_reason"], "model_context_window_exceeded");
    let stopped = client.events(&ask("hi")).await;
    assert_eq!(stopped[stopped.len() - 2]["delta"]["stop_sequence"], "END");
}

#[tokio::test]
async fn conversations_are_told_apart_by_the_request() {
    let server = ModelServer::start();
    let title = server.conversation(Matcher::first_user_contains("title"));
    title.reply(Reply::text("a title"));
    server.reply(Reply::text("main"));
    let client = Client::new(&server);
    let first = client.events(&ask("make a title")).await;
    let second = client.events(&ask("hello")).await;
    assert_eq!(first[2]["delta"]["text"], "a title");
    assert_eq!(second[2]["delta"]["text"], "main");
    assert_eq!(title.requests().len(), 1);
    server.assert_clean();
}

#[tokio::test]
async fn replies_can_be_made_up_by_function() {
    let server = ModelServer::builder().validate(false).keep_bodies(false).start();
    let mut count = 0;
    server.respond_with(move |_| {
        count += 1;
        Reply::text(format!("reply {count}"))
    });
    let client = Client::new(&server);
    client.events(&ask("hi")).await;
    let events = client.events(&json!({ "anything": "goes", "stream": true })).await;
    assert_eq!(events[2]["delta"]["text"], "reply 2");
    assert_eq!(server.requests()[1].status(), Some(200));
    assert!(server.requests()[1].raw().is_empty());
}

#[tokio::test]
async fn a_missing_reply_is_a_visible_mistake_of_the_test() {
    let server = ModelServer::start();
    let (status, body) = Client::new(&server).post(&ask("hi")).await;
    assert_eq!(status, 500);
    assert!(body["error"]["message"].as_str().unwrap().contains("no reply"), "{body}");
    assert_eq!(server.rejections().len(), 1);
    let clean = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.assert_clean()));
    assert!(clean.is_err());
}
