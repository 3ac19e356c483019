//! What the command line says about settings.

use std::str::FromStr;

use crate::definition::Settings;
use crate::error::SettingsError;

/// The layer of the command line, and which files count at all.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    /// What options say, in the words of settings. Wins over `settings`.
    pub flags: Settings,
    /// `--settings`: a file, or an object.
    pub settings: Option<String>,
    /// `--setting-sources`, `--no-project-settings`: which files count.
    pub sources: Sources,
}

/// Which files of user and project count. The managed file always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Those of the user.
    pub user: bool,
    /// Those of the project.
    pub project: bool,
    /// Those of the user for this project.
    pub local: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

impl Sources {
    /// Without the files that stand in the project.
    #[must_use]
    pub fn without_project(self) -> Self {
        Self { project: false, local: false, ..self }
    }
}

impl FromStr for Sources {
    type Err = SettingsError;

    /// Names separated by commas; none at all is possible.
    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let mut sources = Self { user: false, project: false, local: false };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                other => return Err(SettingsError::UnknownSource(other.to_owned())),
            }
        }
        Ok(sources)
    }
}

/// How far files that stand in the project are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectTrust {
    /// Everything counts: the user trusts the project, or has chosen the directory for a headless run.
    Full,
    /// What runs or loosens something does not count; deny and ask rules do.
    Restricted,
}
