//! Where a value comes from.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Who says something. Later ones win over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Layer {
    /// Nobody: it is built in.
    Default,
    /// The user, for all projects.
    User,
    /// The project, for everybody who works on it.
    Project,
    /// The user, for this project.
    Local,
    /// An environment variable.
    Environment,
    /// The command line.
    CommandLine,
    /// Whoever runs the machine.
    Managed,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Environment => "environment",
            Self::CommandLine => "command line",
            Self::Managed => "managed",
        })
    }
}

/// Where a value comes from: a layer, and the file if it was one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Who said it.
    pub layer: Layer,
    /// The file it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl Origin {
    pub(crate) fn layer(layer: Layer) -> Self {
        Self { layer, file: None }
    }

    pub(crate) fn file(layer: Layer, file: PathBuf) -> Self {
        Self { layer, file: Some(file) }
    }

    /// Whether it is a file that comes with the directory Tiller was started in.
    #[must_use]
    pub fn is_of_project(&self) -> bool {
        matches!(self.layer, Layer::Project | Layer::Local)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}", file.display()),
            None => write!(f, "{}", self.layer),
        }
    }
}

/// A value that knows where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// A place in a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
