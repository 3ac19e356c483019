//! Hooks: what runs at certain moments.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{Error as _, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

/// A moment at which hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum HookEvent {
    /// Before a call is judged.
    PreToolUse,
    /// After a call that succeeded.
    PostToolUse,
    /// After a call that failed.
    PostToolUseFailure,
    /// Before a prompt is processed.
    UserPromptSubmit,
    /// At the start of a session, and after it was resumed, cleared or compacted.
    SessionStart,
    /// At the end of a session.
    SessionEnd,
    /// When a sub-agent is started.
    SubagentStart,
    /// When a sub-agent wants to end.
    SubagentStop,
    /// When the agent wants to end.
    Stop,
    /// Before the conversation is compacted.
    PreCompact,
    /// When the user is told something.
    Notification,
    /// When the user would be asked for permission.
    PermissionRequest,
}

impl HookEvent {
    /// All events.
    pub const ALL: [Self; 12] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::UserPromptSubmit,
        Self::SessionStart,
        Self::SessionEnd,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::Stop,
        Self::PreCompact,
        Self::Notification,
        Self::PermissionRequest,
    ];

    /// The event's name, as settings have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::Stop => "Stop",
            Self::PreCompact => "PreCompact",
            Self::Notification => "Notification",
            Self::PermissionRequest => "PermissionRequest",
        }
    }
}

/// Reads names before they become events, so that what is wrong inside an event can be told by its name.
pub(super) fn by_event<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<HookEvent, Vec<HookGroup>>, D::Error> {
    let named = BTreeMap::<String, Vec<HookGroup>>::deserialize(from)?;
    let groups = named.into_iter().map(|(name, groups)| {
        let name: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
        HookEvent::deserialize(name).map(|event| (event, groups)).map_err(D::Error::custom)
    });
    groups.collect()
}

/// Hooks for those cases of an event that match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct HookGroup {
    /// A name, names separated by `|`, or a regular expression; empty or `*` matches everything.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub matcher: String,
    /// What runs.
    pub hooks: Vec<Hook>,
}

/// One hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Hook {
    /// A command that gets the event as JSON on standard input.
    Command {
        /// The command line.
        command: String,
        /// The longest time it may take, in seconds.
        #[serde(default, deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        timeout: Option<u64>,
        /// Whether nobody waits for it.
        #[serde(default, rename = "async", skip_serializing_if = "std::ops::Not::not")]
        detached: bool,
        /// What it means when the command itself fails.
        #[serde(default, rename = "onFailure")]
        on_failure: OnFailure,
    },
    /// A question to a small model that gets the event.
    Prompt {
        /// The question.
        prompt: String,
        /// The longest time it may take, in seconds.
        #[serde(default, deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        timeout: Option<u64>,
        /// What it means when there is no answer.
        #[serde(default, rename = "onFailure")]
        on_failure: OnFailure,
    },
}

/// Reads a time limit. With none at all a hook would be ended before it can say anything.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match Option::<u64>::deserialize(from)? {
        Some(0) => Err(D::Error::custom("timeout is 0, but a hook needs at least 1 second")),
        limit => Ok(limit),
    }
}

/// What it means when a hook itself fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnFailure {
    /// The user is told; the work goes on.
    #[default]
    Ignore,
    /// As if the hook had said no.
    Block,
}
