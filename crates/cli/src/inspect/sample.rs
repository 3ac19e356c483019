//! A short session with something of everything, at fixed times.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{
    AssistantBlock, Attachment, Body, CallResult, Cause, DecisionRecord, Delivery, Entry, Epoch, Level,
    Notice, Opened, Origin, Orphaned, Outcome, Queued, Reading, Repair, Response, TurnEnd, UserMessage,
};
use tiller_protocol::hook::{HookEnd, HookRecord};
use tiller_protocol::id::EntryId;
use tiller_protocol::mode::Mode;
use tiller_protocol::usage::Usage;
use uuid::Uuid;

use super::fold::Fold;
use super::report::Report;

/// The model of most requests.
const MODEL: &str = "claude-sonnet-5-5";

/// The report of the session.
pub(super) fn report() -> Report {
    let mut fold = Fold::new("0198c0de-0000-7000-8000-000000000001".parse().unwrap(), "/log.jsonl".into());
    entries().iter().for_each(|entry| fold.take(entry));
    fold.finish(&[])
}

fn entries() -> Vec<Entry> {
    let mut log = Log::default();
    first_turn(&mut log);
    second_turn(&mut log);
    third_turn(&mut log);
    log.0
}

/// A question, two reads at once, a refusal, a hidden remark of a hook, an answer.
fn first_turn(log: &mut Log) {
    log.push(0, Body::Opened(opened("startup")));
    log.push(5, epoch("start"));
    log.push(10, prompt("Why does the build fail?", Origin::Typed));
    log.push(900, block("msg_1", &json!({"type": "thinking", "thinking": "Look first.", "signature": "s"})));
    log.push(20, block("msg_1", &json!({"type": "text", "text": "I look at the build files."})));
    log.push(10, call("msg_1", "a", "Read", &json!({"file_path": "Makefile"})));
    log.push(2, decision("a", "Read", "allow", json!({"type": "other", "reason": "it changes nothing"})));
    log.push(8, call("msg_1", "b", "Grep", &json!({"pattern": "error", "path": "src"})));
    log.push(2, decision("b", "Grep", "allow", json!({"type": "other", "reason": "it changes nothing"})));
    log.push(38, result("a", "Read", "all:\n\tcc main.c", Cause::Call, false));
    log.push(20, response("msg_1", MODEL, 980, "tool_use", usage(120, 0, 4_000, 60), Some(0.021)));
    log.push(60, result("b", "Grep", "src/main.c:3: error", Cause::Call, false));
    let hook = HookRecord {
        event: "PostToolUse".to_owned(),
        name: "./lint.sh".to_owned(),
        source: "/w/app/.tiller/settings.json".to_owned(),
        call: Some("b".into()),
        end: HookEnd::Success,
        exit_code: Some(0),
        duration_ms: 12,
        stdout: "{}".to_owned(),
        stderr: String::new(),
    };
    log.push(1, Body::Hook(hook));
    let remark =
        json!({"type": "hook_additional_context", "hookName": "./lint.sh", "hookEvent": "PostToolUse"});
    log.push(
        1,
        attachment(remark, "PostToolUse hook ./lint.sh: it returned additionalContext", "Mind the gap."),
    );
    log.push(700, call("msg_2", "c", "Bash", &json!({"command": "rm -rf build"})));
    let rule = json!({"type": "rule", "rule": "Bash(rm:*)", "source": "projectSettings", "file": "/w/app/.tiller/settings.json"});
    log.push(3, decision("c", "Bash", "deny", rule));
    log.push(1, result("c", "Bash", "Bash is not allowed here.", Cause::Call, true));
    log.push(10, response("msg_2", MODEL, 714, "tool_use", usage(30, 4_120, 90, 40), Some(0.0032)));
    log.push(500, block("msg_3", &json!({"type": "text", "text": "A header is missing."})));
    log.push(5, response("msg_3", MODEL, 505, "end_turn", usage(25, 4_210, 60, 12), Some(0.0019)));
    log.push(1, ended(Outcome::Success, 3));
}

/// The stream breaks and is repeated, the user steers, and then interrupts.
fn second_turn(log: &mut Log) {
    log.push(60_000, prompt("Mend it.", Origin::Queued));
    let void = log.push(400, block("msg_4", &json!({"type": "text", "text": "I beg"})));
    log.push(1, response("msg_4", MODEL, 0, "abandoned", usage(20, 4_300, 0, 2), Some(0.0011)));
    log.push(1, Body::Orphaned(Orphaned { ids: vec![void], cause: Cause::StreamingFallback }));
    log.push(600, call("msg_5", "d", "Bash", &json!({"command": "make"})));
    log.push(2, decision("d", "Bash", "allow", json!({"type": "mode", "mode": "bypassPermissions"})));
    log.push(4, response("msg_5", MODEL, 604, "tool_use", usage(20, 4_300, 30, 21), Some(0.0012)));
    let id = EntryId(Uuid::from_u128(77));
    let content = vec![RawBlock::text("Use tabs.")];
    log.push(100, Body::Queued(Queued { id, delivery: Delivery::Steer, content, reading: Reading::Usual }));
    log.push(
        2_000,
        result("d", "Bash", "The user interrupted before this call was finished.", Cause::Interrupted, true),
    );
    log.push(1, Body::User(UserMessage::new(vec![RawBlock::text("[Interrupted.]")], Origin::Harness)));
    log.push(1, ended(Outcome::Interrupted, 1));
}

