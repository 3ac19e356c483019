//! The host's first request: how it wants the session set up.

use serde_json::{Value, json};
use tiller_protocol::command::Command;

use super::tally::Tally;
use crate::args::PROTOCOL_LEVEL;

/// What a host may ask for and Tiller does not have. Leaving it out would change what the session does, so it is refused.
const UNAVAILABLE: [&str; 9] = [
    "hooks",
    "agents",
    "skills",
    "plugins",
    "sdkMcpServers",
    "sdkMcpServerConfigs",
    "jsonSchema",
    "toolAliases",
    "planModeInstructions",
];

/// What the request leads to: the answer and a change of the system prompt, or why it is refused.
pub(super) fn initialize(request: &Value, tally: &Tally) -> Result<(Value, Vec<Command>), String> {
    let unavailable: Vec<&str> = UNAVAILABLE.into_iter().filter(|name| is_given(&request[*name])).collect();
    if !unavailable.is_empty() {
        return Err(format!(
            "initialize asks for {}, which this version of tiller does not have; leave it out",
            unavailable.join(", ")
        ));
    }
    let prompt = prompt(request)?;
    if prompt.is_some() && tally.turns > 0 {
        return Err("the system prompt can be set only before the first message".to_owned());
    }
    Ok((answer(tally), prompt.into_iter().collect()))
}

/// Whether a field says anything: empty lists and objects do not.
fn is_given(field: &Value) -> bool {
    match field {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

fn prompt(request: &Value) -> Result<Option<Command>, String> {
    let replace = match &request["systemPrompt"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        parts => Some(joined(parts).ok_or("systemPrompt has to be a text or a list of texts")?),
    };
    let append = match &request["appendSystemPrompt"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        _ => return Err("appendSystemPrompt has to be a text".to_owned()),
    };
    let given = replace.is_some() || append.is_some();
    Ok(given.then_some(Command::SetPrompt { replace, append }))
}

fn joined(parts: &Value) -> Option<String> {
    let parts: Option<Vec<&str>> = parts.as_array()?.iter().map(Value::as_str).collect();
    Some(parts?.join("\n\n"))
}

fn answer(tally: &Tally) -> Value {
    json!({
        "commands": [], "agents": [], "output_style": "default", "available_output_styles": ["default"],
        "models": [{"value": "default", "displayName": "Default", "description": "The configured model"}],
        "account": {}, "claude_code_version": PROTOCOL_LEVEL, "pid": std::process::id(),
        "current_permission_mode": tally.state.mode,
    })
}
