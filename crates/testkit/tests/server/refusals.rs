//! Every rule that is not about thinking or caching: a request that breaks it, and the answer.

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{ImageFormat, RgbImage};
use serde_json::{Value, json};
use tiller_testkit::{ModelServer, Reply};

use crate::support::{Client, ask};

/// Each body must be refused with 400 and its text; nothing of the script may be used up.
async fn check(cases: impl IntoIterator<Item = (Value, &str)>) {
    let server = ModelServer::start();
    server.reply(Reply::text("never"));
    let client = Client::new(&server);
    let mut expected = 0;
    for (body, text) in cases {
        let (status, answer) = client.post(&body).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(text), "expected {text:?}, got {status} {answer}");
        assert_eq!(status, 400, "{text}");
        assert_eq!(answer["error"]["type"], "invalid_request_error", "{text}");
        expected += 1;
    }
    assert_eq!(server.rejections().len(), expected);
    assert_eq!(server.unplayed(), 1);
}

/// Each body must be accepted.
async fn accept(bodies: impl IntoIterator<Item = Value>) {
    let server = ModelServer::start();
    server.respond_with(|_| Reply::text("fine"));
    let client = Client::new(&server);
    for body in bodies {
        client.events(&body).await;
        assert_eq!(server.rejections(), Vec::<String>::new(), "{body}");
    }
}

/// A good request with one field changed.
fn with(field: &str, value: Value) -> Value {
    let mut body = ask("hi");
    body[field] = value;
    body
}

fn on(model: &str, field: &str, value: Value) -> Value {
    let mut body = with(field, value);
    body["model"] = json!(model);
    body
}

fn messages(messages: Value) -> Value {
    with("messages", messages)
}

fn content(blocks: Value) -> Value {
    messages(json!([{ "role": "user", "content": blocks }]))
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(content: Value) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "Read", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" })
}

/// A conversation in which `calls` are answered by `answer`.
fn answered(calls: Value, answer: Value) -> Value {
    messages(json!([user("go"), assistant(calls), { "role": "user", "content": answer }]))
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "input_schema": { "type": "object" } })
}

fn schema(schema: Value) -> Value {
    with("tools", json!([{ "name": "T", "input_schema": schema }]))
}

#[tokio::test]
async fn heads() {
    let server = ModelServer::start();
    let client = Client::new(&server);
    let stranger = Client::at(server.url(), "wrong");
    assert_eq!(stranger.post(&ask("hi")).await.0, 401);
    let both =
        stranger.send_with(&ask("hi"), &[("authorization", &format!("Bearer {}", server.key()))]).await;
    assert_eq!(both.status(), 401, "the key header wins");

    let unknown =
        client.send_with(&ask("hi"), &[("anthropic-beta", "interleaved-thinking-2025-05-14,made-up")]).await;
    assert_eq!(unknown.status(), 400);
    let text = unknown.text().await.unwrap();
    assert!(text.contains("Unexpected value(s) `made-up` for the `anthropic-beta` header"), "{text}");

    let bare = client.bare(&ask("hi"), &[("content-type", "application/json")]).await;
    assert_eq!(bare.status(), 401);
    let bearer = format!("Bearer {}", server.key());
    for (headers, text) in [
        (vec![("authorization", bearer.as_str())], "anthropic-version: header is required"),
        (vec![("authorization", &bearer), ("anthropic-version", "2024-01-01")], "is not a valid version"),
        (vec![("authorization", &bearer), ("anthropic-version", "2026-10-21")], "content-type"),
    ] {
        let refused = client.bare(&ask("hi"), &headers).await;
        assert_eq!(refused.status(), 400);
        let answer = refused.text().await.unwrap();
        assert!(answer.contains(text), "{answer}");
    }
    assert_eq!(server.rejections().len(), 7);
}

