//! What is tried again, and what is not.

use std::net::{TcpListener, TcpStream};

use serde_json::Value;
use tiller_model::{Abandon, Model, ModelError, ModelEvent, Request};
use tiller_testkit::{Gate, ModelServer, Reply};

use crate::harness::{Answer, answer, ask, client, client_and, client_with};

fn overloaded() -> Reply {
    Reply::status(529, "overloaded_error", "Overloaded")
}

async fn play(replies: Vec<Reply>, request: Request) -> (Answer, Vec<Value>) {
    play_and(&[], replies, request).await
}

/// Plays replies for a client with these variables.
async fn play_and(vars: &[(&str, &str)], replies: Vec<Reply>, request: Request) -> (Answer, Vec<Value>) {
    let server = ModelServer::start();
    server.replies(replies);
    let answer = answer(&client_and(&server, vars), request).await;
    server.assert_clean();
    (answer, server.messages().iter().map(|request| request.body().clone()).collect())
}

/// Plays a reply that falls silent after its beginning, for a client that notices. On a busy machine already the
/// beginning may come too late; then the client is given more time.
async fn play_stalled() -> (Answer, Vec<Value>) {
    let mut patience = 1_000;
    loop {
        let replies = vec![Reply::text("half").unfinished().stall(), Reply::text("whole")];
        let vars = [("TILLER_STREAM_IDLE_TIMEOUT_MS", patience.to_string())];
        let played = play_and(&[(vars[0].0, &vars[0].1)], replies, ask("go")).await;
        if patience > 30_000 || played.0.outline()[0] == "started" {
            return played;
        }
        patience *= 4;
    }
}

async fn check(replies: Vec<Reply>, expected: &[&str]) {
    let (answer, _) = play(replies, ask("go")).await;
    assert_eq!(answer.outline(), expected);
}

// LOOP-50
#[tokio::test]
async fn overloads_are_waited_out() {
    let expected = ["retrying 1 529", "retrying 2 529", "started", "block x", "finished end_turn"];
    check(vec![overloaded(), overloaded(), Reply::text("x")], &expected).await;
}

// LOOP-50
#[tokio::test]
async fn the_third_overload_turns_to_the_fallback_if_there_is_one() {
    let request = Request { fallback_allowed: true, ..ask("go") };
    let (answer, bodies) = play(vec![overloaded(), overloaded(), overloaded()], request).await;
    assert_eq!(answer.outline(), ["retrying 1 529", "retrying 2 529", "error overloaded_error"]);
    assert_eq!(answer.error, Some(ModelError::Overloaded));
    assert_eq!(bodies.len(), 3);
}

// LOOP-50
#[tokio::test]
async fn without_a_fallback_overloads_are_retried_ten_times() {
    let (answer, bodies) = play(vec![overloaded(); 11], ask("go")).await;
    assert_eq!(answer.error, Some(ModelError::Overloaded));
    assert_eq!(bodies.len(), 11);
}

// LOOP-50
#[tokio::test]
async fn an_overload_in_the_stream_voids_what_came() {
    let broken = Reply::text("half").error_event("overloaded_error", "Overloaded");
    let expected = [
        "started",
        "block half",
        "abandoned overloaded",
        "retrying 1 529",
        "started",
        "block whole",
        "finished end_turn",
    ];
    let (answer, bodies) = play(vec![broken, Reply::text("whole")], ask("go")).await;
    assert_eq!(answer.outline(), expected);
    assert!(bodies.iter().all(|body| body["stream"] == true));
}

#[tokio::test]
async fn limits_are_waited_for_only_if_they_will_lift() {
    let limited = || Reply::status(429, "rate_limit_error", "slow down");
    let expected = ["retrying 1 429", "started", "block x", "finished end_turn"];
    check(vec![limited().header("retry-after", "0.01"), Reply::text("x")], &expected).await;
    check(vec![limited().header("retry-after-ms", "1"), Reply::text("x")], &expected).await;
    check(vec![limited()], &["error rate_limit_error"]).await;
    check(vec![limited().header("retry-after", "100000")], &["error rate_limit_error"]).await;
}

#[tokio::test]
async fn passing_problems_are_retried_and_others_are_not() {
    for (status, kind) in [(500, "api_error"), (504, "timeout_error"), (409, "conflict_error")] {
        let expected = [&format!("retrying 1 {status}"), "started", "block x", "finished end_turn"];
        check(vec![Reply::status(status, kind, ""), Reply::text("x")], &expected).await;
    }
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
    ] {
        check(vec![Reply::status(status, kind, "no")], &[&format!("error {kind}")]).await;
    }
    let never = Reply::status(500, "api_error", "no").header("x-should-retry", "false");
    check(vec![never], &["error api_error"]).await;
}

