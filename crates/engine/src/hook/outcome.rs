//! What hooks say, put together.

use std::time::Duration;

use serde_json::Value;
use tiller_config::HookEvent;
use tiller_protocol::entry::{Attachment, Level};
use tiller_protocol::id::{CallId, EntryId};
use tiller_protocol::permission::Update;

/// What all hooks of one occasion say together.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// One final record for each hook, in configuration order.
    pub(crate) runs: Vec<HookRun>,
    /// `PreToolUse`: the strictest decision.
    pub(crate) decision: Option<PreDecision>,
    /// `PreToolUse`: the last input that a hook put in place of the call's.
    pub(crate) updated_input: Option<Value>,
    /// The hook that did so.
    pub(crate) updated_by: Option<String>,
    /// `PostToolUse` of an MCP tool: the last output that a hook put in place of the tool's.
    pub(crate) updated_output: Option<Value>,
    /// `UserPromptSubmit`: the last text that a hook put in place of the prompt.
    pub(crate) updated_prompt: Option<String>,
    /// The texts of all hooks that block: the prompt is discarded, the agent goes on, or the model gets feedback.
    pub(crate) blocked: Option<String>,
    /// Why the turn shall end. Goes before `blocked`.
    pub(crate) stopped: Option<String>,
    /// `PermissionRequest`: the answer in place of the user's. A denial goes before an allowance.
    pub(crate) answer: Option<PermissionAnswer>,
    /// What the model is told, at the place of the occasion.
    pub(crate) attachments: Vec<Attachment>,
    /// What the user is told.
    pub(crate) notices: Vec<(Level, String)>,
    /// `PreCompact`: additions to the instructions for the summary.
    pub(crate) instructions: Vec<String>,
}

/// A decision before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreDecision {
    /// What was decided.
    pub(crate) verdict: Verdict,
    /// Why, as all hooks that decided so say it.
    pub(crate) reason: String,
    /// The first of them.
    pub(crate) hook_name: String,
}

/// What a hook says of a call. Later ones go before earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// No question is needed.
    Allow,
    /// The user shall be asked.
    Ask,
    /// The call must not run.
    Deny,
}

/// An answer in place of the user's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PermissionAnswer {
    /// Go ahead.
    Allow {
        /// Replaces the call's input.
        updated_input: Option<Value>,
        /// Changes to what is permitted.
        updated_permissions: Vec<Update>,
    },
    /// No.
    Deny {
        /// Told to the model.
        message: String,
        /// Whether the turn ends.
        interrupt: bool,
    },
}

/// The final record of one hook.
#[derive(Clone, Debug)]
pub(crate) struct HookRun {
    /// Its own id; its start is told under it.
    pub(crate) id: EntryId,
    /// When it ran.
    pub(crate) event: HookEvent,
    /// The command, the question or the host's name for it.
    pub(crate) hook_name: String,
    /// The settings file it stands in, or who else has registered it.
    pub(crate) source: String,
    /// How it went.
    pub(crate) conclusion: Conclusion,
    /// The command's exit code.
    pub(crate) exit_code: Option<i32>,
    /// How long it took.
    pub(crate) duration: Duration,
    /// What it printed, bounded.
    pub(crate) stdout: String,
    /// What it complained of, bounded.
    pub(crate) stderr: String,
    /// The hook asked not to show what it printed.
    pub(crate) suppressed: bool,
}

/// How a hook went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Conclusion {
    /// It did its work.
    Success,
    /// It blocked, as it is meant to.
    Blocked,
    /// It could not do its work, and why.
    Failed(String),
    /// It took too long and was ended.
    TimedOut,
    /// It was called off.
    Cancelled,
    /// It goes on by itself; its final record comes with its response.
    RunsOn,
    /// It goes on at the host, and nobody will hear of its end.
    HandedOver,
}

/// What an asynchronous hook left behind. It can neither block nor decide.
#[derive(Debug)]
pub(crate) struct AsyncResponse {
    /// Its final record.
    pub(crate) run: HookRun,
    /// The call it belonged to.
    pub(crate) call: Option<CallId>,
    /// What the model is told, if the hook had something to say.
    pub(crate) attachment: Option<Attachment>,
    /// What the user is told, if the hook failed.
    pub(crate) notice: Option<(Level, String)>,
}
