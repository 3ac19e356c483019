//! Entries: the durable, ordered facts a session consists of.

mod epoch;

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::block::RawBlock;
use crate::compaction::{Cleared, Compacted};
use crate::effect::Effect;
use crate::hook::HookRecord;
use crate::id::{AgentId, CallId, EntryId, MessageId, SessionId};
use crate::ingredients::Asked;
use crate::ledger;
use crate::rewind::Rewound;
use crate::usage::{StopReason, Usage};

pub use epoch::{Epoch, ToldFile};

/// One fact, with its place in the log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Position in the log, counted from 1.
    pub seq: u64,
    /// The entry's own id.
    pub id: EntryId,
    /// The conversation entry before it; absent for the first and for bookkeeping kinds.
    pub parent: Option<EntryId>,
    /// When it was appended.
    pub at: Timestamp,
    /// The sub-agent it belongs to; absent for the main agent.
    pub agent: Option<AgentId>,
    /// What happened.
    pub body: Body,
}

/// What an entry says.
#[derive(Clone, Debug)]
pub enum Body {
    /// A session was opened: the first entry of a log, and one more for each resume.
    Opened(Opened),
    /// Something for the model in the user's role.
    User(UserMessage),
    /// One finished content block of the model.
    Assistant(AssistantBlock),
    /// The end of a response: usage and the reason it stopped.
    Response(Response),
    /// The one answer to a call.
    Result(CallResult),
    /// An admitted piece of hidden context.
    Attachment(Attachment),
    /// A notice for the user; not sent to the model.
    Notice(Notice),
    /// A state change outside a call.
    Effect(Effect),
    /// A new epoch: the fixed head of all requests that follow.
    Epoch(Epoch),
    /// Entries that must never be sent again.
    Orphaned(Orphaned),
    /// Input accepted while a turn was running.
    Queued(Queued),
    /// Queued input that was dropped.
    Dequeued(Dequeued),
    /// A permission decision.
    Decision(DecisionRecord),
    /// A hook that ran.
    Hook(HookRecord),
    /// Something was mended so that the next request is acceptable.
    Repaired(Repair),
    /// The conversation was folded into a summary.
    Compacted(Box<Compacted>),
    /// Old results were cleared.
    Cleared(Cleared),
    /// Conversation or files went back to an earlier prompt.
    Rewound(Rewound),
    /// The turn is over.
    TurnEnded(TurnEnd),
    /// An entry of a newer version, kept as it is.
    Unknown(Value),
}

impl Body {
    /// Whether the entry is part of the conversation that outside readers follow by `parentUuid`.
    #[must_use]
    pub fn is_message(&self) -> bool {
        matches!(
            self,
            Self::User(_)
                | Self::Assistant(_)
                | Self::Result(_)
                | Self::Attachment(_)
                | Self::Notice(_)
                | Self::Compacted(_)
        )
    }
}

/// Facts about the process that opened the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// Why: `startup`, `resume`, `fork` or `clear`.
    pub source: String,
    /// The working directory.
    pub cwd: PathBuf,
    /// Tiller's version.
    pub version: String,
    /// Further working directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_dirs: Vec<PathBuf>,
    /// The session this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// What the log of a sub-agent is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentOpened>,
}

/// What a sub-agent was made as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentOpened {
    /// Its type, e.g. `Explore`.
    pub kind: String,
    /// What it does, in a few words.
    pub description: String,
    /// The model it talks to.
    pub model: String,
    /// The call that started it.
    pub call: CallId,
}

/// A message in the user's role.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage {
    /// Text, images, documents.
    pub content: Vec<RawBlock>,
    /// Who wrote it.
    pub origin: Origin,
    /// Why Tiller added it, if it did; absent in logs of earlier versions.
    pub added: Option<Added>,
}

/// Why Tiller added a message of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// What made it.
    #[serde(flatten)]
    pub source: ledger::Source,
    /// Why it was added at this moment.
    pub why: String,
}

impl UserMessage {
    /// A message that somebody wrote.
    #[must_use]
    pub fn new(content: Vec<RawBlock>, origin: Origin) -> Self {
        Self { content, origin, added: None }
    }

    /// A prompt typed by the user.
    #[must_use]
    pub fn prompt(text: &str) -> Self {
        Self::new(vec![RawBlock::text(text)], Origin::Typed)
    }

