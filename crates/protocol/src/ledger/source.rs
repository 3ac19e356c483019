//! Who adds to a conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::Attachment;

/// Who made an addition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Source {
    /// A hook.
    Hook {
        /// The event it ran for.
        event: String,
        /// Its command or name.
        name: String,
    },
    /// The user, while the agent worked; Tiller put it into a reminder.
    User,
    /// The beginning of an epoch: instruction files, the state of the repository.
    Epoch,
    /// The loop itself.
    Loop,
    /// A command, a skill or a prompt of an MCP server that the user has called for.
    Command {
        /// Which.
        name: String,
    },
    /// Work in the background.
    Task,
    /// The folding of the conversation.
    Compaction,
    /// A generator of attachments.
    Generator {
        /// Which.
        name: String,
    },
}

impl Source {
    pub(super) fn of(attachment: &Attachment) -> Self {
        let field = |name: &str| attachment.attachment.get(name).and_then(Value::as_str);
        match (field("hookName"), attachment.kind()) {
            (Some(name), _) => {
                Self::Hook { event: field("hookEvent").unwrap_or_default().to_owned(), name: name.to_owned() }
            }
            (None, "queued_command") => Self::User,
            (None, kind) => {
                let name = if attachment.source.is_empty() { kind } else { &attachment.source };
                Self::Generator { name: name.to_owned() }
            }
        }
    }

    /// The word for it, without details.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hook { .. } => "hook",
            Self::User => "user",
            Self::Epoch => "epoch",
            Self::Loop => "loop",
            Self::Command { .. } => "command",
            Self::Task => "task",
            Self::Compaction => "compaction",
            Self::Generator { .. } => "generator",
        }
    }
}
