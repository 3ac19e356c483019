//! A call's input as people type it.

use std::io::Read;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// How the input of a tool can be shortened when only permission is in question.
struct Short {
    tool: &'static str,
    /// What plain text stands for.
    field: &'static str,
    /// What says nothing about what the call touches, and may be left out.
    without_weight: &'static [&'static str],
}

const SHORT: [Short; 6] = [
    Short { tool: "Bash", field: "command", without_weight: &[] },
    Short { tool: "Read", field: "file_path", without_weight: &[] },
    Short { tool: "Edit", field: "file_path", without_weight: &["old_string", "new_string"] },
    Short { tool: "Write", field: "file_path", without_weight: &["content"] },
    Short { tool: "NotebookEdit", field: "notebook_path", without_weight: &[] },
    Short { tool: "WebFetch", field: "url", without_weight: &["prompt"] },
];

fn short(tool: &str) -> Option<&'static Short> {
    SHORT.iter().find(|short| short.tool == tool)
}

/// Understands what was typed as input: JSON, `-` for JSON on standard input, or plain text where it is clear what that
/// means.
pub(super) fn typed(tool: &str, text: &str) -> anyhow::Result<Value> {
    if text == "-" {
        let mut piped = String::new();
        std::io::stdin().read_to_string(&mut piped).context("standard input could not be read")?;
        return object(tool, &piped);
    }
    match short(tool) {
        Some(Short { field, .. }) if !text.trim_start().starts_with(['{', '[', '"']) => {
            Ok(json!({*field: text}))
        }
        _ => object(tool, text),
    }
}

fn object(tool: &str, text: &str) -> anyhow::Result<Value> {
    let example = short(tool).map_or(json!({}), |short| json!({short.field: "..."}));
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => bail!("the input of {tool} is not a JSON object; give one such as '{example}'"),
        Err(error) => bail!("the input of {tool} is not JSON ({error}); give an object such as '{example}'"),
    }
}

/// The input with what the tool needs but policy does not look at.
pub(super) fn completed(tool: &str, input: &Value) -> Value {
    let mut completed = input.clone();
    let fields = short(tool).map_or(&[][..], |short| short.without_weight);
    if let Some(members) = completed.as_object_mut() {
        for field in fields {
            members.entry(*field).or_insert_with(|| json!(""));
        }
    }
    completed
}
