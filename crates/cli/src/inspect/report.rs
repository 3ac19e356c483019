//! What a session consisted of. Serialized, this is the document that `tiller inspect --json` prints: docs/inspect.md
//! describes it, and a change of a field is a change of [`SCHEMA`].

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;
use tiller_protocol::entry::{Cause, Level, Origin, Outcome};
use tiller_protocol::hook::HookEnd;
use tiller_protocol::id::SessionId;
use tiller_protocol::ledger::{MaskTotal, Source};

use super::compaction::Compaction;
use super::excerpt::Excerpt;

/// The version of the document.
pub(super) const SCHEMA: u32 = 1;

/// A whole session.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) schema: u32,
    pub(super) session: Facts,
    pub(super) totals: Totals,
    pub(super) next_request: NextRequest,
    pub(super) steering: Steering,
    pub(super) turns: Vec<Turn>,
    pub(super) decisions: Vec<Decision>,
    pub(super) hooks: Vec<Hook>,
    pub(super) events: Vec<Event>,
    pub(super) side_requests: Vec<SideRequest>,
    pub(super) epochs: Vec<EpochFacts>,
    pub(super) compactions: Vec<Compaction>,
    pub(super) agents: Vec<AgentRun>,
}

/// What a sub-agent did, by its own log. Its requests are part of the session's totals.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentRun {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) description: String,
    /// The call that it worked for.
    pub(super) call: String,
    pub(super) report: Report,
}

/// What the log says about the session as a whole.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    pub(super) id: SessionId,
    pub(super) log: PathBuf,
    /// The beginning of the first prompt.
    pub(super) title: String,
    /// Where it was started last.
    pub(super) directory: PathBuf,
    pub(super) version: String,
    pub(super) forked_from: Option<SessionId>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) entries: u64,
    /// How often it was opened.
    pub(super) runs: u64,
    /// What is wrong with the log.
    pub(super) damage: Vec<String>,
}

/// Sums over the session.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Totals {
    pub(super) turns: u64,
    pub(super) steps: u64,
    /// All requests, also those whose answer became void and those beside the conversation.
    pub(super) requests: u64,
    pub(super) void_requests: u64,
    /// Those beside the conversation: of sub-agents, tools and hooks.
    pub(super) side_requests: u64,
    pub(super) calls: u64,
    pub(super) failed_calls: u64,
    pub(super) denied_calls: u64,
    pub(super) hooks: u64,
    pub(super) notices: u64,
    pub(super) repairs: u64,
    /// Of all requests, also those beside the conversation.
    pub(super) tokens: Tokens,
    /// As far as prices are known; absent if none is.
    pub(super) cost_usd: Option<f64>,
    pub(super) unpriced_requests: u64,
    pub(super) model_ms: f64,
    pub(super) tool_ms: f64,
    pub(super) wall_ms: f64,
    pub(super) models: Vec<ModelTotal>,
    pub(super) tools: Vec<ToolTotal>,
}

/// Tokens of a request, or of many.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    /// Neither read from nor written to the cache.
    pub(super) input: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
}

/// Sums over one model.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelTotal {
    pub(super) model: String,
    pub(super) requests: u64,
    pub(super) tokens: Tokens,
    pub(super) cost_usd: Option<f64>,
    pub(super) unpriced_requests: u64,
}

/// Sums over one tool.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolTotal {
    pub(super) tool: String,
    pub(super) calls: u64,
    pub(super) failed: u64,
    pub(super) ms: f64,
}

/// What the next request would be made of, in bytes.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NextRequest {
    pub(super) system_bytes: u64,
    pub(super) tools_bytes: u64,
    pub(super) user_context_bytes: u64,
    /// The messages behind it, with what Tiller added to them.
    pub(super) conversation_bytes: u64,
    pub(super) added_bytes: u64,
    pub(super) sent_bytes: u64,
    pub(super) steering_bytes: u64,
    pub(super) steering_share: f64,
}

/// What Tiller added to the conversation.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Steering {
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    pub(super) forged_tags: u64,
    pub(super) masked: Vec<MaskTotal>,
    pub(super) kinds: Vec<Kind>,
    pub(super) additions: Vec<Addition>,
}

/// Sums over one kind of additions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kind {
    pub(super) kind: String,
    pub(super) count: u64,
    pub(super) repeated: u64,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
}

/// Where something stands.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mark {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    /// Absent behind the last turn.
    pub(super) turn: Option<u32>,
    /// Absent before the first step of its turn.
    pub(super) step: Option<u32>,
}

/// One thing that Tiller added. Its step is the first whose request carries it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Addition {
    #[serde(flatten)]
    pub(super) mark: Mark,
    pub(super) kind: String,
    pub(super) source: Source,
    pub(super) why: String,
    pub(super) text: String,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    pub(super) forged_tags: u64,
    /// The position of the first with the same kind and text.
    pub(super) repeats: Option<u64>,
    /// The answer it belonged to became void, so it was not sent.
    pub(super) void: bool,
}

