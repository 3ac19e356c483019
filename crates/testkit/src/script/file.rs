//! Scripts kept in files.

use serde::{Deserialize, Serialize};

use super::{Matcher, Reply};

/// The content of a script file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptFile {
    /// The default conversation.
    pub replies: Vec<Reply>,
    /// Further conversations.
    pub conversations: Vec<ScriptedConversation>,
    /// Start the default conversation over when it is played to the end.
    pub cycle: bool,
}

/// A conversation in a script file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedConversation {
    /// Which requests belong to it.
    #[serde(rename = "match")]
    pub matcher: Matcher,
    /// What they are answered.
    pub replies: Vec<Reply>,
}
