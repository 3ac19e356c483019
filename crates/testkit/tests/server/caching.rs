//! Cache breakpoints and the counters that follow from them.

use serde_json::{Value, json};
use tiller_testkit::{ModelServer, Reply};

use crate::support::{Client, ask};

fn mark(ttl: &str) -> Value {
    json!({ "type": "ephemeral", "ttl": ttl })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn marked(words: &str, ttl: &str) -> Value {
    json!({ "type": "text", "text": words, "cache_control": mark(ttl) })
}

/// Input, cache-creation and cache-read tokens of the answer.
async fn usage(client: &Client, body: &Value) -> (u64, u64, u64) {
    let events = client.events(body).await;
    let usage = &events[0]["message"]["usage"];
    let field = |name: &str| usage[name].as_u64().unwrap();
    (field("input_tokens"), field("cache_creation_input_tokens"), field("cache_read_input_tokens"))
}

fn answering() -> (ModelServer, Client) {
    let server = ModelServer::builder().cache_minimum(0).start();
    server.respond_with(|_| Reply::text("fine"));
    let client = Client::new(&server);
    (server, client)
}

fn turns(count: usize, last_marked: bool) -> Value {
    let mut body = ask("x");
    body["messages"] = (0..count)
        .map(|index| {
            let words = format!("message number {index}");
            let block = if last_marked && index + 1 == count { marked(&words, "5m") } else { text(&words) };
            json!({ "role": "user", "content": [block] })
        })
        .collect();
    body
}

#[tokio::test]
async fn a_prefix_is_written_once_and_then_read() {
    let (server, client) = answering();
    let (input, written, read) = usage(&client, &turns(1, true)).await;
    assert!(input == 0 && written > 0 && read == 0);
    assert_eq!(usage(&client, &turns(1, true)).await, (0, 0, written));
    let (_, more, read) = usage(&client, &turns(3, true)).await;
    assert!(more > 0 && read == written, "only the new turns are written");
    server.expire_cache();
    assert_eq!(usage(&client, &turns(1, true)).await, (0, written, 0));
    server.assert_clean();
}

#[tokio::test]
async fn nothing_is_cached_without_a_breakpoint_or_under_the_minimum() {
    let (server, client) = answering();
    let (input, written, read) = usage(&client, &turns(2, false)).await;
    assert!(input > 0 && written == 0 && read == 0);
    server.set_cache_minimum(1000);
    let (_, written, _) = usage(&client, &turns(2, true)).await;
    assert_eq!(written, 0);
}

#[tokio::test]
async fn looking_back_ends_after_twenty_blocks() {
    let (_server, client) = answering();
    usage(&client, &turns(1, true)).await;
    let (_, _, near) = usage(&client, &turns(20, true)).await;
    assert!(near > 0);
    let (_, _, far) = usage(&client, &turns(41, true)).await;
    assert_eq!(far, 0);
}

#[tokio::test]
async fn the_automatic_breakpoint_sits_on_the_last_block() {
    let (_server, client) = answering();
    let mut body = turns(2, false);
    body["cache_control"] = mark("1h");
    let events = client.events(&body).await;
    let usage_1h =
        events[0]["message"]["usage"]["cache_creation"]["ephemeral_1h_input_tokens"].as_u64().unwrap();
    assert!(usage_1h > 0);
    assert_eq!(usage(&client, &body).await, (0, 0, usage_1h));
}

#[tokio::test]
async fn settings_invalidate_what_they_are_said_to() {
    let (_server, client) = answering();
    let base = || {
        let mut body = turns(1, true);
        body["system"] = json!([marked("the system prompt", "1h")]);
        body["tools"] =
            json!([{ "name": "Read", "input_schema": { "type": "object" }, "cache_control": mark("1h") }]);
        body
    };
    usage(&client, &base()).await;
    let (_, _, whole) = usage(&client, &base()).await;
    let read = async |change: fn(&mut Value)| {
        let mut body = base();
        change(&mut body);
        usage(&client, &body).await.2
    };
    let effort = read(|body| body["output_config"] = json!({ "effort": "low" })).await;
    assert!(effort > 0 && effort < whole, "tools and system are kept");
    let speed = read(|body| body["speed"] = json!("fast")).await;
    assert!(speed > 0 && speed < effort, "only tools are kept");
    assert_eq!(read(|body| body["tools"][0]["name"] = json!("Write")).await, 0);
    assert_eq!(read(|body| body["model"] = json!("claude-opus-5")).await, 0);
}

#[tokio::test]
async fn warming_the_cache_needs_no_reply() {
    let server = ModelServer::builder().cache_minimum(0).start();
    let client = Client::new(&server);
    let mut body = turns(1, true);
    body["max_tokens"] = json!(0);
    body["stream"] = json!(false);
    let (status, message) = client.post(&body).await;
    assert_eq!((status, &message["stop_reason"]), (200, &json!("max_tokens")));
    server.reply(Reply::text("fine"));
    assert!(usage(&client, &turns(1, true)).await.2 > 0);
}

#[tokio::test]
async fn broken_breakpoints_are_refused() {
    let (_server, client) = answering();
    let mut automatic = turns(1, true);
    automatic["cache_control"] = mark("1h");
    let mut fifth = ask("x");
    fifth["messages"][0]["content"] =
        json!([marked("a", "5m"), marked("b", "5m"), marked("c", "5m"), marked("d", "5m"), text("e")]);
    fifth["cache_control"] = mark("5m");
    let content = |blocks: Value| json!({ "messages": [{ "role": "user", "content": blocks }] });
    for (patch, text) in [
        (
            content(json!(vec![marked("a", "5m"); 5])),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            content(json!([marked("a", "5m"), marked("b", "1h")])),
            "a ttl='1h' cache_control block must not come after",
        ),
        (content(json!([marked("a", "2h")])), "messages.0.content.0.cache_control.ttl"),
        (
            content(
                json!([{ "type": "text", "text": "a", "cache_control": { "type": "ephemeral", "x": 1 } }]),
            ),
            "messages.0.content.0.cache_control.x: Extra inputs",
        ),
        (automatic, "a different ttl"),
        (fifth, "Found 5."),
        (
            json!({ "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "", "signature": "", "cache_control": mark("5m") },
            ] }] }),
            "thinking.cache_control: Extra inputs",
        ),
    ] {
        let mut body = ask("x");
        body.as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
        let (status, answer) = client.post(&body).await;
        assert_eq!(status, 400, "{text}");
        assert!(
            answer["error"]["message"].as_str().unwrap().contains(text),
            "expected {text:?}, got {answer}"
        );
    }
}