#[tokio::test]
async fn sizes_and_models() {
    let server = ModelServer::start();
    let client = Client::new(&server);
    let (status, answer) = client.post(&ask(&"x".repeat(33 << 20))).await;
    assert_eq!((status, &answer["error"]["type"]), (413, &json!("request_too_large")));
    let (status, answer) = client.post(&with("model", json!("claude-3-opus"))).await;
    assert_eq!(status, 404);
    assert_eq!(answer["error"], json!({ "type": "not_found_error", "message": "model: claude-3-opus" }));
    server.set_window(1000);
    let (_, answer) = client.post(&ask(&"x".repeat(8000))).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("prompt is too long: 20") && message.ends_with("> 1000 maximum"),
        "{message}"
    );
}

#[tokio::test]
async fn fields_and_limits() {
    check([
        (with("temperature", json!(1)), "temperature: Extra inputs are not permitted"),
        (with("made_up", json!(1)), "made_up: Extra inputs are not permitted"),
        (with("context_management", json!({ "edits": [] })), "context_management: Extra inputs"),
        (with("max_tokens", json!(128_001)), "max_tokens: 128001 > 128000, which is the maximum allowed"),
        (with("max_tokens", json!(0)), "max_tokens: 0"),
        (with("max_tokens", Value::Null), "max_tokens"),
        (with("metadata", json!({ "other": 1 })), "metadata.other: Extra inputs"),
        (with("stop_sequences", json!([" "])), "stop_sequences.0"),
        (with("service_tier", json!("best")), "service_tier"),
        (with("system", json!(" ")), "system: text content blocks must contain non-whitespace text"),
        (
            with("system", json!([{ "type": "text", "text": "" }])),
            "system.0: text content blocks must be non-empty",
        ),
        (with("system", json!([{ "type": "text", "text": "a", "x": 1 }])), "system.0.x: Extra inputs"),
        (messages(json!([])), "messages: at least one message is required"),
        (messages(json!([{ "role": "user", "content": "a", "id": 1 }])), "messages.0.id: Extra inputs"),
        (messages(json!([{ "role": "tool", "content": "a" }])), "Unexpected role \"tool\""),
    ])
    .await;
    accept([with("stop_sequences", json!(["END"])), with("metadata", json!({ "user_id": "u" }))]).await;
}

#[tokio::test]
async fn sampling_under_the_old_version() {
    let server = ModelServer::start();
    server.respond_with(|_| Reply::text("fine"));
    let client = Client::new(&server);
    for (model, field, value, expected) in [
        ("claude-opus-4-6", "temperature", json!(0.2), 200),
        ("claude-opus-4-7", "temperature", json!(0.2), 400),
        ("claude-opus-4-7", "temperature", json!(1.0), 200),
        ("claude-opus-5-5", "top_k", json!(4), 400),
    ] {
        let status = client.send_old_version(&on(model, field, value.clone())).await.status();
        assert_eq!(status, expected, "{model} {field} {value}");
    }
}

#[tokio::test]
async fn roles_and_their_order() {
    let system = json!({ "role": "system", "content": "note" });
    check([
        (messages(json!([assistant(json!("a")), user("b")])), "first message must use the \"user\" role"),
        (messages(json!([system, user("b")])), "first message must use the \"user\" role"),
        (
            messages(json!([user("a"), system, user("b")])),
            "messages.1: a system message must follow a user turn",
        ),
        (messages(json!([user("a"), assistant(json!("b")), system])), "messages.2: a system message"),
        (
            on("claude-sonnet-5", "messages", json!([user("a"), system])),
            "messages: Unexpected role \"system\"",
        ),
        (messages(json!([user("a"), assistant(json!("b"))])), "does not support assistant message prefill"),
        (
            on("claude-haiku-4-5", "messages", json!([user("a"), assistant(json!("b "))])),
            "final assistant content cannot end with trailing whitespace",
        ),
        (messages(json!([user("")])), "all messages must have non-empty content"),
        (messages(json!([{ "role": "user", "content": [] }])), "all messages must have non-empty content"),
        (
            content(json!([{ "type": "text", "text": "" }])),
            "messages.0.content.0: text content blocks must be non-empty",
        ),
        (content(json!([{ "type": "text", "text": "\n " }])), "must contain non-whitespace text"),
    ])
    .await;
    accept([
        messages(json!([user("a"), user("b")])),
        messages(json!([user("a"), system, assistant(json!("b")), user("c"), system])),
        on("claude-haiku-4-5", "messages", json!([user("a"), assistant(json!("b"))])),
    ])
    .await;
}

