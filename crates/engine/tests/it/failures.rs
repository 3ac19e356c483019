//! Requests that fail for good, answers that are given up, and what is left of them.

use std::time::Duration;

use serde_json::json;
use tiller_engine::Setup;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Body, Cause, EndMarker, EndReason, Outcome};
use tiller_testkit::{Gate, Reply};

use crate::harness::{Lab, hooks};
use crate::turns::{call, end};

// LOOP-23
#[tokio::test]
async fn an_overload_without_a_fallback_model_ends_the_turn() {
    let lab = Lab::new();
    lab.server.respond_with(|_| Reply::status(529, "overloaded_error", "busy"));
    let watch = lab.turn(lab.setup(), "go").await;
    assert!(matches!(watch.outcome(), Outcome::Error { status: Some(529), .. }), "{:?}", watch.outcome());
    assert_eq!(end(&watch).marker, Some(EndMarker { tool_use: false, reason: EndReason::Error }));
    let asked = lab.server.messages();
    assert_eq!(asked.len(), 11, "once, and ten times more");
    assert!(asked.iter().all(|request| request.body()["model"] == "claude-sonnet-5-5"));
}

// LOOP-24: the calls that were open say what went wrong, the log too, and nothing is done about the end of the turn.
#[tokio::test]
async fn a_fatal_error_answers_open_calls_and_ends_the_turn() {
    let lab = Lab::new();
    let fails = call("a", json!({"wait": "never"})).error_event("invalid_request_error", "no such luck");
    lab.server.reply(fails.usage(json!({"input_tokens": 1_234})));
    let stop = json!({"Stop": [{"hooks": [{"type": "command", "command": "touch stop-hook-ran"}]}]});
    let mut watch = lab.turn(Setup { hooks: hooks(stop), ..lab.setup() }, "go").await;
    let result = watch.result("a");
    assert_eq!((result.is_error, result.cause), (true, Cause::ApiError));
    assert!(result.text().contains("no such luck"), "{}", result.text());
    let logged = watch.entries().iter().any(|entry| match &entry.body {
        Body::Assistant(block) => {
            block.api_error.is_some() && block.block.as_text().unwrap_or_default().contains("no such luck")
        }
        _ => false,
    });
    assert!(logged, "{:?}", watch.sketch());
    assert_eq!(end(&watch).marker, Some(EndMarker { tool_use: false, reason: EndReason::Error }));
    assert!(matches!(watch.outcome(), Outcome::Error { .. }));
    watch.close().await;
    assert!(!lab.project().join("stop-hook-ran").exists());
    lab.server.assert_clean();
}

// BUDG-01: what the provider has read is paid for, also if the answer to it broke off for good.
#[tokio::test]
async fn an_answer_that_fails_in_the_middle_is_counted() {
    let lab = Lab::new();
    let fails = Reply::text("I will").error_event("invalid_request_error", "no such luck");
    lab.server.replies([fails.usage(json!({"input_tokens": 1_234})), Reply::text("fine")]);
    let mut watch = lab.turn(lab.setup(), "go").await;
    let counted: Vec<(String, u64)> = watch
        .entries()
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Response(response) => {
                Some((response.stop_reason.as_str().to_owned(), response.usage.input_tokens))
            }
            _ => None,
        })
        .collect();
    assert_eq!(counted, [("failed".to_owned(), 1_234)]);
    watch.send(Command::Submit(UserInput::text("again"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// LOOP-45: whatever the end is, nothing follows it but that the agent is idle.
#[tokio::test]
async fn nothing_follows_the_end_of_a_turn() {
    let gate = Gate::new();
    for (reply, is_interrupted) in [
        (Reply::text("done"), false),
        (Reply::text("I will").error_event("invalid_request_error", "no such luck"), false),
        (call("a", json!({"wait": "never"})), true),
        (Reply::text("slow").gate(&gate), true),
    ] {
        let lab = Lab::new();
        lab.server.reply(reply);
        let mut watch = lab.begin(lab.setup(), "go").await;
        watch.until(|event| matches!(event, Event::Stream(_))).await;
        if is_interrupted {
            watch.send(Command::Interrupt).await;
        }
        watch.until_turn_ends().await;
        let until_end = watch.seen.len();
        watch.close().await;
        assert_eq!(watch.sketch().split_off(until_end), ["Idle", "Closed"]);
    }
}

// A call that does not stop keeps nobody from stopping the agent.
#[tokio::test]
async fn an_interrupt_is_heard_while_an_answer_is_given_up() {
    let lab = Lab::new();
    let gate = Gate::new();
    let stubborn = call("a", json!({"stubborn": true, "wait": "the end"}));
    lab.server
        .replies([stubborn.gate(&gate).error_event("overloaded_error", "busy"), Reply::text("unheard")]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch
        .until(|event| matches!(event, Event::Appended(entry) if matches!(entry.body, Body::Decision(_))))
        .await;
    gate.open();
    watch.until(|event| matches!(event, Event::CallStopped(_))).await;
    // From here on time passes only when nobody has anything to do.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "the call was waited for");
    assert_eq!(watch.outcome(), Outcome::Interrupted);
    tokio::time::resume();
    lab.gates.open("the end");
    watch.close().await;
}

// Hosts that draw an answer while it is written are told that its last block has ended.
#[tokio::test]
async fn an_interrupt_closes_what_is_being_streamed() {
    let lab = Lab::new();
    let gate = Gate::new();
    lab.server.reply(Reply::text("half of the ans").unfinished().gate(&gate));
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until(|event| matches!(event, Event::Stream(json) if json.contains("text_delta"))).await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    let sketch = watch.sketch();
    let streamed: Vec<&str> = sketch.iter().filter_map(|what| what.strip_prefix("stream ")).collect();
    assert!(
        streamed.ends_with(&["content_block_delta", "content_block_stop", "message_delta", "message_stop"]),
        "{streamed:?}"
    );
    let place = |wanted: &str| sketch.iter().position(|what| what == wanted);
    assert!(place("stream message_stop") < place("assistant text"), "{sketch:?}");
}
