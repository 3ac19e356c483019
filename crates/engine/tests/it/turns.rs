//! Turns: steps, fallbacks, limits, steering, ends.

use serde_json::json;
use tiller_engine::Setup;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{
    Body, Cause, Delivery, EndMarker, EndReason, Entry, Level, Notice, Outcome, TurnEnd,
};
use tiller_testenv::eventually_beside;
use tiller_testkit::{Gate, Reply};

use crate::harness::{Lab, Watch, says};

pub(crate) fn call(id: &str, input: serde_json::Value) -> Reply {
    Reply::new().tool_with_id(id, "Probe", input)
}

pub(crate) fn end(watch: &Watch) -> TurnEnd {
    let entries = watch.entries();
    match &entries.last().unwrap().body {
        Body::TurnEnded(end) => end.clone(),
        other => panic!("not the end of a turn: {other:?}"),
    }
}

fn steps(watch: &Watch) -> Vec<(String, u32, String)> {
    let step = |event: &Event| match event {
        Event::StepStarted { chain, depth, model } => Some((chain.to_string(), *depth, model.clone())),
        _ => None,
    };
    watch.seen.iter().filter_map(step).collect()
}

// LOOP-01, LOOP-02
#[tokio::test]
async fn steps_share_a_chain_and_count_their_depth() {
    let lab = Lab::new();
    lab.server.replies([call("a", says("x")), call("b", says("y")), Reply::text("done")]);
    let mut watch = lab.turn(lab.setup(), "go").await;
    let first = steps(&watch);
    assert_eq!(first.iter().map(|step| step.1).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(first.iter().all(|step| step.0 == first[0].0));
    lab.server.reply(Reply::text("again"));
    watch.send(Command::Submit(UserInput::text("more"))).await;
    watch.until_turn_ends().await;
    let last = steps(&watch).pop().unwrap();
    assert_eq!(last.1, 0);
    assert_ne!(last.0, first[0].0);
}

// LOOP-14, LOOP-15, LOOP-29, LOOP-51: events come in the order in which they enter the conversation.
#[tokio::test]
async fn events_come_in_conversation_order() {
    let lab = Lab::new();
    lab.server.replies([Reply::text("hm").tool_with_id("a", "Probe", says("x")), Reply::text("done")]);
    let watch = lab.turn(lab.setup(), "go").await;
    let kept: Vec<String> = watch
        .sketch()
        .into_iter()
        .filter(|what| {
            !what.starts_with("stream")
                && !["CallStarted", "CallStopped", "decision", "response"].contains(&what.as_str())
        })
        .collect();
    assert_eq!(
        kept,
        [
            "opened",
            "effect SetMode { mode: BypassPermissions }",
            "Idle",
            "TurnStarted",
            "epoch",
            "user",
            "StepStarted",
            "Answering",
            "assistant text",
            "call a",
            "result a Call",
            "StepStarted",
            "Answering",
            "assistant text",
            "end Success",
        ]
    );
}

// LOOP-20, LOOP-21, LOOP-22
#[tokio::test]
async fn an_overloaded_model_is_left_for_the_fallback() {
    let lab = Lab::new();
    let overloaded = || Reply::status(529, "overloaded_error", "busy");
    lab.server.replies([overloaded(), overloaded(), overloaded(), call("a", says("x")), Reply::text("done")]);
    let setup = Setup { fallback_model: Some("haiku".into()), ..lab.setup() };
    let watch = lab.turn(setup, "go").await;
    let models: Vec<String> =
        lab.server.messages().iter().map(|r| r.body()["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(models[2..], ["claude-sonnet-5-5", "claude-haiku-5-5", "claude-haiku-5-5"]);
    let notice = watch.entries().iter().find_map(|entry| match &entry.body {
        Body::Notice(notice) => Some(notice.clone()),
        _ => None,
    });
    let Notice { level, content, .. } = notice.unwrap();
    assert!(content.contains("claude-sonnet-5-5") && content.contains("claude-haiku-5-5"), "{content}");
    assert_eq!(level, Level::Info, "it goes on, and nothing has to be done");
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// LOOP-22: calls that were open when the model was left are answered as that.
#[tokio::test]
async fn calls_of_an_answer_that_the_fallback_replaces_are_answered() {
    let lab = Lab::new();
    let overloaded = || call("a", json!({"wait": "never"})).error_event("overloaded_error", "busy");
    let refused = || Reply::status(529, "overloaded_error", "busy");
    lab.server.replies([overloaded(), refused(), refused(), refused(), Reply::text("done")]);
    let setup = Setup { fallback_model: Some("haiku".into()), ..lab.setup() };
    let watch = lab.turn(setup, "go").await;
    let result = watch.result("a");
    assert!(result.is_error && result.text().contains("another model has taken over"), "{result:?}");
    assert_eq!((result.cause, void_causes(&watch)), (Cause::ModelFallback, vec![Cause::ModelFallback]));
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// LOOP-22: the same when the model that gave up answers after all, however often it gives up before.
#[tokio::test]
async fn calls_of_an_answer_that_the_same_model_repeats_are_answered_as_that() {
    let lab = Lab::new();
    let overloaded = |id| call(id, json!({"wait": "never"})).error_event("overloaded_error", "busy");
    lab.server.replies([overloaded("a"), overloaded("b"), call("c", says("x")), Reply::text("done")]);
    let setup = Setup { fallback_model: Some("haiku".into()), ..lab.setup() };
    let watch = lab.turn(setup, "go").await;
    let causes = ["a", "b", "c"].map(|id| watch.result(id).cause);
    assert_eq!(causes, [Cause::StreamingFallback, Cause::StreamingFallback, Cause::Call]);
    assert_eq!(void_causes(&watch), [Cause::StreamingFallback, Cause::StreamingFallback]);
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// LOOP-19: what was given up for good is void as well.
#[tokio::test]
async fn calls_of_an_answer_that_nobody_repeats_are_answered() {
    let lab = Lab::new();
    let overloaded = call("a", json!({"wait": "never"})).error_event("overloaded_error", "busy");
    lab.server.replies([overloaded, Reply::status(400, "invalid_request_error", "no")]);
    let mut watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.result("a").cause, Cause::StreamingFallback);
    assert!(matches!(watch.outcome(), Outcome::Error { status: Some(400), .. }), "{:?}", watch.outcome());
    lab.server.reply(Reply::text("done"));
    watch.prompt("and now").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert!(!lab.server.messages().last().unwrap().body()["messages"].to_string().contains("tool_use"));
    lab.server.assert_clean();
}

/// Why answers became void.
fn void_causes(watch: &Watch) -> Vec<Cause> {
    let cause = |entry: &Entry| match &entry.body {
        Body::Orphaned(orphaned) => Some(orphaned.cause),
        _ => None,
    };
    watch.entries().iter().filter_map(|entry| cause(entry)).collect()
}

#[tokio::test]
async fn a_front_end_that_wants_no_streaming_events_gets_none() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("a long answer").chunked(1));
    let watch = lab.turn(Setup { stream_events: false, ..lab.setup() }, "go").await;
    assert!(!watch.sketch().iter().any(|line| line.starts_with("stream ")), "{:?}", watch.sketch());
    assert_eq!(end(&watch).outcome, Outcome::Success);
}

// LOOP-27: what the model had written is kept and marked.
#[tokio::test]
async fn an_interrupt_while_the_model_writes_keeps_the_text() {
    let lab = Lab::new();
    let gate = Gate::new();
    lab.server.reply(Reply::text("half a sentence").gate(&gate).more(" and the rest"));
    let mut watch = lab.begin(lab.setup(), "go").await;
    gate.wait_reached_async().await;
    watch.until(|event| matches!(event, Event::Stream(json) if json.contains("sentence"))).await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    gate.open();
    let aborted = watch.entries().iter().find_map(|entry| match &entry.body {
        Body::Assistant(block) if block.aborted => block.block.as_text(),
        _ => None,
    });
    assert_eq!(aborted.as_deref(), Some("half a sentence"));
    assert_eq!(end(&watch).marker, Some(EndMarker { tool_use: false, reason: EndReason::Interrupted }));
    lab.server.reply(Reply::text("fine"));
    watch.send(Command::Submit(UserInput::text("go on"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert_eq!(lab.server.rejections(), Vec::<String>::new());
}

// STEER-67, STEER-42, LOOP-34: what is typed while tools run reaches the model with the next request.
#[tokio::test]
async fn a_steering_message_lands_with_the_next_request() {
    let lab = Lab::new();
    lab.server.replies([call("a", json!({"wait": "gate"})), Reply::text("done")]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_started("a").await;
    watch.send(Command::Submit(UserInput::text("use tabs"))).await;
    let later = UserInput { delivery: Delivery::Queue, ..UserInput::text("and then this") };
    watch.send(Command::Submit(later)).await;
    watch.until(|event| matches!(event, Event::Appended(entry) if matches!(&entry.body, Body::Queued(queued) if queued.delivery == Delivery::Queue))).await;
    lab.gates.open("gate");
    lab.server.reply(Reply::text("second turn"));
    watch.until_turn_ends().await;
    let request = lab.server.messages()[1].body()["messages"].to_string();
    assert!(request.contains("use tabs") && !request.contains("and then this"), "{request}");
    watch.until_turn_ends().await;
    let request = lab.server.messages()[2].body()["messages"].to_string();
    assert!(request.contains("and then this"));
    lab.server.assert_clean();
}

// LOOP-43: what is sent during the final answer continues the turn.
#[tokio::test]
async fn a_message_sent_during_the_final_answer_continues_the_turn() {
    let lab = Lab::new();
    let gate = Gate::new();
    lab.server.replies([Reply::text("all done").gate(&gate), Reply::text("that too")]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    gate.wait_reached_async().await;
    watch.send(Command::Submit(UserInput::text("wait, one more"))).await;
    watch
        .until(|event| matches!(event, Event::Appended(entry) if matches!(entry.body, Body::Queued(_))))
        .await;
    gate.open();
    watch.until_turn_ends().await;
    assert_eq!(lab.server.messages().len(), 2);
    assert_eq!(end(&watch).steps, 2);
    lab.server.assert_clean();
}

// LOOP-47
#[tokio::test]
async fn limits_end_the_turn_with_a_notice() {
    let lab = Lab::new();
    lab.server.reply(call("a", says("x")));
    let mut setup = lab.setup();
    setup.limits.max_turns = Some(1);
    let watch = lab.turn(setup, "go").await;
    assert_eq!(watch.outcome(), Outcome::MaxTurns);
    assert!(watch.sketch().contains(&"notice max_turns".to_owned()));
    lab.server.assert_clean();

    // Not even the first request is made: it could cost more than that.
    let lab = Lab::new();
    let mut setup = lab.setup();
    setup.limits.max_budget_usd = Some(0.000_001);
    let watch = lab.turn(setup, "go").await;
    assert_eq!(watch.outcome(), Outcome::MaxBudget);
    assert!(watch.sketch().contains(&"notice max_budget".to_owned()));
    assert!(lab.server.messages().is_empty());
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_refusal_leaves_nothing_behind_that_would_be_sent_again() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("I was about to").refusal(Some("cyber"), "not this"));
    let mut watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.outcome(), Outcome::Refused { message: "not this".into() });
    lab.server.reply(Reply::text("fine"));
    watch.send(Command::Submit(UserInput::text("something else"))).await;
    watch.until_turn_ends().await;
    assert!(!lab.server.messages()[1].body()["messages"].to_string().contains("about to"));
    lab.server.assert_clean();
}

#[tokio::test]
async fn an_answer_cut_by_the_output_limit_is_continued() {
    let lab = Lab::new();
    lab.server.replies([Reply::text("first half").max_tokens_cut(), Reply::text("second half")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_paused_answer_is_resumed_as_it_is() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().server_tool("web_search", json!({"query": "x"}), json!([])).pause_turn(),
        Reply::text("found"),
    ]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    let messages = lab.server.messages()[1].body()["messages"].clone();
    assert_eq!(messages[1]["role"], "assistant");
    lab.server.assert_clean();
}

// LOOP-03, LOOP-36, CACHE-01, CACHE-05: system, tools and everything said stay as they were, to the byte.
#[tokio::test]
async fn requests_only_grow() {
    let lab = Lab::new();
    for n in 0..6 {
        lab.server.reply(Reply::new().thinking("hm").tool_with_id(&format!("c{n}"), "Probe", says("x")));
    }
    lab.server.reply(Reply::text("done"));
    let mut watch = lab.turn(lab.setup(), "go").await;
    lab.server.reply(Reply::text("more"));
    watch.send(Command::SetMode(tiller_protocol::mode::Mode::AcceptEdits)).await;
    watch.send(Command::Submit(UserInput::text("and?"))).await;
    watch.until_turn_ends().await;
    let requests = lab.server.messages();
    for pair in requests.windows(2) {
        let (before, after) = (pair[0].raw(), pair[1].raw());
        let tail = before.len() - 3;
        assert_eq!(&after[..tail], &before[..tail]);
    }
    lab.server.assert_clean();
}

// CACHE-06: a refused prefix is repeated once with the blocks dropped.
#[tokio::test]
async fn a_prefix_the_provider_no_longer_knows_is_sent_without_reasoning() {
    let lab = Lab::new();
    let text = "messages.1.content.0: Invalid signature in thinking block. The block is bound to a different conversation.";
    lab.server.replies([Reply::status(400, "invalid_request_error", text), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert!(watch.sketch().contains(&"notice thinking_dropped".to_owned()));
    let request = lab.server.messages()[1].body().clone();
    assert_eq!(request["thinking"]["block_binding"]["prefix_mismatch_behavior"], "drop_block");
}

// LOOP-10, MODEL-11: the model is chosen from the mode of each step.
#[tokio::test]
async fn the_mode_of_each_step_chooses_the_model() {
    let lab = Lab::new();
    lab.server.replies([call("a", says("x")), Reply::text("done")]);
    let setup = Setup {
        model_setting: Some("haiku".into()),
        mode: Some(tiller_protocol::mode::Mode::Plan),
        ..lab.setup()
    };
    let mut watch = lab.begin(setup, "go").await;
    watch.until_result("a").await;
    watch.until_turn_ends().await;
    lab.server.reply(Reply::text("acting"));
    watch.send(Command::SetMode(tiller_protocol::mode::Mode::Default)).await;
    watch.send(Command::Submit(UserInput::text("now act"))).await;
    watch.until_turn_ends().await;
    let models: Vec<String> = steps(&watch).into_iter().map(|step| step.2).collect();
    assert_eq!(models, ["claude-sonnet-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]);
    lab.server.assert_clean();
}

#[tokio::test]
async fn images_of_the_user_reach_the_model() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("a dot"));
    let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = RawBlock::from_value(
        &json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}),
    );
    let session = tiller_engine::Session::start(lab.setup()).unwrap();
    let mut watch = Watch { session, seen: Vec::new() };
    let input = UserInput::of(vec![RawBlock::text("what is this?"), image], Delivery::Steer);
    watch.send(Command::Submit(input)).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// LOOP-25, MODEL-03: the provider is asked on the side about its model, once, and only when it has answered; that it
// knows nothing of it changes nothing.
#[tokio::test]
async fn what_follows_an_answer_on_the_side_cannot_harm_it() {
    let lab = Lab::new();
    let asked = || {
        let paths: Vec<String> =
            lab.server.requests().iter().map(|request| request.path().to_owned()).collect();
        paths.into_iter().filter(|path| path.starts_with("/v1/models/")).collect::<Vec<_>>()
    };
    lab.server.reply(Reply::status(400, "invalid_request_error", "no"));
    let mut watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(asked(), [""; 0], "there was no answer");
    lab.server.hide_models();
    lab.server.replies([call("a", says("x")), call("b", says("y")), Reply::text("done")]);
    watch.send(Command::Submit(UserInput::text("again"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    eventually_beside("the model is asked about", || !asked().is_empty()).await;
    assert_eq!(asked(), ["/v1/models/claude-sonnet-5-5"]);
}

// CACHE-03
#[tokio::test]
async fn a_missed_cache_is_explained() {
    let lab = Lab::new();
    lab.server.set_cache_minimum(0);
    lab.server.replies([call("a", says("x")), Reply::text("done")]);
    let mut watch = lab.turn(lab.setup(), "go").await;
    assert!(!watch.sketch().contains(&"notice cache_miss".to_owned()));
    lab.server.expire_cache();
    lab.server.reply(Reply::text("slower"));
    watch.send(Command::Submit(UserInput::text("more"))).await;
    watch.until_turn_ends().await;
    assert!(watch.sketch().contains(&"notice cache_miss".to_owned()));
    lab.server.assert_clean();
}

// LOG-05: a message without content is answered, not sent.
#[tokio::test]
async fn a_blank_message_starts_nothing() {
    let lab = Lab::new();
    let watch = lab.turn(lab.setup(), "  ").await;
    assert!(matches!(watch.outcome(), Outcome::Error { .. }));
    assert_eq!(lab.server.messages().len(), 0);
}

// CACHE-07: the epoch that begins with another model carries no reasoning, live and after a resume.
#[tokio::test]
async fn a_model_switch_begins_an_epoch_without_reasoning() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().thinking("hm").and_text("one"), Reply::text("two")]);
    let mut watch = lab.turn(lab.setup(), "go").await;
    watch.send(Command::SetModel("opus".into())).await;
    watch.send(Command::Submit(UserInput::text("more"))).await;
    watch.until_turn_ends().await;
    watch.close().await;
    let request = lab.server.messages()[1].body().clone();
    assert_eq!(request["model"], "claude-opus-5-5");
    assert!(!request["messages"].to_string().contains("thinking"));
    lab.server.reply(Reply::text("three"));
    let setup = Setup {
        start: tiller_engine::Start::Resume(watch.session.id),
        model_setting: Some("opus".into()),
        ..lab.setup()
    };
    let watch = lab.turn(setup, "again").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    let resumed = lab.server.messages()[2].raw().to_vec();
    let before = lab.server.messages()[1].raw().to_vec();
    assert_eq!(resumed[..before.len() - 3], before[..before.len() - 3]);
    lab.server.assert_clean();
}

// BUDG-01: a model that takes over has its own price.
#[tokio::test]
async fn a_fallback_that_costs_more_than_is_left_is_not_asked() {
    let lab = Lab::new();
    let overloaded = || Reply::status(529, "overloaded_error", "busy");
    lab.server.replies([overloaded(), overloaded(), overloaded()]);
    let mut setup = Setup { fallback_model: Some("opus".into()), ..lab.setup() };
    setup.model_setting = Some("haiku".to_owned());
    setup.limits.max_budget_usd = Some(0.01);
    let watch = lab.turn(setup, "go").await;
    assert_eq!(watch.outcome(), Outcome::MaxBudget);
    assert!(watch.sketch().contains(&"notice max_budget".to_owned()), "{:?}", watch.sketch());
    let asked = lab.server.messages();
    assert!(asked.iter().all(|request| request.body()["model"] == "claude-haiku-5-5"), "{}", asked.len());
}

// BUDG-01: what a request could need is held against the limit on tokens before it is made, and the answer kept within it.
#[tokio::test]
async fn a_limit_on_tokens_holds_for_the_next_answer_too() {
    let lab = Lab::new();
    let usage = |input: u64, output: u64| json!({"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
    lab.server.replies([
        call("a", says("x")).usage(usage(120_000, 1_000)),
        call("b", says("x")).usage(usage(78_000, 500)),
    ]);
    let mut setup = lab.setup();
    setup.limits.max_tokens = Some(200_000);
    let watch = lab.turn(setup, "go").await;
    assert_eq!(watch.outcome(), Outcome::MaxTokens);
    let longest: Vec<u64> =
        lab.server.messages().iter().map(|request| request.body()["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(longest.len(), 2, "no third request, which could have needed more than the 500 that are left");
    assert!(longest[1] < 20_000, "a part of the 79000 that are left: {longest:?}");
    let told = watch.entries().iter().find_map(|entry| match &entry.body {
        Body::Notice(notice) if notice.subtype == "limit" => Some(notice.content.clone()),
        _ => None,
    });
    assert!(told.as_ref().is_some_and(|told| told.contains("(199500 used)")), "{told:?}");
    lab.server.assert_clean();
}
