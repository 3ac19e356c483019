//! The moments at which hooks run, and what is told of each.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use tiller_protocol::compaction::Trigger;
use tiller_protocol::id::{AgentId, CallId};
use tiller_protocol::mode::Mode;

/// What is the same for all hooks of a moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// The directory that commands work in.
    pub(crate) cwd: PathBuf,
    /// The permission mode.
    pub(crate) mode: Mode,
    /// The sub-agent in which it happens; absent for the main agent.
    pub(crate) agent: Option<Agent>,
}

/// A sub-agent.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    /// Its id.
    pub(crate) id: AgentId,
    /// Its type.
    pub(crate) kind: String,
    /// What it does, in a few words.
    pub(crate) description: String,
}

/// Something that happens, with what hooks are told about it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Occasion<'a> {
    /// A call is about to be judged.
    PreToolUse { tool: &'a str, input: &'a Value, call: &'a CallId },
    /// A call has succeeded.
    PostToolUse { tool: &'a str, input: &'a Value, call: &'a CallId, response: &'a Value, is_mcp: bool },
    /// A call has failed.
    PostToolUseFailure {
        tool: &'a str,
        input: &'a Value,
        call: &'a CallId,
        error: &'a str,
        is_interrupt: bool,
    },
    /// The user has sent a prompt.
    UserPromptSubmit { prompt: &'a str },
    /// A session begins, or begins anew.
    SessionStart { source: StartSource, model: &'a str },
    /// A session ends.
    SessionEnd { reason: Ending },
    /// A sub-agent is started.
    SubagentStart { agent: &'a Agent },
    /// A sub-agent wants to end.
    SubagentStop { agent: &'a Agent, transcript: &'a Path, stop_hook_active: bool },
    /// The agent wants to end.
    Stop { stop_hook_active: bool },
    /// The conversation is about to be compacted.
    PreCompact { trigger: Trigger, custom_instructions: &'a str },
    /// The user is told something.
    Notification { message: &'a str, kind: &'a str },
    /// The user would be asked.
    PermissionRequest { tool: &'a str, input: &'a Value, suggestions: &'a Value },
}

/// Why a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StartSource {
    /// It is new.
    Startup,
    /// It existed.
    Resume,
    /// It was cleared.
    Clear,
    /// It was compacted.
    Compact,
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// It was cleared.
    Clear,
    /// The user left.
    PromptInputExit,
    /// Anything else.
    Other,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sources_reasons_and_triggers_have_fixed_names() {
        let sources = [StartSource::Startup, StartSource::Resume, StartSource::Clear, StartSource::Compact];
        assert_eq!(json!(sources), json!(["startup", "resume", "clear", "compact"]));
        let reasons = [Ending::Clear, Ending::PromptInputExit, Ending::Other];
        assert_eq!(json!(reasons), json!(["clear", "prompt_input_exit", "other"]));
        assert_eq!(json!([Trigger::Manual, Trigger::Auto]), json!(["manual", "auto"]));
    }
}
