//! Changes of permissions that are to last: rules, directories and the mode of new sessions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tiller_protocol::mode::Mode;

use crate::decode::fit;
use crate::definition::Behavior;
use crate::dirs::{Places, Target};
use crate::error::SettingsError;
use crate::key::keys;
use crate::row::unknown;
use crate::write::{Editor, update};

/// One change of permissions, as dialogs, hooks and hosts say it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PermissionUpdate {
    /// The mode is now this; in a file: the mode of new sessions.
    SetMode {
        /// The mode.
        mode: Mode,
        /// Where it counts.
        destination: Destination,
    },
    /// Further rules.
    AddRules {
        /// The rules.
        rules: Vec<RuleText>,
        /// What they do.
        behavior: Behavior,
        /// Where they count.
        destination: Destination,
    },
    /// These rules instead of those there are.
    ReplaceRules {
        /// The rules.
        rules: Vec<RuleText>,
        /// What they do.
        behavior: Behavior,
        /// Where they count.
        destination: Destination,
    },
    /// These rules no longer.
    RemoveRules {
        /// The rules.
        rules: Vec<RuleText>,
        /// What they did.
        behavior: Behavior,
        /// Where they counted.
        destination: Destination,
    },
    /// Further working directories.
    AddDirectories {
        /// The directories.
        directories: Vec<String>,
        /// Where they count.
        destination: Destination,
    },
    /// These working directories no longer.
    RemoveDirectories {
        /// The directories.
        directories: Vec<String>,
        /// Where they counted.
        destination: Destination,
    },
}

/// Where a change counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// In this session: nothing is written.
    Session,
    /// In the user's settings.
    UserSettings,
    /// In the project's settings.
    ProjectSettings,
    /// In the user's settings for this project.
    LocalSettings,
}

impl Destination {
    fn target(self) -> Option<Target> {
        match self {
            Self::Session => None,
            Self::UserSettings => Some(Target::User),
            Self::ProjectSettings => Some(Target::Project),
            Self::LocalSettings => Some(Target::Local),
        }
    }
}

/// A rule in two parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleText {
    /// The tool.
    pub tool_name: String,
    /// What of the tool; all of it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

impl RuleText {
    fn spelled(&self) -> Value {
        match &self.rule_content {
            None => self.tool_name.as_str().into(),
            Some(content) => format!("{}({content})", self.tool_name).into(),
        }
    }
}

impl PermissionUpdate {
    /// Where the change counts.
    #[must_use]
    pub fn destination(&self) -> Destination {
        match self {
            Self::SetMode { destination, .. }
            | Self::AddRules { destination, .. }
            | Self::ReplaceRules { destination, .. }
            | Self::RemoveRules { destination, .. }
            | Self::AddDirectories { destination, .. }
            | Self::RemoveDirectories { destination, .. } => *destination,
        }
    }

    fn write(&self, file: &mut Editor) -> Result<(), SettingsError> {
        const DIRECTORIES: [&str; 2] = ["permissions", "additionalDirectories"];
        match self {
            Self::SetMode { mode, .. } => file.set(&["permissions", "defaultMode"], &mode.name().into()),
            Self::AddRules { rules, behavior, .. } => {
                rules.iter().try_for_each(|rule| file.add(&["permissions", behavior.name()], &rule.spelled()))
            }
            Self::ReplaceRules { rules, behavior, .. } => {
                file.set(&["permissions", behavior.name()], &rules.iter().map(RuleText::spelled).collect())
            }
            Self::RemoveRules { rules, behavior, .. } => rules
                .iter()
                .try_for_each(|rule| file.take_out(&["permissions", behavior.name()], &rule.spelled())),
            Self::AddDirectories { directories, .. } => {
                directories.iter().try_for_each(|dir| file.add(&DIRECTORIES, &dir.as_str().into()))
            }
            Self::RemoveDirectories { directories, .. } => {
                directories.iter().try_for_each(|dir| file.take_out(&DIRECTORIES, &dir.as_str().into()))
            }
        }
    }
}

/// Writes those changes that are not for the session only, in their order; all of one file at once.
///
/// # Errors
/// When a file cannot be changed.
pub fn write_updates(places: &Places, updates: &[PermissionUpdate]) -> Result<(), SettingsError> {
    for target in [Target::User, Target::Project, Target::Local] {
        let mut meant =
            updates.iter().filter(|update| update.destination().target() == Some(target)).peekable();
        if meant.peek().is_some() {
            update(&places.target(target), |file| meant.try_for_each(|change| change.write(file)))?;
        }
    }
    Ok(())
}

/// Sets one setting to what a user typed: text, or JSON where the setting is not a text; `null` takes it away.
///
/// # Errors
/// When there is no such setting, the value does not fit, or the file cannot be changed.
pub fn set(places: &Places, target: Target, key: &str, typed: &str) -> Result<(), SettingsError> {
    let parent =
        |name: &str| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.') && rest.len() > 1);
    let is_known = keys().iter().any(|known| known.name == key) || ["env", "hooks"].into_iter().any(parent);
    if !is_known {
        return Err(unknown(key));
    }
    let value = value_of(key, typed)?;
    let path: Vec<&str> = key.split('.').collect();
    update(
        &places.target(target),
        |file| {
            if value.is_null() { file.remove(&path) } else { file.set(&path, &value) }
        },
    )
}

/// What fits: the JSON that was typed, else the text itself.
fn value_of(key: &str, typed: &str) -> Result<Value, SettingsError> {
    if typed.trim() == "null" {
        return Ok(Value::Null);
    }
    let as_text = Value::String(typed.to_owned());
    match serde_json::from_str::<Value>(typed) {
        Ok(json) if fit(key, &json).is_ok() => Ok(json),
        Ok(json) => match fit(key, &as_text) {
            Ok(()) => Ok(as_text),
            Err(_) => fit(key, &json).map(|()| json),
        },
        Err(_) => fit(key, &as_text).map(|()| as_text),
    }
}