#[tokio::test]
async fn blocks_and_their_fields() {
    check([
        (
            content(json!([{ "type": "made_up" }])),
            "messages.0.content.0: Input tag 'made_up' found using 'type'",
        ),
        (
            content(json!([{ "type": "text", "text": "a", "x": 1 }])),
            "messages.0.content.0.text.x: Extra inputs",
        ),
        (content(json!([{ "type": "text" }])), "messages.0.content.0.text.text: Field required"),
        (content(json!([call("toolu_1")])), "`tool_use` blocks are not allowed in `user` messages"),
        (
            content(json!([{ "type": "text", "text": "a", "citations": [{}] }])),
            "citations are not permitted in user messages",
        ),
        (
            messages(json!([user("a"), assistant(json!([{ "type": "document", "source": {} }])), user("b")])),
            "`document` blocks are not allowed in `assistant` messages",
        ),
        (
            answered(json!([call("no good")]), json!([result("x")])),
            "messages.1.content.0.tool_use.id: String should match",
        ),
        (
            messages(json!([
                user("a"),
                assistant(json!([
                    { "type": "server_tool_use", "id": "toolu_1", "name": "web_search", "input": {} },
                ]))
            ])),
            "server_tool_use.id: String should match pattern '^srvtoolu_",
        ),
        (
            answered(
                json!([{ "type": "tool_use", "id": "a", "name": "R", "input": "x" }]),
                json!([result("a")]),
            ),
            "messages.1.content.0.tool_use.input: Input should be an object",
        ),
    ])
    .await;
}

#[tokio::test]
async fn tool_definitions() {
    let deferred = json!({ "name": "A", "input_schema": { "type": "object" }, "defer_loading": true });
    let mut extra = tool("A");
    extra["x"] = json!(1);
    let mut example = tool("A");
    example["input_schema"]["required"] = json!(["q"]);
    example["input_examples"] = json!([{ "p": 1 }]);
    let mut strict = tool("A");
    strict["strict"] = json!(true);
    check([
        (with("tools", json!([tool("no good")])), "tools.0.custom.name: String should match pattern"),
        (with("tools", json!([tool(&"n".repeat(129))])), "tools.0.custom.name: String should match pattern"),
        (with("tools", json!([tool("A"), tool("A")])), "tools: Tool names must be unique."),
        (with("tools", json!([extra])), "tools.0.custom.x: Extra inputs"),
        (with("tools", json!([{ "name": "A" }])), "tools.0.custom.input_schema: Field required"),
        (with("tools", json!([{ "name": "A", "type": "made_up" }])), "Input tag 'made_up'"),
        (with("tools", json!([deferred])), "All tools have defer_loading: true"),
        (with("tools", json!([example])), "tools.0.custom.input_examples.0"),
        (with("tools", json!([strict])), "`additionalProperties` must be false"),
        (schema(json!({ "type": "string" })), "tools.0.custom.input_schema.type: Input should be 'object'"),
        (
            schema(json!({ "type": "object", "anyOf": [] })),
            "does not support oneOf, allOf, or anyOf at the top level",
        ),
        (schema(json!({ "type": "object", "properties": { "a": { "type": 3 } } })), "JSON schema is invalid"),
        (
            with(
                "tools",
                json!([{
                    "type": "web_search_20260318", "name": "web_search",
                    "allowed_domains": ["a"], "blocked_domains": ["b"],
                }]),
            ),
            "only one of `allowed_domains` and `blocked_domains`",
        ),
        (
            with("tool_choice", json!({ "type": "auto" })),
            "tool_choice may only be specified while providing tools",
        ),
    ])
    .await;
    accept([with(
        "tools",
        json!([tool("A"), { "type": "web_search_20260318", "name": "web_search", "max_uses": 3 }]),
    )])
    .await;
}

