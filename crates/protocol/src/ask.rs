//! The one way to wait for a human.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook::HookAsk;
use crate::id::{AgentId, CallId};

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
