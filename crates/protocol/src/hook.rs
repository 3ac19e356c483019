//! Hooks: what the log says about one that ran, and what a host is asked when one of its own is to run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;

/// One hook that ran, told once, when it was over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookRecord {
    /// The event it ran for.
    pub event: String,
    /// The hook: its command, its question, or the name of a host's callback.
    pub name: String,
    /// Who configured it: a settings file or the host.
    pub source: String,
    /// The call it ran for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// How it ended.
    pub end: HookEnd,
    /// The exit code, if it was a command that ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What it printed, bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What it complained about, bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// How a hook ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEnd {
    /// It had nothing against it.
    Success,
    /// It said no.
    Blocked,
    /// It could not be run, or failed itself: no decision.
    Failed,
    /// It took too long and was ended: no decision.
    TimedOut,
    /// The work it ran for was stopped.
    Cancelled,
    /// It goes on in the background; its answer comes later.
    Detached,
}

impl HookEnd {
    /// The word for it in logs and streams.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Detached => "detached",
        }
    }
}

/// Hooks that a host has registered, for those cases of an event that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostHooks {
    /// The event.
    pub event: String,
    /// A name, names separated by `|`, or a regular expression; empty matches everything.
    pub matcher: String,
    /// The names under which the host will run them.
    pub callbacks: Vec<String>,
    /// The longest time each may take, in seconds.
    pub timeout: Option<u64>,
    /// Whether a hook that fails has said no.
    pub failure_blocks: bool,
}

/// What a host is asked when one of its hooks is to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookAsk {
    /// The name under which the host registered it.
    pub callback: String,
    /// What hooks of the event are told.
    pub input: Value,
    /// The call it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}