#[tokio::test]
async fn calls_and_results() {
    let error = |content: Value| json!([{ "type": "tool_result", "tool_use_id": "a", "is_error": true, "content": content }]);
    check([
        (answered(json!([call("a")]), json!("no result")), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a"),
        (answered(json!([call("a"), call("b")]), json!([result("a")])), "immediately after: b"),
        (answered(json!([call("a")]), json!([{ "type": "text", "text": "first" }, result("a")])), "immediately after: a"),
        (
            messages(json!([user("go"), assistant(json!([call("a")])), user("late"), { "role": "user", "content": [result("a")] }])),
            "immediately after: a",
        ),
        (answered(json!([call("a")]), json!([result("a"), result("b")])), "unexpected `tool_use_id` found in `tool_result` blocks: b"),
        (content(json!([result("a")])), "messages.0.content.0: unexpected `tool_use_id`"),
        (answered(json!([call("a")]), json!([result("a"), result("a")])), "each tool_use must have a single result"),
        (answered(json!([call("a"), call("a")]), json!([result("a")])), "`tool_use` ids must be unique"),
        (answered(json!([call("a")]), error(json!(""))), "content cannot be empty if `is_error` is true"),
        (
            answered(json!([call("a")]), error(json!([{ "type": "image", "source": {} }]))),
            "all content must be type `text` if `is_error` is true",
        ),
        (
            messages(json!([user("go"), assistant(json!([
                { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} },
            ])), user("next")])),
            "was found without a corresponding `web_search_tool_result` block",
        ),
    ])
    .await;
    accept([
        answered(json!([call("a")]), json!([{ "type": "tool_result", "tool_use_id": "a" }])),
        answered(
            json!([call("a"), call("b")]),
            json!([result("b"), result("a"), { "type": "text", "text": "and" }]),
        ),
        messages(json!([
            user("go"),
            assistant(json!([call("a"), call("b")])),
            { "role": "user", "content": [result("a")] },
            { "role": "user", "content": [result("b")] },
            user("and"),
        ])),
        messages(json!([
            user("go"),
            assistant(json!([
                { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} },
            ]))
        ])),
    ])
    .await;
}

#[tokio::test]
async fn settings_by_model() {
    let thinking = |model: &str, kind: &str| on(model, "thinking", json!({ "type": kind }));
    let effort = |model: &str, level: &str| on(model, "output_config", json!({ "effort": level }));
    let forced = |model: &str| {
        let mut body = on(model, "tools", json!([tool("A")]));
        body["tool_choice"] = json!({ "type": "any" });
        body
    };
    let budget = |tokens: u64| {
        on("claude-opus-4-6", "thinking", json!({ "type": "enabled", "budget_tokens": tokens }))
    };
    let mut disabled_at_max = thinking("claude-opus-5", "disabled");
    disabled_at_max["output_config"] = json!({ "effort": "max" });
    let mut forced_thinking = forced("claude-opus-4-6");
    forced_thinking["max_tokens"] = json!(4000);
    forced_thinking["thinking"] = json!({ "type": "enabled", "budget_tokens": 2000 });
    check([
        (
            on("claude-opus-5-5", "thinking", json!({ "type": "enabled", "budget_tokens": 1024 })),
            "\"thinking.type.enabled\" is not supported for this model.",
        ),
        (
            thinking("claude-fable-5-2", "disabled"),
            "\"thinking.type.disabled\" is not supported for this model.",
        ),
        (thinking("claude-haiku-4-5", "adaptive"), "adaptive thinking is not supported on this model"),
        (thinking("claude-opus-5-5", "between_tools"), "between_tools"),
        (disabled_at_max, "not supported with effort `max`"),
        (budget(10), "greater than or equal to 1024"),
        (budget(5000), "`max_tokens` must be greater than `thinking.budget_tokens`"),
        (with("thinking", json!({ "type": "adaptive", "display": "all" })), "thinking.display"),
        (
            with("thinking", json!({ "type": "adaptive", "block_binding": {} })),
            "thinking.adaptive.block_binding: Extra inputs",
        ),
        (effort("claude-haiku-4-5", "low"), "This model does not support the effort parameter"),
        (effort("claude-opus-4-6", "xhigh"), "`xhigh` is not supported for this model"),
        (effort("claude-opus-5-5", "huge"), "output_config.effort"),
        (
            forced("claude-opus-5-5"),
            "tool_choice: type \"tool\" and \"any\" are not supported for this model.",
        ),
        (on("claude-haiku-4-5", "inference_geo", json!("us")), "inference_geo: not supported"),
        (forced_thinking, "Thinking may not be enabled when tool_choice forces tool use."),
    ])
    .await;
    accept([
        forced("claude-opus-5"),
        effort("claude-opus-4-6", "max"),
        effort("claude-fable-5-2", "xhigh"),
        thinking("claude-sonnet-5-5", "between_tools"),
        thinking("claude-opus-5", "disabled"),
    ])
    .await;
}

