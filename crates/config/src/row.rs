//! Resolved settings as a list that can be shown: every value and every element of a list, each with its origin.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::definition::HookEvent;
use crate::error::SettingsError;
use crate::key::{closest, keys};
use crate::origin::Origin;
use crate::resolve::Resolved;

/// One value, or one element of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The setting.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Resolved {
    /// All values with their origins.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        collect(&self.to_value(), "", &mut rows);
        rows
    }

    /// All values, nested as in a file.
    #[must_use]
    pub fn values(&self) -> Value {
        plain(self.to_value())
    }

    /// What a setting is: a value, a list, or a group of settings.
    ///
    /// # Errors
    /// When there is no such setting.
    pub fn get(&self, key: &str) -> Result<Value, SettingsError> {
        let pointer = format!("/{}", key.replace('.', "/"));
        match self.values().pointer(&pointer) {
            Some(value) => Ok(value.clone()),
            // A variable, language or event of which nobody says anything.
            None if key.starts_with("env.") || key.starts_with("languageServers.") => Ok(Value::Null),
            None if HookEvent::ALL.iter().any(|event| format!("hooks.{event:?}") == key) => Ok(Value::Null),
            None => Err(unknown(key)),
        }
    }

    fn to_value(&self) -> Value {
        // Only maps with odd keys could fail, and there are none.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The error for a setting that does not exist.
pub(crate) fn unknown(key: &str) -> SettingsError {
    let suggestion = closest(key, keys().iter().map(|key| key.name.as_str())).map(str::to_owned);
    SettingsError::UnknownKey { key: key.to_owned(), suggestion }
}

fn collect(value: &Value, key: &str, rows: &mut Vec<Row>) {
    if let Some((value, origin)) = sourced(value) {
        rows.push(Row { key: key.to_owned(), value: value.clone(), origin });
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, rows)),
        Value::Object(members) => {
            for (name, value) in members {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                collect(value, &key, rows);
            }
        }
        _ => {}
    }
}

fn plain(value: Value) -> Value {
    if let Some((value, _)) = sourced(&value) {
        return value.clone();
    }
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, plain(value))).collect::<Map<_, _>>().into()
        }
        scalar => scalar,
    }
}

fn sourced(value: &Value) -> Option<(&Value, Origin)> {
    let members = value.as_object().filter(|members| members.len() == 2)?;
    let origin = serde_json::from_value(members.get("origin")?.clone()).ok()?;
    Some((members.get("value")?, origin))
}
