//! What requests are made of, apart from the conversation itself: noted in the log, so that a session can be replayed.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the head of an epoch and the reminders in it depend on beside the log. Texts that come with Tiller are noted by
/// name only: a replay finds out whether they have changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ingredients {
    /// Whether the working directory was in a git repository.
    pub git_repository: bool,
    /// The kind of operating system.
    pub platform: String,
    /// Its version.
    pub os_version: String,
    /// The date.
    pub date: Date,
    /// The model.
    pub model: String,
    /// Whether somebody could answer questions.
    pub interactive: bool,
    /// The text in place of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace: Option<String>,
    /// The text at the end of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
    /// Who a sub-agent is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<Noted>,
    /// The agents that work could be delegated to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Noted>,
    /// The skills that the model could open: names, and what each is good for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<(String, String)>,
    /// What reminders were made of when the epoch began.
    #[serde(flatten)]
    pub shaping: Shaping,
    /// Whether calls started while the model was writing.
    pub streaming_tools: bool,
    /// The MCP servers, as the prompt names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerLine>,
}

/// What reminders depend on beside the log. Unlike the head of requests it may change while an epoch lasts: each change is
/// noted as an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Shaping {
    /// Kinds of attachments that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mute: Vec<String>,
    /// The output style.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<NotedStyle>,
    /// A text that is repeated with every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_reminder: Option<String>,
    /// Variables that shape what the model is told.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, String>,
}

/// An output style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedStyle {
    /// Its name.
    pub name: String,
    /// What it asks for; absent for one that comes with Tiller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidelines: Option<String>,
}

/// An MCP server, as the model is told of it when a conversation begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLine {
    /// Its name.
    pub name: String,
    /// What is to be known of it: how many tools it has, or why it cannot be used.
    pub note: String,
    /// How it wants to be used, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// An agent, as far as requests show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Noted {
    /// One that comes with Tiller, by its name.
    BuiltIn(String),
    /// One that the user has defined, as it was given.
    Defined(Value),
}

/// The messages of a request, recognisable without being kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// How many there were.
    pub messages: usize,
    /// A digest of all of them.
    pub digest: String,
    /// The number of the last entry before the request; absent in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
}