fn picture(width: u32, height: u32) -> String {
    let mut data = Cursor::new(Vec::new());
    RgbImage::new(width, height).write_to(&mut data, ImageFormat::Png).unwrap();
    STANDARD.encode(data.into_inner())
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
}

#[tokio::test]
async fn images() {
    let small = image("image/png", &picture(2, 2));
    let wide = image("image/png", &picture(2001, 1));
    let mut oversized = image("image/png", &picture(2600, 1));
    oversized["transformations"] = json!({ "oversized_image": "error" });
    let mut many = vec![small.clone(); 21];
    many.push(wide);
    check([
        (
            content(json!([image("image/jpeg", &picture(2, 2))])),
            "specified using the image/jpeg media type, but the image appears to be a image/png image",
        ),
        (content(json!([image("image/bmp", "AAAA")])), "media_type: Input should be 'image/jpeg'"),
        (content(json!([image("image/png", "AAAA")])), "Could not process image"),
        (content(json!([image("image/png", "%%%")])), "Invalid base64 data"),
        (content(json!([image("image/png", &"A".repeat((10 << 20) + 4))])), "image exceeds 10 MB maximum"),
        (content(json!([image("image/png", &picture(8001, 1))])), "exceed max allowed size: 8000 pixels"),
        (content(json!([oversized])), "edges of 2576 pixels"),
        (content(json!(many)), "many-image requests: 2000 pixels"),
        (content(json!(vec![small.clone(); 601])), "too many images: 601 > 600"),
        (
            content(json!([{ "type": "image", "source": { "type": "path" } }])),
            "image.source: Input tag 'path'",
        ),
    ])
    .await;
    accept([
        content(json!(vec![small.clone(); 30])),
        answered(
            json!([call("a")]),
            json!([{ "type": "tool_result", "tool_use_id": "a", "content": [small] }]),
        ),
    ])
    .await;
}

fn pdf(objects: &str) -> Value {
    let data = STANDARD.encode(format!("%PDF-1.7\n{objects}\n%%EOF\n"));
    json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": data } })
}

fn pages(count: usize) -> Value {
    pdf(&"1 0 obj <</Type /Page /Parent 2 0 R>> endobj\n".repeat(count))
}

#[tokio::test]
async fn documents() {
    let foreign = json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AAAA" } });
    let locked = pdf("1 0 obj <<>> endobj\ntrailer <</Encrypt 5 0 R>>");
    check([
        (content(json!([foreign])), "The PDF specified was not valid"),
        (content(json!([pdf("nothing that a PDF is made of")])), "The PDF specified was not valid"),
        (
            content(json!([locked])),
            "messages.0.content.0.document.source.base64.data: The PDF specified is password",
        ),
        (
            content(json!([pages(400), pages(201)])),
            "messages.0.content.1.document.source: A maximum of 600 PDF pages may be provided",
        ),
    ])
    .await;
    accept([content(json!([pages(400), pages(200)]))]).await;
}
