//! Tools that have no display of their own.

use serde_json::Value;

use super::Call;

/// Fields that say what a call is about, the best first.
const TELLING: [&str; 12] = [
    "url",
    "query",
    "bash_id",
    "shell_id",
    "description",
    "name",
    "path",
    "file_path",
    "prompt",
    "command",
    "skill",
    "question",
];

/// How far a list has come.
pub(super) fn todos(call: &Call) -> String {
    let todos = call.input.get("todos").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let done = todos.iter().filter(|todo| todo["status"] == "completed").count();
    format!("{done} of {} done", todos.len())
}

pub(super) fn object(call: &Call) -> String {
    let telling = TELLING.iter().map(|field| call.text(field)).find(|text| !text.is_empty());
    match (telling, &call.input) {
        (Some(text), _) => text.to_owned(),
        (None, Value::Object(fields)) if fields.is_empty() => String::new(),
        (None, Value::Object(_)) => call.input.to_string(),
        _ => String::new(),
    }
}
