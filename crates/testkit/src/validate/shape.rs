//! The top level, the messages and the order of roles.

use serde_json::Value;

use super::{
    Purpose, Request,
    fields::{self, object, only, required},
};
use crate::{
    error::{ApiError, Check},
    prompt::items,
};

const MAX_MESSAGES: usize = 100_000;
/// Top-level fields that exclude each other.
const EXCLUSIVE: &[(&str, &str)] =
    &[("compaction", "context_management"), ("fallbacks", "fallback_credit_token")];

pub(super) fn check(request: &Request<'_>) -> Check {
    let top = object("", request.body)?;
    let beta_fields: Vec<&str> = fields::BETA_TOP
        .iter()
        .filter(|(_, betas)| request.has_any_beta(betas))
        .map(|(field, _)| *field)
        .collect();
    let sampling: &[&str] = if request.newest_version { &[] } else { &["temperature", "top_p", "top_k"] };
    let (known, needed): (_, &[&str]) = match request.purpose {
        Purpose::Create => (fields::TOP, &["model", "max_tokens", "messages"]),
        Purpose::Count => (fields::COUNT_TOP, &["model", "messages"]),
    };
    only("", top, &[known, &beta_fields, sampling])?;
    required("", top, needed)?;
    if let Some((one, other)) = EXCLUSIVE.iter().find(|(a, b)| top.contains_key(*a) && top.contains_key(*b)) {
        return Err(ApiError::invalid(format!("`{one}` and `{other}` cannot be used together")));
    }
    let messages = request.body["messages"].as_array();
    let messages = messages.ok_or_else(|| ApiError::at("messages", "Input should be a valid list"))?;
    if messages.is_empty() {
        return Err(ApiError::at("messages", "at least one message is required"));
    }
    if messages.len() > MAX_MESSAGES {
        return Err(ApiError::at("messages", format!("List should have at most {MAX_MESSAGES} items")));
    }
    for (index, message) in messages.iter().enumerate() {
        check_message(request, index, message)?;
    }
    check_metadata(request)
}

fn check_message(request: &Request<'_>, index: usize, message: &Value) -> Check {
    let path = format!("messages.{index}");
    let fields = object(&path, message)?;
    let role = message["role"].as_str().unwrap_or_default();
    let extra: &[(&str, &str)] = match role {
        "user" | "assistant" => &[],
        "system" if request.model.system_messages => &[
            ("output_config", "mid-conversation-output-config-2026-07-01"),
            ("clear_at", "mid-conversation-system-clear-at-2026-08-21"),
        ],
        role => return Err(ApiError::at("messages", format!("Unexpected role \"{role}\""))),
    };
    let allowed: Vec<&str> =
        extra.iter().filter(|(_, beta)| request.has_beta(beta)).map(|(field, _)| *field).collect();
    only(&path, fields, &[&["role", "content"], &allowed])?;
    required(&path, fields, &["role", "content"])
}

fn check_metadata(request: &Request<'_>) -> Check {
    match &request.body["metadata"] {
        Value::Null => Ok(()),
        metadata => only("metadata", object("metadata", metadata)?, &[&["user_id"]]),
    }
}

/// Who may speak first, last and in between.
pub(super) fn check_order(request: &Request<'_>) -> Check {
    let messages = items(&request.body["messages"]);
    let first = &messages[0];
    let opens_with_compaction =
        items(&first["content"]).first().is_some_and(|block| block["type"] == "compaction");
    if first["role"] != "user" && !opens_with_compaction {
        return Err(ApiError::at("messages", "first message must use the \"user\" role"));
    }
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "system" {
            check_system_place(messages, index)?;
        }
    }
    match messages.last() {
        Some(last) if last["role"] == "assistant" => check_prefill(request, last),
        _ => Ok(()),
    }
}

/// A system message follows a user turn and is last or precedes an assistant turn.
fn check_system_place(messages: &[Value], index: usize) -> Check {
    let before = index.checked_sub(1).map(|before| &messages[before]);
    let after_user = before.is_some_and(|message| message["role"] == "user");
    let after_server_result =
        before.is_some_and(|message| message["role"] == "assistant" && ends_in_server_result(message));
    let next = messages.get(index + 1).map(|message| &message["role"]);
    let before_assistant = next.is_none_or(|role| role == "assistant");
    if (after_user || after_server_result) && before_assistant {
        return Ok(());
    }
    let rule = "a system message must follow a user turn and be last or precede an assistant turn";
    Err(ApiError::at(format!("messages.{index}"), rule))
}

fn ends_in_server_result(message: &Value) -> bool {
    let kind = last_kind(message);
    kind.ends_with("_tool_result") && kind != "tool_result"
}

fn last_kind(message: &Value) -> &str {
    items(&message["content"]).last().and_then(|block| block["type"].as_str()).unwrap_or_default()
}

/// An assistant message at the end either continues a paused turn or is a prefill.
fn check_prefill(request: &Request<'_>, last: &Value) -> Check {
    if ends_in_server_result(last) || matches!(last_kind(last), "server_tool_use" | "mcp_tool_use") {
        return Ok(());
    }
    if !request.model.prefill {
        return Err(ApiError::invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    let block = items(&last["content"]).last();
    let text = last["content"].as_str().or_else(|| block.and_then(|block| block["text"].as_str()));
    if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return Err(ApiError::at("messages", "final assistant content cannot end with trailing whitespace"));
    }
    Ok(())
}
