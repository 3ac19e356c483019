//! Two thousand steps and many folds: what has to stay, stays. The model is a part of the test, so that it takes seconds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use tiller_engine::Setup;
use tiller_model::{Completion, Model, ModelError, ModelEvent, ModelInfo, Request};
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Body, Outcome};
use tiller_protocol::id::MessageId;
use tiller_protocol::messages::Messages;
use tiller_protocol::mode::Mode;
use tiller_protocol::usage::{StopReason, Usage};
use tiller_tools::TodoWrite;

use crate::compaction::with_recall;
use crate::harness::{Lab, Watch, says};
use crate::plan::{planning, state};
use crate::replayed::difference_after;

const STEPS: usize = 2_000;
const WINDOW: u64 = 60_000;
const RULE: &str = "Rule 7: never rename `parse_date`, not even in tests.";
const FACT: &str = "the fuse is rated 13 ampere";

/// Answers as the test wants it, and looks at every request.
struct Scripted(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    steps: usize,
    folds: usize,
    /// What was wrong with requests.
    wrong: Vec<String>,
}

impl Scripted {
    fn next(&self, request: &Request) -> (RawBlock, Usage) {
        let mut progress = self.0.lock().unwrap();
        let step = progress.steps;
        progress.steps += 1;
        let sizes = request.messages.bytes();
        let tokens = (sizes + request.system.len() + request.tools.len()) as u64 / 4;
        if tokens > WINDOW {
            progress.wrong.push(format!("step {step} has {tokens} tokens"));
        }
        if !contains(&request.messages.iter().next().unwrap(), RULE) {
            progress.wrong.push(format!("step {step} knows no rule"));
        }
        if step.is_multiple_of(25) {
            progress.wrong.extend(unpaired(&request.messages).map(|call| format!("step {step}: {call}")));
        }
        let usage = Usage { input_tokens: tokens, output_tokens: 20, ..Usage::default() };
        (RawBlock::from_value(&answer(step)), usage)
    }
}

fn contains(message: &bytes::Bytes, text: &str) -> bool {
    std::str::from_utf8(message).unwrap().contains(text)
}

/// What the model does in a step.
fn answer(step: usize) -> Value {
    let todo = json!({"content": "Mend the pump", "status": "in_progress", "activeForm": "Mending the pump"});
    let (tool, input) = match step {
        3 => ("Probe", says(FACT)),
        5 => ("TodoWrite", json!({"todos": [todo]})),
        STEPS => ("Recall", json!({"query": "fuse rated"})),
        // Every few hundred steps a turn ends.
        step if step % 400 == 399 || step > STEPS => return json!({"type": "text", "text": "Enough."}),
        step => ("Probe", says(&format!("result {step} {}", "x".repeat(160)))),
    };
    json!({"type": "tool_use", "id": format!("call{step}"), "name": tool, "input": input})
}

/// Calls without a result in the message behind them, and results without a call.
fn unpaired(messages: &Messages) -> impl Iterator<Item = String> {
    let messages: Vec<Value> = messages.iter().map(|json| serde_json::from_slice(&json).unwrap()).collect();
    let ids = |message: Option<&Value>, kind: &str, field: &str| -> Vec<String> {
        let blocks = message.and_then(|message| message["content"].as_array()).into_iter().flatten();
        blocks
            .filter(|block| block["type"] == kind)
            .map(|block| block[field].as_str().unwrap().to_owned())
            .collect()
    };
    let mut wrong = Vec::new();
    for at in 0..messages.len() {
        let (calls, results) = (
            ids(messages.get(at), "tool_use", "id"),
            ids(messages.get(at + 1), "tool_result", "tool_use_id"),
        );
        if calls != results {
            wrong.push(format!("{calls:?} are answered by {results:?}"));
        }
    }
    wrong.into_iter()
}

