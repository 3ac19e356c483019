//! How a notebook's JSON is laid out, so that new parts look like the old ones.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::PrettyFormatter;

/// The indentation of one level; nothing when everything is on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout(Option<String>);

impl Layout {
    /// The layout of a document.
    pub(crate) fn of(text: &str) -> Self {
        let second = text.trim_start().split_once('\n').map(|(_, rest)| rest);
        Self(second.map(|line| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()))
    }

    /// JSON to be put where the line so far is `line`.
    pub(crate) fn write(&self, value: &Value, line: &str) -> String {
        let Some(unit) = &self.0 else { return value.to_string() };
        let mut bytes = Vec::new();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(unit.as_bytes()));
        if value.serialize(&mut serializer).is_err() {
            return value.to_string();
        }
        let indent: String = line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
        String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{indent}"))
    }

    /// What separates two items of a list whose items begin at `line`.
    pub(crate) fn separator(&self, line: &str) -> String {
        match &self.0 {
            None => ", ".to_owned(),
            Some(_) => {
                let indent: String = line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
                format!(",\n{indent}")
            }
        }
    }
}

/// The beginning of the line that a position is on.
pub(crate) fn line_before(text: &str, at: usize) -> &str {
    &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..at]
}
