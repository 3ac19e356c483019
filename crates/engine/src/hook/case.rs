//! An occasion as hooks see it: their input, and what their matchers are compared with.

use serde::Serialize;
use serde_json::{Map, Value, json};
use tiller_config::HookEvent;
use tiller_protocol::id::CallId;

use super::attachment::short;
use super::occasion::{Agent, Moment, Occasion};

/// Fields of a call's input that tell it from others of the same tool.
const TELLING: [&str; 7] = ["command", "file_path", "notebook_path", "pattern", "path", "url", "query"];

/// Something that happens, as JSON.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) event: HookEvent,
    pub(super) input: Map<String, Value>,
    pub(super) call: Option<CallId>,
    /// Whether the call was one of an MCP tool.
    pub(super) is_mcp: bool,
}

/// The fields that every hook gets.
#[derive(Serialize)]
struct Common<'a> {
    session_id: String,
    transcript_path: &'a str,
    cwd: &'a str,
    permission_mode: &'a str,
    hook_event_name: HookEvent,
    #[serde(flatten)]
    agent: Option<AgentFields<'a>>,
}

#[derive(Serialize)]
struct AgentFields<'a> {
    agent_id: &'a str,
    agent_type: &'a str,
}

impl<'a> From<&'a Agent> for AgentFields<'a> {
    fn from(agent: &'a Agent) -> Self {
        Self { agent_id: agent.id.as_str(), agent_type: &agent.kind }
    }
}

impl Case {
    pub(super) fn new(
        occasion: Occasion<'_>,
        moment: &Moment,
        (session, transcript): (String, &str),
    ) -> Self {
        let event = occasion.event();
        let common = Common {
            session_id: session,
            transcript_path: transcript,
            cwd: &moment.cwd.to_string_lossy(),
            permission_mode: moment.mode.name(),
            hook_event_name: event,
            agent: moment.agent.as_ref().map(Into::into),
        };
        let mut input = object(json!(common));
        input.extend(object(occasion.fields()));
        let is_mcp = matches!(occasion, Occasion::PostToolUse { is_mcp: true, .. });
        Self { event, input, call: occasion.call().cloned(), is_mcp }
    }

    /// The call it is about, as whoever made it knows it again: the tool, and what tells one call of it from another.
    pub(super) fn call_in_words(&self) -> Option<String> {
        self.call.as_ref()?;
        let (tool, input) = (self.input.get("tool_name")?.as_str()?, self.input.get("tool_input")?);
        let field = |name: &&str| input.get(*name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let mut fields = input.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
        Some(match TELLING.iter().find_map(field).or_else(|| fields.next()) {
            Some(argument) => format!("{tool} (`{}`)", short(argument)),
            None => tool.to_owned(),
        })
    }

    /// What matchers are compared with.
    pub(super) fn subject(&self) -> Option<&str> {
        self.input.get(subject_field(self.event)?)?.as_str()
    }

    /// The input.
    pub(super) fn value(&self) -> Value {
        Value::Object(self.input.clone())
    }
}

/// The field of the input that matchers are compared with.
pub(super) fn subject_field(event: HookEvent) -> Option<&'static str> {
    match event {
        HookEvent::PreToolUse
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure
        | HookEvent::PermissionRequest => Some("tool_name"),
        HookEvent::SessionStart => Some("source"),
        HookEvent::SessionEnd => Some("reason"),
        HookEvent::SubagentStart | HookEvent::SubagentStop => Some("agent_type"),
        HookEvent::PreCompact => Some("trigger"),
        HookEvent::Notification => Some("notification_type"),
        HookEvent::UserPromptSubmit | HookEvent::Stop => None,
    }
}

impl Occasion<'_> {
    pub(super) fn event(&self) -> HookEvent {
        match self {
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::SubagentStart { .. } => HookEvent::SubagentStart,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::Stop { .. } => HookEvent::Stop,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::Notification { .. } => HookEvent::Notification,
            Self::PermissionRequest { .. } => HookEvent::PermissionRequest,
        }
    }

    fn call(&self) -> Option<&CallId> {
        match self {
            Self::PreToolUse { call, .. }
            | Self::PostToolUse { call, .. }
            | Self::PostToolUseFailure { call, .. } => Some(call),
            _ => None,
        }
    }

    /// The fields that only this event has.
    fn fields(&self) -> Value {
        match *self {
            Self::PreToolUse { tool, input, call } => {
                json!({"tool_name": tool, "tool_input": input, "tool_use_id": call})
            }
            Self::PostToolUse { tool, input, call, response, .. } => {
                json!({"tool_name": tool, "tool_input": input, "tool_use_id": call, "tool_response": response})
            }
            Self::PostToolUseFailure { tool, input, call, error, is_interrupt } => json!({
                "tool_name": tool, "tool_input": input, "tool_use_id": call,
                "error": error, "is_interrupt": is_interrupt,
            }),
            Self::UserPromptSubmit { prompt } => json!({"prompt": prompt}),
            Self::SessionStart { source, model } => json!({"source": source, "model": model}),
            Self::SessionEnd { reason } => json!({"reason": reason}),
            Self::SubagentStart { agent } => json!(AgentFields::from(agent)),
            Self::SubagentStop { agent, transcript, stop_hook_active } => json!({
                "agent_id": agent.id, "agent_type": agent.kind,
                "agent_transcript_path": transcript.to_string_lossy(), "stop_hook_active": stop_hook_active,
            }),
            Self::Stop { stop_hook_active } => json!({"stop_hook_active": stop_hook_active}),
            Self::PreCompact { trigger, custom_instructions } => {
                json!({"trigger": trigger, "custom_instructions": custom_instructions})
            }
            Self::Notification { message, kind } => json!({"message": message, "notification_type": kind}),
            Self::PermissionRequest { tool, input, suggestions } => {
                json!({"tool_name": tool, "tool_input": input, "permission_suggestions": suggestions})
            }
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