// LOOP-50
#[tokio::test]
async fn a_broken_stream_is_repeated_once_without_streaming() {
    let mut plays = vec![play_stalled().await];
    for broken in [
        Reply::text("half").unfinished().cut(),
        Reply::text("half").unfinished().end_without_stop(),
        Reply::text("half").unfinished().garbage("data: {\"type\":\n\n"),
        Reply::text("half").unfinished().garbage("data: \u{0}nonsense\n\n"),
        Reply::text("half").unfinished().error_event("api_error", "oops"),
    ] {
        plays.push(play(vec![broken, Reply::text("whole")], ask("go")).await);
    }
    for (answer, bodies) in plays {
        let expected = ["started", "abandoned broken", "started", "block whole", "finished end_turn"];
        assert_eq!(answer.outline(), expected);
        assert_eq!((&bodies[0]["stream"], &bodies[0]["max_tokens"]), (&true.into(), &32_000.into()));
        assert_eq!((&bodies[1]["stream"], &bodies[1]["max_tokens"]), (&false.into(), &21_333.into()));
        let abandoned =
            answer.events.iter().position(|event| matches!(event, ModelEvent::Abandoned { .. })).unwrap();
        let raw_after = answer.events[abandoned..].iter().any(|event| matches!(event, ModelEvent::Raw(_)));
        assert!(!raw_after, "the repeated answer was not streamed");
    }
}

// LOOP-50
#[tokio::test]
async fn silence_before_the_first_byte_is_a_broken_stream() {
    let never = Gate::new();
    let replies = vec![Reply::text("late").gate_headers(&never), Reply::text("whole")];
    let (answer, _) = play_and(&[("TILLER_STREAM_IDLE_TIMEOUT_MS", "1000")], replies, ask("go")).await;
    assert_eq!(answer.outline(), ["abandoned broken", "started", "block whole", "finished end_turn"]);
    let detail = answer.events.iter().find_map(|event| match event {
        ModelEvent::Abandoned { why: Abandon::StreamBroken { detail } } => Some(detail.as_str()),
        _ => None,
    });
    assert_eq!(detail, Some("nothing came for 1 s"));
}

// LOOP-50
#[tokio::test]
async fn a_repeat_that_fails_too_is_an_error() {
    let broken = || Reply::text("half").unfinished().cut();
    let refused = Reply::status(400, "invalid_request_error", "no");
    check(vec![broken(), refused], &["started", "abandoned broken", "error invalid_request_error"]).await;
    let expected =
        ["started", "abandoned broken", "retrying 1 529", "started", "block whole", "finished end_turn"];
    check(vec![broken(), overloaded(), Reply::text("whole")], &expected).await;
}

#[tokio::test]
async fn an_unreachable_provider_is_named() {
    // A port that is taken, so that nobody else comes to listen there, by somebody who does not listen.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let url = format!("http://{}", taken.local_addr().unwrap());
    let vars =
        [("ANTHROPIC_BASE_URL", url.as_str()), ("TILLER_RETRY_BASE_MS", "1"), ("TILLER_MAX_RETRIES", "2")];
    let answer = answer(&client_with(&vars), ask("go")).await;
    assert_eq!(answer.outline(), ["retrying 1 -", "retrying 2 -", "error network"]);
    let message = answer.error.unwrap().to_string();
    assert!(message.contains(&url) && message.contains("ANTHROPIC_BASE_URL"), "{message}");
}

#[tokio::test]
async fn whole_answers_are_retried_alike() {
    let server = ModelServer::start();
    server.replies([overloaded(), Reply::text("digest"), Reply::status(404, "not_found_error", "model: x")]);
    let client = client(&server);
    let whole = client.complete(ask("sum up")).await.unwrap();
    assert_eq!((whole.text().as_str(), whole.stop_reason.as_str()), ("digest", "end_turn"));
    assert!(whole.request_id.is_some() && whole.usage.output_tokens > 0);
    let error = client.complete(ask("sum up")).await.unwrap_err();
    assert_eq!((error.status(), error.kind()), (Some(404), "not_found_error"));
    assert!(error.request_id().is_some());
}

#[tokio::test]
async fn a_whole_answer_is_not_waited_for_forever() {
    let server = ModelServer::start();
    server.reply(Reply::text("late").gate_headers(&Gate::new()));
    let client = client_and(&server, &[("TILLER_REQUEST_TIMEOUT_MS", "50")]);
    assert_eq!(client.complete(ask("go")).await.unwrap_err().kind(), "stalled");
}
