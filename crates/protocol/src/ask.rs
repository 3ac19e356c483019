//! The one way to wait for a human.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook::HookAsk;
use crate::id::{AgentId, CallId};
use crate::permission::Update;

/// A question that only the user can answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// May this call run?
    Permission(PermissionAsk),
    /// A hook of the host is to run; the host's program answers, not a person.
    Hook(HookAsk),
}

/// What the user needs to know to allow or refuse a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionAsk {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The input it would run with.
    pub input: Value,
    /// Why it is asked.
    pub reason: String,
    /// The file or directory that is the reason, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_path: Option<PathBuf>,
    /// What "always allow" would change, all of it together. Empty if nothing general can be offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Update>,
    /// Earlier calls of this session that were no matter of course and would be with the suggestions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would_cover: Vec<String>,
    /// Whether it has run already, and shall run again without the confinement that refused it something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_sandbox: bool,
    /// The sub-agent that asks; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// What the user said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "snake_case")]
pub enum Answer {
    /// Go ahead, possibly with other input.
    Allow {
        /// Replaces the call's input.
        updated_input: Option<Value>,
        /// What shall be permitted from now on, in this order.
        updates: Vec<Update>,
    },
    /// No.
    Refuse {
        /// Told to the model.
        feedback: Option<String>,
        /// Whether the turn goes on.
        then: Then,
    },
    /// What a hook of the host says.
    Hook {
        /// Its answer, or why there is none.
        answer: Result<Value, String>,
    },
}

/// What follows a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The model goes on with what it was told.
    GoOn,
    /// The turn ends.
    EndTurn,
}
