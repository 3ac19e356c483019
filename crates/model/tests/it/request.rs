//! What goes over the wire.

use serde_json::json;
use tiller_model::{Effort, Model, ModelError, Request, Thinking};
use tiller_testkit::{ModelServer, Reply};

use crate::harness::{answer, ask, bytes, client, client_and, client_with};

#[tokio::test]
async fn headers_say_who_and_how() {
    let server = ModelServer::lenient();
    server.respond_with(|_| Reply::text("x"));
    let more = [
        ("ANTHROPIC_BETAS", "one, two"),
        ("ANTHROPIC_CUSTOM_HEADERS", "X-Team: tools\nX-Trace:  a:b \n"),
        ("ANTHROPIC_AUTH_TOKEN", "tok"),
    ];
    answer(&client_and(&server, &more), Request { betas: vec!["three".to_owned()], ..ask("go") }).await;
    let request = server.messages().remove(0);
    assert_eq!(request.header("anthropic-version"), Some("2026-10-21"));
    assert_eq!(request.header("x-api-key"), Some(server.key()));
    assert_eq!(request.header("authorization"), Some("Bearer tok"));
    assert_eq!(request.header("x-team"), Some("tools"));
    assert_eq!(request.header("x-trace"), Some("a:b"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert!(request.header("user-agent").unwrap().starts_with("tiller/"));
    assert_eq!(request.betas(), ["one", "two", "three"]);
}

// CACHE-01
#[tokio::test]
async fn successive_requests_share_their_bytes() {
    let server = ModelServer::start();
    server.respond_with(|_| Reply::text("x"));
    let client = client(&server);
    let mut request = ask("go");
    request.tools = bytes(&json!([{"name": "Read", "input_schema": {"type": "object"}}]));
    answer(&client, request.clone()).await;
    request.messages.push(bytes(&json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]})));
    request.messages.push(bytes(&json!({"role": "user", "content": "more"})));
    answer(&client, request).await;
    let bodies = server.messages();
    let first = bodies[0].raw().strip_suffix(b"]}").unwrap();
    assert!(bodies[1].raw().starts_with(first));
    server.assert_clean();
}

// CACHE-07
#[tokio::test]
async fn nothing_that_newer_models_refuse_is_ever_sent() {
    let server = ModelServer::start();
    server.respond_with(|_| Reply::text("x"));
    let client = client(&server);
    let wishes = [Thinking::ModelDefault, Thinking::Off, Thinking::Adaptive, Thinking::Budget(4_000)];
    let efforts = [None, Some(Effort::Low), Some(Effort::Max)];
    let models = tiller_model::Catalog::shipped().unwrap();
    let usable = models.models().iter().filter(|model| model.id != "claude-mythos-preview");
    for model in usable {
        for (thinking, effort) in
            wishes.iter().flat_map(|wish| efforts.iter().map(move |effort| (*wish, *effort)))
        {
            for drop_mismatched_thinking in [false, true] {
                let model = model.id.clone();
                let wish =
                    Request { model, thinking, effort, drop_mismatched_thinking, cache: true, ..ask("go") };
                let answer = answer(&client, wish.clone()).await;
                assert_eq!(answer.error, None, "{wish:?}");
            }
        }
    }
    for request in server.messages() {
        for field in ["temperature", "top_p", "top_k", "tool_choice"] {
            assert!(request.body().get(field).is_none(), "{field}");
        }
    }
    server.assert_clean();
}

// MODEL-07
#[tokio::test]
async fn the_long_context_suffix_is_not_sent() {
    let server = ModelServer::start();
    server.respond_with(|_| Reply::text("x"));
    answer(&client(&server), Request { model: "claude-sonnet-5-5[1m]".to_owned(), ..ask("go") }).await;
    let request = server.messages().remove(0);
    assert_eq!(request.body()["model"], "claude-sonnet-5-5");
    assert!(request.betas().is_empty());
}

// CACHE-06
#[tokio::test]
async fn reasoning_from_another_prefix_can_be_dropped() {
    let server = ModelServer::start();
    server.respond_with(|_| Reply::new().thinking("Hm.").and_text("x"));
    let client = client(&server);
    let first = answer(&client, ask("go")).await;
    let blocks: Vec<String> = first.blocks().iter().map(|block| block.json().to_owned()).collect();
    let mut changed = ask("something else");
    changed.messages.push(format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(",")).into());
    changed.messages.push(bytes(&json!({"role": "user", "content": "go on"})));
    let refused = answer(&client, changed.clone()).await.error;
    assert!(matches!(refused, Some(ModelError::PrefixMismatch { .. })), "{refused:?}");
    let dropped = answer(&client, Request { drop_mismatched_thinking: true, ..changed }).await;
    assert_eq!(dropped.error, None);
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_told_so() {
    let server = ModelServer::builder().window(2_000).start();
    let long = answer(&client(&server), ask(&"word ".repeat(20_000))).await.error;
    let Some(ModelError::PromptTooLong { tokens: Some(tokens), limit: Some(limit), .. }) = long else {
        panic!("{long:?}")
    };
    assert!(tokens > limit);
}

#[tokio::test]
async fn tokens_are_counted_by_the_provider() {
    let server = ModelServer::start();
    let client = client(&server);
    let few = client.count_tokens(ask("a")).await.unwrap();
    let many = client.count_tokens(ask(&"word ".repeat(100))).await.unwrap();
    assert!(few > 0 && many > few);
    let body = server.requests()[0].body().clone();
    assert!(body.get("max_tokens").is_none() && body.get("stream").is_none());
    server.assert_clean();
}

// MODEL-03
#[tokio::test]
async fn the_models_endpoint_is_asked_only_on_request_and_then_wins() {
    let server = ModelServer::builder().window(123_456).start();
    let client = client(&server);
    assert_eq!(client.info("claude-opus-5-5").context_window, 1_000_000);
    assert!(server.requests().is_empty());
    let learned = client.refresh("claude-opus-5-5".to_owned()).await.unwrap();
    assert_eq!(client.info("claude-opus-5-5[1m]"), learned);
    assert_eq!(server.requests()[0].path(), "/v1/models/claude-opus-5-5");
    let unknown = client.refresh("nobody/knows".to_owned()).await.unwrap_err();
    assert_eq!(unknown.status(), Some(404));
    assert_eq!(server.requests()[1].path(), "/v1/models/nobody%2Fknows");
}

#[tokio::test]
async fn proxies_are_used_except_where_not_wanted() {
    let server = ModelServer::start();
    server.respond_with(|_| Reply::text("x"));
    let through = [
        ("ANTHROPIC_BASE_URL", "http://model.invalid/base/"),
        ("ANTHROPIC_API_KEY", server.key()),
        ("http_proxy", server.url()),
        ("TILLER_MAX_RETRIES", "0"),
    ];
    // The scripted server knows no such path; what matters is that the request arrived there.
    answer(&client_with(&through), ask("go")).await;
    let seen = server.requests().remove(0);
    assert_eq!((seen.path(), seen.header("host")), ("/base/v1/messages", Some("model.invalid")));
    let around = [("HTTP_PROXY", "http://127.0.0.1:9"), ("NO_PROXY", "127.0.0.1")];
    assert_eq!(answer(&client_and(&server, &around), ask("go")).await.error, None);
}