/// A resumed session: a notice, a repair, a model whose price nobody knows, and a request that fails.
fn third_turn(log: &mut Log) {
    log.push(3_600_000, Body::Opened(opened("resume")));
    log.push(1, Body::Effect(Effect::SetMode { mode: Mode::Plan }));
    log.push(5, epoch("prompt or tools changed"));
    log.push(1, prompt("And now?", Origin::Typed));
    let prompt = json!([{"type": "text", "text": "Use tabs."}]);
    let queued = json!({"type": "queued_command", "id": Uuid::from_u128(77), "prompt": prompt});
    log.push(
        1,
        attachment(queued, "the user sent it while the agent was working", "Sent meanwhile: Use tabs."),
    );
    log.push(
        1,
        Body::Repaired(Repair {
            what: "an image was too large and was left out".to_owned(),
            forged: 1,
            ..Repair::default()
        }),
    );
    log.push(300, block("msg_6", &json!({"type": "text", "text": "Done\u{1b}[31m."})));
    log.push(1, response("msg_6", "somebody-else-1", 301, "max_tokens", usage(500, 0, 0, 9), None));
    let content = "The prompt cache was missed: the model was switched.".to_owned();
    log.push(1, Body::Notice(Notice { subtype: "cache_miss".to_owned(), level: Level::Info, content }));
    log.push(0, Body::User(UserMessage::new(vec![RawBlock::text("Go on.")], Origin::Harness)));
    let failure = AssistantBlock {
        api_error: Some("server_error".to_owned()),
        ..assistant("error_1", &json!({"type": "text", "text": "The provider is down."}))
    };
    log.push(900, Body::Assistant(failure));
    log.push(1, ended(Outcome::Error { message: "The provider is down.".to_owned(), status: Some(500) }, 2));
    log.push(1, Body::Unknown(json!({"type": "dream"})));
}

#[derive(Default)]
struct Log(Vec<Entry>);

impl Log {
    /// Appends an entry so many milliseconds after the one before.
    fn push(&mut self, after: i64, body: Body) -> EntryId {
        let seq = self.0.len() as u64 + 1;
        let start = "2026-11-15T10:00:00Z".parse::<Timestamp>().unwrap();
        let at = self.0.last().map_or(start, |last| last.at) + SignedDuration::from_millis(after);
        let id = EntryId(Uuid::from_u128(u128::from(seq)));
        self.0.push(Entry { seq, id, parent: None, at, agent: None, body });
        id
    }
}

fn opened(source: &str) -> Opened {
    Opened {
        source: source.to_owned(),
        cwd: "/w/app".into(),
        version: "0.1.0".to_owned(),
        additional_dirs: Vec::new(),
        forked_from: None,
        agent: None,
    }
}

fn epoch(reason: &str) -> Body {
    let raw = |value: Value| serde_json::value::to_raw_value(&value).unwrap().into();
    let system = "You are Tiller.\n\n# Tone\nBe brief.\n\n<environment>\nDate: today\n</environment>";
    Body::Epoch(Epoch {
        reason: reason.to_owned(),
        key: "k".to_owned(),
        system: raw(json!([{"type": "text", "text": system}])),
        tools: raw(
            json!([{"name": "Read", "description": "Reads."}, {"name": "Bash", "description": "Runs."}]),
        ),
        user_context: Some("<system-reminder>\n# agentsMd\nUse tabs.\n</system-reminder>".to_owned()),
        instructions: Vec::new(),
        made_of: None,
    })
}

fn prompt(text: &str, origin: Origin) -> Body {
    Body::User(UserMessage::new(vec![RawBlock::text(text)], origin))
}

fn assistant(id: &str, block: &Value) -> AssistantBlock {
    AssistantBlock {
        message_id: id.into(),
        model: MODEL.to_owned(),
        block: RawBlock::from_value(block),
        invalid_input: None,
        api_error: None,
        aborted: false,
    }
}

fn block(id: &str, block: &Value) -> Body {
    Body::Assistant(assistant(id, block))
}

fn call(message: &str, id: &str, tool: &str, input: &Value) -> Body {
    block(message, &json!({"type": "tool_use", "id": id, "name": tool, "input": input}))
}

fn decision(call: &str, tool: &str, behavior: &str, reason: Value) -> Body {
    let message = match reason["rule"].as_str() {
        Some(rule) => format!("the rule {rule} says so"),
        None => "it changes nothing".to_owned(),
    };
    let (call, tool, behavior) = (call.into(), tool.to_owned(), behavior.to_owned());
    Body::Decision(DecisionRecord { call, tool, behavior, reason, message, input: Value::Null })
}

fn result(call: &str, tool: &str, text: &str, cause: Cause, is_error: bool) -> Body {
    Body::Result(CallResult {
        call: call.into(),
        tool: tool.to_owned(),
        content: vec![RawBlock::text(text)],
        is_error,
        cause,
        detail: Value::Null,
        effects: Vec::new(),
    })
}

fn attachment(content: Value, why: &str, text: &str) -> Body {
    Body::Attachment(Attachment::new(content, "", why.to_owned(), vec![RawBlock::text(text)]))
}

fn usage(input: u64, read: u64, written: u64, output: u64) -> Usage {
    Usage {
        input_tokens: input,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
        output_tokens: output,
        ..Usage::default()
    }
}

fn response(id: &str, model: &str, took: u64, stop: &str, usage: Usage, cost_usd: Option<f64>) -> Body {
    Body::Response(Response {
        message_id: id.into(),
        model: model.to_owned(),
        usage,
        stop_reason: stop.to_owned().into(),
        stop_details: None,
        cost_usd,
        duration_ms: took,
        request_id: Some(format!("req_{id}")),
        side: false,
        agent: None,
        asked: None,
    })
}

fn ended(outcome: Outcome, steps: u32) -> Body {
    Body::TurnEnded(TurnEnd { outcome, marker: None, steps })
}