/// From the user's input until the agent was idle again.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Turn {
    pub(super) number: u32,
    pub(super) seq: u64,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) duration_ms: Option<f64>,
    pub(super) origin: Option<Origin>,
    pub(super) prompt: Option<Excerpt>,
    /// Absent while the turn is going on.
    pub(super) outcome: Option<Outcome>,
    pub(super) steps: Vec<Step>,
}

/// One model request and its calls. A step whose answer became void has a further attempt.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) number: u32,
    pub(super) attempt: u32,
    pub(super) seq: u64,
    pub(super) started_at: Timestamp,
    /// When the answer was complete.
    pub(super) answered_at: Option<Timestamp>,
    /// When the last call had its result.
    pub(super) settled_at: Timestamp,
    /// From request to complete answer, as the log has it.
    pub(super) duration_ms: Option<f64>,
    pub(super) model: String,
    pub(super) message_id: String,
    pub(super) request_id: Option<String>,
    pub(super) tokens: Tokens,
    pub(super) cost_usd: Option<f64>,
    pub(super) stop_reason: Option<String>,
    /// Why its answer was never sent again.
    pub(super) void: Option<Cause>,
    pub(super) failure: Option<Failure>,
    /// Cut off by the user.
    pub(super) aborted: bool,
    /// Why the provider's cache was missed.
    pub(super) cache_miss: Option<String>,
    pub(super) sent_bytes: u64,
    pub(super) steering_bytes: u64,
    pub(super) steering_share: f64,
    pub(super) thinking: Option<Excerpt>,
    pub(super) text: Option<Excerpt>,
    pub(super) calls: Vec<Call>,
}

/// A request that failed for good.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    pub(super) kind: String,
    pub(super) text: String,
}

/// One use of a tool.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) seq: u64,
    /// The part of the input that says most.
    pub(super) about: String,
    pub(super) input: Excerpt,
    /// When the model had written it.
    pub(super) asked_at: Timestamp,
    /// When it was allowed to run.
    pub(super) started_at: Option<Timestamp>,
    /// When its result was in.
    pub(super) ended_at: Option<Timestamp>,
    pub(super) duration_ms: Option<f64>,
    /// Calls with the same number ran side by side.
    pub(super) group: u32,
    pub(super) beside: Vec<String>,
    /// The last decision about it.
    pub(super) permission: Option<String>,
    pub(super) result: Option<Excerpt>,
    pub(super) error: bool,
    pub(super) cause: Option<Cause>,
    #[serde(skip)]
    pub(super) span: (Option<u64>, u64),
}

/// A permission decision.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Decision {
    #[serde(flatten)]
    pub(super) mark: Mark,
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) behavior: String,
    /// What decided: `mode`, `rule`, `workingDir`, `hook` or `other`.
    pub(super) by: String,
    pub(super) rule: Option<String>,
    pub(super) source: Option<String>,
    pub(super) file: Option<String>,
    pub(super) message: String,
}

/// A hook that ran.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hook {
    #[serde(flatten)]
    pub(super) mark: Mark,
    pub(super) event: String,
    pub(super) name: String,
    pub(super) source: String,
    pub(super) call: Option<String>,
    pub(super) end: HookEnd,
    pub(super) exit_code: Option<i32>,
    pub(super) duration_ms: u64,
    pub(super) stdout: Excerpt,
    pub(super) stderr: Excerpt,
}

/// Anything else that happened.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    #[serde(flatten)]
    pub(super) mark: Mark,
    #[serde(rename = "type")]
    pub(super) kind: EventKind,
    /// What a notice is about.
    pub(super) subtype: Option<String>,
    pub(super) level: Level,
    pub(super) text: String,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EventKind {
    Opened,
    Epoch,
    Mode,
    Model,
    Permissions,
    Directory,
    Todos,
    Plan,
    Skill,
    Notice,
    Repaired,
    Orphaned,
    Compacted,
    Cleared,
    Rewound,
    Queued,
    Dequeued,
    Unknown,
}

/// A model request beside the conversation, made for a tool or a hook.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SideRequest {
    #[serde(flatten)]
    pub(super) mark: Mark,
    pub(super) model: String,
    pub(super) request_id: Option<String>,
    pub(super) tokens: Tokens,
    pub(super) cost_usd: Option<f64>,
    pub(super) duration_ms: u64,
}

/// The fixed head of requests.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EpochFacts {
    #[serde(flatten)]
    pub(super) mark: Mark,
    pub(super) reason: String,
    pub(super) system_bytes: u64,
    pub(super) sections: Vec<Part>,
    pub(super) tools_bytes: u64,
    pub(super) tools: Vec<Part>,
    pub(super) user_context_bytes: u64,
}

/// A named part of the head.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) bytes: u64,
}