impl Model for Scripted {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (block, usage) = self.next(&request);
        let stop_reason =
            if block.as_tool_use().is_some() { StopReason::ToolUse } else { StopReason::EndTurn };
        let step = self.0.lock().unwrap().steps;
        let events = vec![
            ModelEvent::Started {
                message_id: MessageId(format!("msg{step}")),
                model: request.model,
                usage,
                request_id: None,
            },
            ModelEvent::Block { index: 0, block, invalid_input: None },
            ModelEvent::Finished { usage, stop_reason, stop_details: None, duration: Duration::ZERO },
        ];
        stream::iter(events.into_iter().map(Ok)).boxed()
    }

    fn complete(&self, request: Request) -> BoxFuture<'static, Result<Completion, ModelError>> {
        let mut progress = self.0.lock().unwrap();
        progress.folds += 1;
        let text = format!("Summary number {}.", progress.folds);
        let answer = Completion {
            message_id: MessageId(format!("summary{}", progress.folds)),
            model: request.model,
            blocks: vec![RawBlock::text(&text)],
            usage: Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() },
            stop_reason: StopReason::EndTurn,
            stop_details: None,
            request_id: None,
            duration: Duration::ZERO,
        };
        async move { Ok(answer) }.boxed()
    }

    fn count_tokens(&self, _request: Request) -> BoxFuture<'static, Result<u64, ModelError>> {
        async { Ok(0) }.boxed()
    }

    fn info(&self, id: &str) -> ModelInfo {
        ModelInfo {
            id: id.to_owned(),
            context_window: WINDOW,
            max_output: 8_000,
            known: true,
            ..ModelInfo::default()
        }
    }

    fn refresh(&self, id: String) -> BoxFuture<'static, Result<ModelInfo, ModelError>> {
        let info = self.info(&id);
        async move { Ok(info) }.boxed()
    }
}

// RECALL-01 RECALL-02 SESS-16 SESS-17 SESS-18 REPL-01: all of it is replayed where the test ends, and before that with a
// reminder that was worded otherwise.
#[tokio::test]
async fn a_long_session_keeps_what_it_has_to() {
    let lab = Lab::new();
    let model = Arc::new(Scripted(Mutex::default()));
    let base = planning(&lab);
    let registry = with_recall(lab.setup().registry.with(TodoWrite));
    let setup = Setup { registry, model: Arc::clone(&model) as Arc<dyn Model>, ..base };
    let mut watch = lab.turn(setup, RULE).await;
    while model.0.lock().unwrap().steps <= STEPS {
        watch.prompt("Go on.").await;
        assert_eq!(watch.outcome(), Outcome::Success);
    }
    let progress = model.0.lock().unwrap();
    assert!(progress.wrong.is_empty(), "{:#?}", &progress.wrong[..progress.wrong.len().min(5)]);
    let folds = watch.folds();
    assert!(folds.len() >= 5 && folds.len() == progress.folds, "{} folds", folds.len());
    assert!(folds.iter().all(|fold| fold.restored.iter().any(|kind| kind == "todo")), "todos came back");
    assert!(folds.iter().all(|fold| fold.restored.iter().any(|kind| kind == "plan_mode")), "plan mode did");
    let (now, recalled) = (state(&watch), watch.result(&format!("call{STEPS}")).text());
    assert_eq!((now.mode, now.todos.len()), (Mode::Plan, 1));
    assert!(recalled.contains(FACT), "{recalled}");
    let (reminder, step) = reminder_behind(&watch, STEPS / 2);
    let difference = difference_after(&lab, |line| {
        if line["uuid"] == reminder {
            line["rendered"][0]["text"] = json!("<system-reminder>\nMind the list.\n</system-reminder>");
        }
    });
    let difference = difference.unwrap();
    assert_eq!((difference.part.as_str(), difference.step), ("reminder todo_reminder", step), "{difference}");
}

/// The first reminder of the todo list behind a step, and the step whose request was the first with it.
fn reminder_behind(watch: &Watch, step: usize) -> (Value, usize) {
    let mut steps = 0;
    let reminder = watch.entries().into_iter().find_map(|entry| match &entry.body {
        Body::Response(response) if !response.side => {
            steps += 1;
            None
        }
        Body::Attachment(one) if one.kind() == "todo_reminder" && steps > step => Some(json!(entry.id)),
        _ => None,
    });
    (reminder.unwrap(), steps + 1)
}
