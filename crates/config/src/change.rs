//! Changes of permissions that are to last: rules, directories and the mode of new sessions.

use std::path::PathBuf;

use serde_json::Value;
use tiller_protocol::env::Env;
use tiller_protocol::permission::{Destination, RuleValue, Update};

use crate::decode::fit;
use crate::dirs::{Places, Target};
use crate::error::SettingsError;
use crate::exclude::exclude;
use crate::key::keys;
use crate::row::{Row, unknown};
use crate::trust::keeping_trust;
use crate::write::{Editor, update};

/// The file that a change is kept in; none for what is meant for the session.
fn target(destination: Destination) -> Option<Target> {
    match destination {
        Destination::Session => None,
        Destination::UserSettings => Some(Target::User),
        Destination::ProjectSettings => Some(Target::Project),
        Destination::LocalSettings => Some(Target::Local),
    }
}

fn write(change: &Update, file: &mut Editor) -> Result<(), SettingsError> {
    const DIRECTORIES: [&str; 2] = ["permissions", "additionalDirectories"];
    let spelled = |rule: &RuleValue| Value::String(rule.spelled());
    let path = |dir: &PathBuf| Value::String(dir.to_string_lossy().into_owned());
    match change {
        Update::SetMode { mode, .. } => file.set(&["permissions", "defaultMode"], &mode.name().into()),
        Update::AddRules { rules, behavior, .. } => {
            rules.iter().try_for_each(|rule| file.add(&["permissions", behavior.name()], &spelled(rule)))
        }
        Update::ReplaceRules { rules, behavior, .. } => {
            file.set(&["permissions", behavior.name()], &rules.iter().map(spelled).collect())
        }
        Update::RemoveRules { rules, behavior, .. } => {
            rules.iter().try_for_each(|rule| file.take_out(&["permissions", behavior.name()], &spelled(rule)))
        }
        Update::AddDirectories { directories, .. } => {
            directories.iter().try_for_each(|dir| file.add(&DIRECTORIES, &path(dir)))
        }
        Update::RemoveDirectories { directories, .. } => {
            directories.iter().try_for_each(|dir| file.take_out(&DIRECTORIES, &path(dir)))
        }
    }
}

/// What a change puts into the file of a project that needs trust.
fn puts(change: &Update, row: &Row) -> bool {
    let rule = |rule: &RuleValue| row.value == rule.spelled();
    match change {
        Update::AddRules { rules, .. } | Update::ReplaceRules { rules, .. } => {
            row.key == "permissions.allow" && rules.iter().any(rule)
        }
        Update::AddDirectories { directories, .. } => {
            let is_one = |dir: &PathBuf| row.value == *dir.to_string_lossy();
            row.key == "permissions.additionalDirectories" && directories.iter().any(is_one)
        }
        Update::SetMode { mode, .. } => row.key == "permissions.defaultMode" && row.value == mode.name(),
        Update::RemoveRules { .. } | Update::RemoveDirectories { .. } => false,
    }
}

/// Writes those changes that are not for the session only, in their order; all of one file at once. A project that was
/// trusted stays so.
///
/// # Errors
/// When a file cannot be changed.
pub fn write_updates(places: &Places, env: &Env, updates: &[Update]) -> Result<(), SettingsError> {
    let of_project =
        |change: &&Update| matches!(target(change.destination()), Some(Target::Project | Target::Local));
    if !updates.iter().any(|change| of_project(&change)) {
        return write_all(places, updates);
    }
    let is_meant = |row: &Row| updates.iter().filter(of_project).any(|change| puts(change, row));
    keeping_trust(places, env, is_meant, || write_all(places, updates))
}

fn write_all(places: &Places, updates: &[Update]) -> Result<(), SettingsError> {
    for file in [Target::User, Target::Project, Target::Local] {
        let mut meant = updates.iter().filter(|change| target(change.destination()) == Some(file)).peekable();
        if meant.peek().is_some() {
            update_target(places, file, |file| meant.try_for_each(|change| write(change, file)))?;
        }
    }
    Ok(())
}

/// Changes a file of settings. One that is the user's alone does not become a part of their repository.
fn update_target(
    places: &Places,
    target: Target,
    edit: impl FnOnce(&mut Editor) -> Result<(), SettingsError>,
) -> Result<(), SettingsError> {
    let file = places.target(target);
    let is_new = !file.exists();
    update(&file, edit)?;
    if is_new && target == Target::Local {
        exclude(&file);
    }
    Ok(())
}

/// Sets one setting to what a user typed: text, or JSON where the setting is not a text; `null` takes it away. A project
/// that was trusted stays so.
///
/// # Errors
/// When there is no such setting, the value does not fit, or the file cannot be changed.
pub fn set(places: &Places, env: &Env, target: Target, key: &str, typed: &str) -> Result<(), SettingsError> {
    let parent =
        |name: &str| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.') && rest.len() > 1);
    let is_known = keys().iter().any(|known| known.name == key) || ["env", "hooks"].into_iter().any(parent);
    if !is_known {
        return Err(unknown(key));
    }
    let value = value_of(key, typed)?;
    let path: Vec<&str> = key.split('.').collect();
    let write = || {
        update_target(places, target, |file| {
            if value.is_null() { file.remove(&path) } else { file.set(&path, &value) }
        })
    };
    let below = format!("{key}.");
    let is_meant = |row: &Row| row.key == key || row.key.starts_with(&below);
    match target {
        Target::User => write(),
        Target::Project | Target::Local => keeping_trust(places, env, is_meant, write),
    }
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