    /// A message of Tiller's own: sent to the model, hidden from the user's view.
    #[must_use]
    pub fn hidden(content: Vec<RawBlock>, source: ledger::Source, why: impl Into<String>) -> Self {
        let added = Some(Added { source, why: why.into() });
        Self { content, origin: Origin::Harness, added }
    }

    /// Whether the user wrote it; the rest is hidden from view.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        matches!(self.origin, Origin::Harness | Origin::Summary)
    }

    /// Whether it begins a turn that nobody has asked for: work in the background has ended.
    #[must_use]
    pub fn is_of_task(&self) -> bool {
        self.added.as_ref().is_some_and(|added| matches!(added.source, ledger::Source::Task))
    }
}

/// Where input in the user's role comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Typed or passed by the user as the start of a turn.
    Typed,
    /// Sent while the agent worked, delivered later.
    Queued,
    /// Put together by a program for the user, and meant word for word: it mentions no files and calls for no commands.
    Composed,
    /// Added by Tiller: sent to the model, hidden from the user's view.
    Harness,
    /// Stands in place of messages that were folded; hidden as well.
    Summary,
}

/// One finished block of the model's answer. Blocks of one response share the message id.
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantBlock {
    /// The provider's id of the response.
    pub message_id: MessageId,
    /// The model that wrote it.
    pub model: String,
    /// The block, untouched.
    pub block: RawBlock,
    /// The text of a tool input that was not valid JSON.
    pub invalid_input: Option<String>,
    /// The kind of failure of the provider that this text stands for: shown, never sent.
    pub api_error: Option<String>,
    /// Cut off by the user.
    pub aborted: bool,
}

/// The end of one response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The response.
    pub message_id: MessageId,
    /// The model that answered.
    pub model: String,
    /// What it consumed.
    pub usage: Usage,
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// The provider's explanation, for refusals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_details: Option<Value>,
    /// What it cost; absent when the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Time from request to end in milliseconds.
    pub duration_ms: u64,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// A request beside the conversation, made for a tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub side: bool,
    /// The sub-agent that made it; its own log has the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What was asked; absent for requests beside the conversation, and in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// The one answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// What the model sees.
    pub content: Vec<RawBlock>,
    /// Whether the call failed.
    pub is_error: bool,
    /// How the result came about.
    pub cause: Cause,
    /// The tool's structured output, for library users and displays.
    pub detail: Value,
    /// State changes that go with it.
    pub effects: Vec<Effect>,
}

/// How a result came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The call ran, or was refused for its input or by policy.
    Call,
    /// The user interrupted.
    Interrupted,
    /// The user refused another call, which ended the turn.
    ToolRejection,
    /// Another call of the same response failed.
    SiblingError,
    /// The stream was abandoned and the request repeated.
    StreamingFallback,
    /// Another model took over.
    ModelFallback,
    /// The provider no longer accepted earlier reasoning and the request was repeated.
    ThinkingRefused,
    /// The provider declined to answer.
    Refusal,
    /// The request failed for good.
    ApiError,
    /// The process ended before the call was answered.
    Lost,
}

impl CallResult {
    /// The `tool_result` block for the provider: a lone text becomes a plain string.
    #[must_use]
    pub fn to_block(&self) -> RawBlock {
        let mut block = serde_json::json!({"type": "tool_result", "tool_use_id": self.call});
        match self.content.as_slice() {
            [] => {}
            [only] if only.as_text().is_some() => block["content"] = only.as_text().into(),
            many => block["content"] = many.iter().map(RawBlock::to_value).collect(),
        }
        if self.is_error {
            block["is_error"] = true.into();
        }
        RawBlock::from_value(&block)
    }

    /// All text of the result, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n")
    }
}

/// A piece of context that Tiller added, with the reason it was added now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// The typed content; `attachment.type` names the kind.
    pub attachment: Value,
    /// Who made it: a source of attachments, a hook.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Why it was added at this moment.
    pub why: String,
    /// The exact blocks the model sees.
    pub rendered: Vec<RawBlock>,
    /// An estimate of the tokens these take.
    #[serde(default)]
    pub tokens: u64,
    /// Reminder tags in it that others had forged; they were made harmless.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forged: usize,
    /// State changes that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Attachment {
    /// An attachment that changes nothing but the conversation.
    #[must_use]
    pub fn new(attachment: Value, source: &str, why: String, rendered: Vec<RawBlock>) -> Self {
        let tokens = ledger::tokens(rendered.iter().map(ledger::block_size).sum());
        Self { attachment, source: source.to_owned(), why, rendered, tokens, forged: 0, effects: Vec::new() }
    }

    /// The kind, e.g. `queued_command`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.attachment.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// The queued input this attachment delivers, if it delivers one.
    #[must_use]
    pub fn queued_id(&self) -> Option<EntryId> {
        if self.kind() != "queued_command" {
            return None;
        }
        self.attachment.get("id")?.as_str()?.parse().ok()
    }
}

