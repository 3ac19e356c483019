//! The log's line format. Agent SDKs read these files directly, so conversation entries carry the field names
//! they expect (`type`, `uuid`, `parentUuid`, `sessionId`, `timestamp`, `message`, `isMeta` …); everything else has a
//! `type` of its own, which such readers skip.

mod bare;

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::block::RawBlock;
use crate::compaction::Compacted;
use crate::effect::Effect;
use crate::entry::{Added, AssistantBlock, Body, CallResult, Cause, Entry, Level, Origin, UserMessage};
use crate::id::{AgentId, CallId, EntryId, MessageId, SessionId};

pub use bare::read_bare;

/// Fields every line of a session repeats.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// The session.
    pub session: SessionId,
    /// The working directory.
    pub cwd: &'a Path,
    /// Tiller's version.
    pub version: &'a str,
    /// The checked-out branch, if any.
    pub git_branch: Option<&'a str>,
    /// The name of the session's plan files, once it has planned.
    pub slug: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LineOut<'a, B> {
    #[serde(rename = "type")]
    kind: &'static str,
    uuid: EntryId,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_uuid: Option<Option<EntryId>>,
    session_id: SessionId,
    timestamp: Timestamp,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a AgentId>,
    #[serde(flatten)]
    message_fields: Option<MessageFields<'a>>,
    #[serde(flatten)]
    body: B,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageFields<'a> {
    is_sidechain: bool,
    user_type: &'static str,
    cwd: &'a Path,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_branch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slug: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    uuid: EntryId,
    #[serde(default)]
    parent_uuid: Option<EntryId>,
    timestamp: Timestamp,
    seq: u64,
    #[serde(default)]
    agent_id: Option<AgentId>,
}

#[derive(Serialize, Deserialize)]
struct Role<B> {
    role: String,
    content: B,
}

#[derive(Serialize, Deserialize)]
struct UserFields {
    message: Role<Vec<RawBlock>>,
    origin: Origin,
    #[serde(rename = "isMeta", default, skip_serializing_if = "std::ops::Not::not")]
    is_meta: bool,
    #[serde(rename = "isCompactSummary", default, skip_serializing_if = "std::ops::Not::not")]
    is_summary: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added: Option<Added>,
}

/// The word by which readers know where a conversation was folded.
const BOUNDARY: &str = "compact_boundary";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BoundaryFields<C> {
    subtype: String,
    level: Level,
    content: String,
    compact_metadata: C,
}

#[derive(Deserialize)]
struct Subtype {
    subtype: String,
}

#[derive(Serialize, Deserialize)]
struct ResultFields {
    message: Role<[RawBlock; 1]>,
    #[serde(rename = "toolUseResult", default)]
    detail: Value,
    call: CallId,
    tool: String,
    cause: Cause,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    effects: Vec<Effect>,
}

