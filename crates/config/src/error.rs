//! What can be wrong with settings.

use std::fmt;
use std::path::PathBuf;

use crate::origin::{Origin, Place};

/// Settings that cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read or written.
    #[error("the settings are not accessible: {0}")]
    Io(#[from] std::io::Error),
    /// The file is not JSON with comments.
    #[error("{0}; correct the file or move it away")]
    Syntax(Problem),
    /// What an option gives is not JSON with comments.
    #[error("{option}: {}{}; give a file, or a JSON object in quotation marks", .problem.place.map(|place| format!("{place}: ")).unwrap_or_default(), .problem.text)]
    Given {
        /// The option.
        option: &'static str,
        /// What is wrong.
        problem: Problem,
    },
    /// A value that restricts is not understood: going on without it would allow more than was meant.
    #[error("{0}; this restricts what is allowed, so it is not ignored: correct it")]
    Restriction(Problem),
    /// `--settings` names a file that does not exist.
    #[error("--settings: {} does not exist; give a file, or an object such as {{\"model\":\"opus\"}}", .0.display())]
    NoSuchFile(PathBuf),
    /// `--mcp-config` names a file that does not exist.
    #[error("--mcp-config: {} does not exist; give a file, or an object with mcpServers", .0.display())]
    NoSuchMcpFile(PathBuf),
    /// `--setting-sources` names something else.
    #[error("\"{0}\" is not one of user, project, local")]
    UnknownSource(String),
    /// There is no such setting.
    #[error("there is no setting {key}{}", did_you_mean(.suggestion.as_deref()))]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// The closest setting there is.
        suggestion: Option<String>,
    },
    /// The value does not fit the setting.
    #[error("{key}: {problem}; `tiller config schema` lists valid values")]
    UnfitValue {
        /// The setting.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// What was to be added is no plugin.
    #[error("not a valid plugin: {0}")]
    NoPlugin(String),
    /// There is a plugin of that name.
    #[error("a plugin named {0} is already installed; use `--replace` to replace it")]
    PluginExists(String),
    /// A link in a plugin cannot be copied.
    #[error("{} is a link to a folder or out of the plugin; replace it with its target", .0.display())]
    PluginLeadsOut(PathBuf),
    /// A plugin would fill the disk.
    #[error("{} has more than 10,000 files or 100 MiB, which is too large for a plugin", .0.display())]
    PluginTooLarge(PathBuf),
    /// A list was to be changed, but the file has something else in that place.
    #[error("{}: {key} has an unexpected value; correct the file first", .file.display())]
    Occupied {
        /// The file.
        file: PathBuf,
        /// The setting.
        key: String,
    },
}

/// Something that is wrong, and where. As a warning: what it concerns was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or layer.
    pub origin: Origin,
    /// Where in it.
    pub place: Option<Place>,
    /// The setting, if it is about one.
    pub key: String,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(place) = self.place {
            write!(f, ": {place}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.text)
    }
}

impl SettingsError {
    /// The same, of the text that an option gives.
    pub(crate) fn in_option(self, option: &'static str) -> Self {
        match self {
            Self::Syntax(problem) => Self::Given { option, problem },
            other => other,
        }
    }
}

pub(crate) fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|suggestion| format!("; did you mean {suggestion}?")).unwrap_or_default()
}