/// A notice for the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// What it is about, e.g. `model_fallback`.
    pub subtype: String,
    /// How serious.
    pub level: Level,
    /// The text.
    pub content: String,
}

/// How serious a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For information.
    Info,
    /// Something to look at.
    Warning,
    /// Something failed.
    Error,
}

/// Entries that must never be sent again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orphaned {
    /// The assistant entries, the results of their calls, and the effects of these.
    pub ids: Vec<EntryId>,
    /// Why.
    pub cause: Cause,
}

/// Input that waits for delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queued {
    /// Its id; the message keeps it when delivered.
    pub id: EntryId,
    /// Steering, or for after the turn.
    pub delivery: Delivery,
    /// What was sent.
    pub content: Vec<RawBlock>,
    /// How it is read.
    #[serde(default, skip_serializing_if = "Reading::is_usual")]
    pub reading: Reading,
}

/// How input is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Files are mentioned in it, and commands called for.
    #[default]
    Usual,
    /// It says what it says: a program has put it together.
    AsWritten,
}

impl Reading {
    /// Whether it is read as people write.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::Usual
    }
}

/// When input sent during a turn should reach the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// At the next boundary of the running turn.
    Steer,
    /// As a turn of its own afterwards.
    Queue,
    /// Together with whatever the model is sent next; it starts no turn.
    WithNext,
}

/// Queued input that was dropped without being delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dequeued {
    /// Which.
    pub ids: Vec<EntryId>,
}

/// A permission decision and what decided it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// `allow`, `deny` or `ask`.
    pub behavior: String,
    /// What decided: mode, rule or another reason.
    pub reason: Value,
    /// The same in words.
    #[serde(default)]
    pub message: String,
    /// The input that was judged; kept for refusals, and where the user changed it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
}

/// How the words about a call that the user has refused begin.
pub const REFUSED_BY_USER: &str = "the user refused it";

impl DecisionRecord {
    /// What the user said to it, if it was the user who refused the call; nothing, if that was all.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        let rest = self.message.strip_prefix(REFUSED_BY_USER).filter(|_| self.behavior == "deny")?;
        Some(rest.strip_prefix(':').unwrap_or(rest).trim())
    }
}

/// A repair of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    /// What was wrong and what was done.
    pub what: String,
    /// How many of the wrongs were reminder tags that others had forged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forged: usize,
    /// Parts that the provider has refused, and that are not sent again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
}

/// An image or a document that the provider has refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A digest of it, by which it is known wherever it stands.
    pub digest: String,
    /// What is sent in its place.
    pub note: String,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    /// The typed outcome.
    pub outcome: Outcome,
    /// For an unusual end: whether tools were running, and why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<EndMarker>,
    /// Model requests of the turn.
    pub steps: u32,
}

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Outcome {
    /// The model finished its answer.
    Success,
    /// The model handed a plan over, and nobody could be asked to approve it.
    PlanHandedOver {
        /// The plan.
        plan: String,
        /// Its file.
        path: PathBuf,
    },
    /// The limit on model requests was reached.
    MaxTurns,
    /// The spending limit was reached.
    MaxBudget,
    /// The limit on tokens was reached.
    MaxTokens,
    /// The limit on time was reached.
    MaxTime,
    /// A failure ended it.
    Error {
        /// What failed.
        message: String,
        /// The provider's HTTP status, if it was one.
        status: Option<u16>,
    },
    /// The user stopped it.
    Interrupted,
    /// The user refused a call without a word.
    ToolRejected,
    /// A hook ended it, or did not let it begin.
    HookStopped {
        /// The hook's reason.
        message: String,
    },
    /// The model did not hand its result over in the form that was asked for.
    Unstructured {
        /// What was missing.
        message: String,
    },
    /// The provider declined to answer.
    Refused {
        /// The provider's explanation.
        message: String,
    },
}

/// The marker of an unusual end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndMarker {
    /// Whether the turn was executing tools.
    pub tool_use: bool,
    /// Why it ended.
    pub reason: EndReason,
}

/// Why a turn ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// A failure.
    Error,
    /// The user interrupted.
    Interrupted,
    /// The user refused a call.
    ToolRejection,
}