#[derive(Serialize, Deserialize)]
struct AssistantMessage {
    id: MessageId,
    #[serde(rename = "type", default)]
    kind: String,
    role: String,
    model: String,
    content: [RawBlock; 1],
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssistantFields {
    message: AssistantMessage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    invalid_input: Option<String>,
    #[serde(rename = "isApiErrorMessage", default, skip_serializing_if = "std::ops::Not::not")]
    is_api_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    aborted: bool,
}

#[derive(Deserialize)]
struct ResultContent {
    #[serde(default)]
    content: Value,
    #[serde(default)]
    is_error: bool,
}

/// A line that is not an entry.
#[derive(Debug, thiserror::Error)]
#[error("not a session entry: {0}")]
pub struct LineError(#[from] serde_json::Error);

/// Writes an entry as one line of JSON, without the final newline.
///
/// # Errors
/// When a value cannot be represented as JSON.
pub fn write(entry: &Entry, envelope: &Envelope<'_>) -> Result<String, LineError> {
    let text = match &entry.body {
        Body::User(message) => line("user", entry, envelope, user_fields(message)),
        Body::Result(result) => line("user", entry, envelope, result_fields(result)),
        Body::Assistant(block) => line("assistant", entry, envelope, assistant_fields(block)),
        Body::Attachment(body) => line("attachment", entry, envelope, body),
        Body::Notice(body) => line("system", entry, envelope, body),
        Body::Compacted(body) => line("system", entry, envelope, boundary_fields(body)),
        Body::Cleared(body) => line("cleared", entry, envelope, body),
        Body::Opened(body) => line("session", entry, envelope, body),
        Body::Response(body) => line("response", entry, envelope, body),
        Body::Effect(body) => line("effect", entry, envelope, body),
        Body::Epoch(body) => line("epoch", entry, envelope, body),
        Body::Orphaned(body) => line("orphaned", entry, envelope, body),
        Body::Queued(body) => line("queued", entry, envelope, body),
        Body::Dequeued(body) => line("dequeued", entry, envelope, body),
        Body::Decision(body) => line("decision", entry, envelope, body),
        Body::Hook(body) => line("hook", entry, envelope, body),
        Body::Repaired(body) => line("repaired", entry, envelope, body),
        Body::Rewound(body) => line("rewound", entry, envelope, body),
        Body::TurnEnded(body) => line("turn_ended", entry, envelope, body),
        Body::Unknown(value) => serde_json::to_string(value),
    }?;
    Ok(text)
}

/// Reads one line back. Kinds this version does not know become [`Body::Unknown`].
///
/// # Errors
/// When the text is not JSON or lacks the fields every entry has.
pub fn read(text: &str) -> Result<Entry, LineError> {
    let head: Head = serde_json::from_str(text)?;
    // A kind we know with content we do not comes from a newer version too.
    let body = match read_body(&head.kind, text) {
        Ok(body) => body,
        Err(_) => Body::Unknown(serde_json::from_str(text)?),
    };
    Ok(Entry {
        seq: head.seq,
        id: head.uuid,
        parent: head.parent_uuid,
        at: head.timestamp,
        agent: head.agent_id,
        body,
    })
}

/// The name of the session's plan files, if a line carries it. The effect that gives a name is no such line: a fork
/// has that of the session it comes from.
#[must_use]
pub fn slug(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Slug {
        #[serde(rename = "type")]
        kind: String,
        slug: Option<String>,
    }
    let line: Slug = serde_json::from_str(text).ok()?;
    line.slug.filter(|_| line.kind != "effect")
}

fn read_body(kind: &str, text: &str) -> Result<Body, serde_json::Error> {
    Ok(match kind {
        "user" => read_user(text)?,
        "assistant" => read_assistant(text)?,
        "attachment" => Body::Attachment(serde_json::from_str(text)?),
        "system" => read_system(text)?,
        "cleared" => Body::Cleared(serde_json::from_str(text)?),
        "session" => Body::Opened(serde_json::from_str(text)?),
        "response" => Body::Response(serde_json::from_str(text)?),
        "effect" => Body::Effect(serde_json::from_str(text)?),
        "epoch" => Body::Epoch(serde_json::from_str(text)?),
        "orphaned" => Body::Orphaned(serde_json::from_str(text)?),
        "queued" => Body::Queued(serde_json::from_str(text)?),
        "dequeued" => Body::Dequeued(serde_json::from_str(text)?),
        "decision" => Body::Decision(serde_json::from_str(text)?),
        "hook" => Body::Hook(serde_json::from_str(text)?),
        "repaired" => Body::Repaired(serde_json::from_str(text)?),
        "rewound" => Body::Rewound(serde_json::from_str(text)?),
        "turn_ended" => Body::TurnEnded(serde_json::from_str(text)?),
        _ => Body::Unknown(serde_json::from_str(text)?),
    })
}

fn line<B: Serialize>(
    kind: &'static str,
    entry: &Entry,
    envelope: &Envelope<'_>,
    body: B,
) -> Result<String, serde_json::Error> {
    let is_message = entry.body.is_message();
    let message_fields = is_message.then_some(MessageFields {
        is_sidechain: entry.agent.is_some(),
        user_type: "external",
        cwd: envelope.cwd,
        version: envelope.version,
        git_branch: envelope.git_branch,
        slug: envelope.slug,
    });
    serde_json::to_string(&LineOut {
        kind,
        uuid: entry.id,
        parent_uuid: is_message.then_some(entry.parent),
        session_id: envelope.session,
        timestamp: entry.at,
        seq: entry.seq,
        agent_id: entry.agent.as_ref(),
        message_fields,
        body,
    })
}

fn user_fields(message: &UserMessage) -> UserFields {
    UserFields {
        message: Role { role: "user".to_owned(), content: message.content.clone() },
        origin: message.origin,
        is_meta: message.is_hidden(),
        is_summary: message.origin == Origin::Summary,
        added: message.added.clone(),
    }
}

fn boundary_fields(compacted: &Compacted) -> BoundaryFields<&Compacted> {
    BoundaryFields {
        subtype: BOUNDARY.to_owned(),
        level: Level::Info,
        content: "The conversation was compacted.".to_owned(),
        compact_metadata: compacted,
    }
}

fn read_system(text: &str) -> Result<Body, serde_json::Error> {
    let Subtype { subtype } = serde_json::from_str(text)?;
    if subtype != BOUNDARY {
        return Ok(Body::Notice(serde_json::from_str(text)?));
    }
    let fields: BoundaryFields<Compacted> = serde_json::from_str(text)?;
    Ok(Body::Compacted(Box::new(fields.compact_metadata)))
}

fn result_fields(result: &CallResult) -> ResultFields {
    ResultFields {
        message: Role { role: "user".to_owned(), content: [result.to_block()] },
        detail: result.detail.clone(),
        call: result.call.clone(),
        tool: result.tool.clone(),
        cause: result.cause,
        effects: result.effects.clone(),
    }
}

fn assistant_fields(block: &AssistantBlock) -> AssistantFields {
    AssistantFields {
        message: AssistantMessage {
            id: block.message_id.clone(),
            kind: "message".to_owned(),
            role: "assistant".to_owned(),
            model: block.model.clone(),
            content: [block.block.clone()],
        },
        invalid_input: block.invalid_input.clone(),
        is_api_error: block.api_error.is_some(),
        error: block.api_error.clone(),
        aborted: block.aborted,
    }
}

fn read_user(text: &str) -> Result<Body, serde_json::Error> {
    if let Ok(fields) = serde_json::from_str::<ResultFields>(text) {
        return read_result(fields).map(Body::Result);
    }
    let fields: UserFields = serde_json::from_str(text)?;
    Ok(Body::User(UserMessage {
        content: fields.message.content,
        origin: fields.origin,
        added: fields.added,
    }))
}

fn read_result(fields: ResultFields) -> Result<CallResult, serde_json::Error> {
    let [block] = fields.message.content;
    let ResultContent { content, is_error } = serde_json::from_str(block.json())?;
    let content = match content {
        Value::Null => Vec::new(),
        Value::String(text) => vec![RawBlock::text(&text)],
        Value::Array(blocks) => blocks.iter().map(RawBlock::from_value).collect(),
        other => vec![RawBlock::text(&other.to_string())],
    };
    let ResultFields { detail, call, tool, cause, effects, .. } = fields;
    Ok(CallResult { call, tool, content, is_error, cause, detail, effects })
}

fn read_assistant(text: &str) -> Result<Body, serde_json::Error> {
    let fields: AssistantFields = serde_json::from_str(text)?;
    let [block] = fields.message.content;
    Ok(Body::Assistant(AssistantBlock {
        message_id: fields.message.id,
        model: fields.message.model,
        block,
        invalid_input: fields.invalid_input,
        api_error: fields.error.or_else(|| fields.is_api_error.then(|| "unknown".to_owned())),
        aborted: fields.aborted,
    }))
}
