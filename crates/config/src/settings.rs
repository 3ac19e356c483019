//! Settings files. Later layers win: user, project, local.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What the settings files say. Absent means not said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// The model, as an alias or an id.
    pub model: Option<String>,
    /// The model to switch to when the chosen one is overloaded.
    pub fallback_model: Option<String>,
    /// Whether calls start while the model is still writing.
    pub streaming_tool_execution: Option<bool>,
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("the settings could not be read: {0}")]
    Io(#[from] std::io::Error),
    /// It is not valid.
    #[error("{}: {source}; correct the file or move it away", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
}

impl Settings {
    /// Reads the user's and the project's settings.
    ///
    /// # Errors
    /// When a file exists and cannot be read or understood.
    pub fn load(config_dir: &Path, project: &Path) -> Result<Self, SettingsError> {
        let files = [
            config_dir.join("settings.json"),
            project.join(".tiller/settings.json"),
            project.join(".tiller/settings.local.json"),
        ];
        files.iter().try_fold(Self::default(), |below, file| Ok(Self::read(file)?.over(below)))
    }

    fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = match fs_err::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        };
        serde_json::from_str(&text).map_err(|source| SettingsError::Json { path: path.to_owned(), source })
    }

    fn over(self, below: Self) -> Self {
        Self {
            model: self.model.or(below.model),
            fallback_model: self.fallback_model.or(below.fallback_model),
            streaming_tool_execution: self.streaming_tool_execution.or(below.streaming_tool_execution),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_layers_win() {
        let home = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        fs_err::write(
            home.path().join("settings.json"),
            r#"{"model":"opus","fallbackModel":"haiku","other":1}"#,
        )
        .unwrap();
        fs_err::create_dir_all(project.path().join(".tiller")).unwrap();
        let local = project.path().join(".tiller/settings.local.json");
        fs_err::write(&local, r#"{"model":"sonnet","streamingToolExecution":false}"#).unwrap();
        let settings = Settings::load(home.path(), project.path()).unwrap();
        assert_eq!(settings.model.as_deref(), Some("sonnet"));
        assert_eq!(settings.fallback_model.as_deref(), Some("haiku"));
        assert_eq!(settings.streaming_tool_execution, Some(false));
    }

    #[test]
    fn a_broken_file_is_named_with_the_place() {
        let home = tempfile::tempdir().unwrap();
        fs_err::write(home.path().join("settings.json"), "{\n  \"model\": 3\n}").unwrap();
        let error = Settings::load(home.path(), home.path()).unwrap_err().to_string();
        assert!(error.contains("settings.json") && error.contains("line 2"), "{error}");
    }
}
