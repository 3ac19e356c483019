//! A conversation written down entry by entry, for tests.

use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::compaction::{Cleared, Compacted, Kept};
use tiller_protocol::effect::{Effect, FileSeen, Fingerprint};
use tiller_protocol::entry::{
    AssistantBlock, Attachment, Body, CallResult, Cause, Entry, Epoch, Origin, Orphaned, Response,
    UserMessage,
};
use tiller_protocol::id::{CallId, EntryId, MessageId};
use tiller_protocol::usage::{StopReason, Usage};

#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) entries: Vec<Entry>,
}

impl Story {
    fn push(mut self, body: Body) -> Self {
        let seq = self.entries.len() as u64 + 1;
        let id = EntryId(uuid::Uuid::from_u128(u128::from(seq)));
        self.entries.push(Entry { seq, id, parent: None, at: Default::default(), agent: None, body });
        self
    }

    pub(super) fn prompt(self, text: &str) -> Self {
        self.push(Body::User(UserMessage::prompt(text)))
    }

    pub(super) fn hidden(self, text: &str) -> Self {
        let content = vec![RawBlock::text(text)];
        self.push(Body::User(UserMessage::new(content, Origin::Harness)))
    }

    pub(super) fn image(self) -> Self {
        let content =
            vec![RawBlock::from_value(&json!({"type": "image", "source": {"data": "x".repeat(9_000)}}))];
        self.push(Body::User(UserMessage::new(content, Origin::Typed)))
    }

    pub(super) fn attach(self, content: Value, rendered: &str) -> Self {
        let rendered = vec![RawBlock::text(rendered)];
        self.push(Body::Attachment(Attachment::new(content, "s", "w".to_owned(), rendered)))
    }

    /// What the user sent while the agent was working.
    pub(super) fn queued(self, text: &str) -> Self {
        let id = EntryId::default().to_string();
        let prompt = json!([{"type": "text", "text": text}]);
        let rendered = format!("<system-reminder>\nThe user sent: {text}\n</system-reminder>");
        self.attach(json!({"type": "queued_command", "id": id, "prompt": prompt}), &rendered)
    }

    fn block(self, message: &str, block: &Value) -> Self {
        self.push(Body::Assistant(AssistantBlock {
            message_id: MessageId::from(message),
            model: "m".to_owned(),
            block: RawBlock::from_value(block),
            invalid_input: None,
            api_error: None,
            aborted: false,
        }))
    }

    pub(super) fn answer(self, message: &str, text: &str) -> Self {
        self.block(message, &json!({"type": "text", "text": text}))
    }

    pub(super) fn thinking(self, message: &str, text: &str) -> Self {
        self.block(message, &json!({"type": "thinking", "thinking": text, "signature": "s"}))
    }

    pub(super) fn call(self, message: &str, id: &str, tool: &str, input: &Value) -> Self {
        self.block(message, &json!({"type": "tool_use", "id": id, "name": tool, "input": input}))
    }

    pub(super) fn result(self, call: &str, tool: &str, text: &str) -> Self {
        self.resulted(call, tool, text, Vec::new())
    }

    fn resulted(self, call: &str, tool: &str, text: &str, effects: Vec<Effect>) -> Self {
        self.push(Body::Result(CallResult {
            call: CallId::from(call),
            tool: tool.to_owned(),
            content: vec![RawBlock::text(text)],
            is_error: false,
            cause: Cause::Call,
            detail: Value::Null,
            effects,
        }))
    }

    /// A step that reads a file.
    pub(super) fn read(self, call: &str, path: &str, text: &str) -> Self {
        let seen = FileSeen {
            path: path.into(),
            fingerprint: Fingerprint(text.len().to_string()),
            mtime_ms: 1,
            lines: None,
        };
        self.call(&format!("m{call}"), call, "Read", &json!({"file_path": path})).resulted(
            call,
            "Read",
            text,
            vec![Effect::FileSeen(seen)],
        )
    }

    /// The end of an answer, with what the provider has counted.
    pub(super) fn counted(self, message: &str, tokens: u64) -> Self {
        self.push(Body::Response(Response {
            message_id: MessageId::from(message),
            model: "m".to_owned(),
            usage: Usage { input_tokens: tokens, ..Usage::default() },
            stop_reason: StopReason::EndTurn,
            stop_details: None,
            cost_usd: None,
            duration_ms: 0,
            request_id: None,
            side: false,
            agent: None,
            asked: None,
        }))
    }

    /// The conversation is folded, and its last entry is kept if it takes something.
    pub(super) fn fold(self, kept_tokens: u64) -> Self {
        let last = self.entries.len() as u64;
        self.fold_keeping(last, kept_tokens)
    }

    pub(super) fn fold_keeping(self, seq: u64, tokens: u64) -> Self {
        let first = EntryId(uuid::Uuid::from_u128(u128::from(seq)));
        let kept = (tokens > 0).then_some(Kept { first, from: seq, messages: 1, tokens });
        self.push(Body::Compacted(Box::new(Compacted { kept, ..Compacted::default() })))
    }

    pub(super) fn epoch(self) -> Self {
        let nothing: std::sync::Arc<serde_json::value::RawValue> =
            serde_json::value::to_raw_value(&json!([])).unwrap().into();
        self.push(Body::Epoch(Epoch {
            reason: String::new(),
            key: String::new(),
            system: nothing.clone(),
            tools: nothing,
            user_context: None,
            instructions: Vec::new(),
            made_of: None,
        }))
    }

    /// Results are cleared.
    pub(super) fn clear(self, calls: &[&str], tokens: u64) -> Self {
        let calls = calls.iter().map(|call| CallId::from(*call)).collect();
        self.push(Body::Cleared(Cleared { calls, tokens, out_of_sight: Vec::new() }))
    }

    /// The user approves a plan.
    pub(super) fn approve(self) -> Self {
        self.push(Body::Effect(Effect::PlanApproved { path: "/plans/p.md".into() }))
    }

    /// What was appended last must never be sent again.
    pub(super) fn orphan_last(self) -> Self {
        let ids = self.entries.last().map(|entry| entry.id).into_iter().collect();
        self.push(Body::Orphaned(Orphaned { ids, cause: Cause::ModelFallback }))
    }
}
