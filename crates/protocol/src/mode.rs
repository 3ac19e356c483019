//! Permission modes.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How freely the agent may act without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Ask for everything that no rule covers and that is not known to be harmless.
    #[default]
    Default,
    /// File edits inside the working directories are allowed.
    AcceptEdits,
    /// Ask nothing; what is denied stays denied.
    BypassPermissions,
    /// Never ask: what would be asked is denied.
    DontAsk,
    /// Read and think; change nothing.
    Plan,
}

impl Mode {
    /// The modes a flag or setting may name.
    pub const ALL: [Self; 5] =
        [Self::Default, Self::AcceptEdits, Self::BypassPermissions, Self::DontAsk, Self::Plan];

    /// The mode's name in flags, settings and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::BypassPermissions => "bypassPermissions",
            Self::DontAsk => "dontAsk",
            Self::Plan => "plan",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A mode name that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("unknown permission mode \"{0}\"; use one of default, acceptEdits, bypassPermissions, dontAsk, plan")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}
