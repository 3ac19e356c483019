//! Content blocks: known types, known fields, the right speaker, no empty text.

use serde_json::Value;

use super::{
    Request,
    fields::{self, BlockShape, Speaker, object, only, required},
};
use crate::{
    error::{ApiError, Check},
    prompt::items,
};

pub(super) fn check(request: &Request<'_>) -> Check {
    check_system_prompt(&request.body["system"])?;
    let messages = items(&request.body["messages"]);
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages.{index}");
        let last = index + 1 == messages.len();
        check_content(request, &path, message, last)?;
    }
    Ok(())
}

fn check_system_prompt(system: &Value) -> Check {
    match system {
        Value::Null => Ok(()),
        Value::String(text) if text.is_empty() => Ok(()),
        Value::String(text) => check_text("system", text),
        Value::Array(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                let path = format!("system.{index}");
                let block_fields = object(&path, block)?;
                if block["type"] != "text" {
                    return Err(ApiError::at(format!("{path}.type"), "Input should be 'text'"));
                }
                only(&path, block_fields, &[&["type", "text", "cache_control", "citations"]])?;
                check_text(&path, text_of(&path, block, "text")?)?;
            }
            Ok(())
        }
        _ => Err(ApiError::at("system", "Input should be a valid string or list")),
    }
}

fn check_content(request: &Request<'_>, path: &str, message: &Value, last: bool) -> Check {
    let empty_allowed = last && message["role"] == "assistant";
    match &message["content"] {
        Value::String(text) if text.is_empty() => non_empty(path, empty_allowed),
        Value::String(text) => check_text(path, text),
        Value::Array(blocks) if blocks.is_empty() => non_empty(path, empty_allowed),
        Value::Array(blocks) => {
            let role = message["role"].as_str().unwrap_or_default();
            for (index, block) in blocks.iter().enumerate() {
                let path = format!("{path}.content.{index}");
                let shape = check_block(&path, block, fields::BLOCKS)?;
                check_speaker(request, &path, shape, role)?;
                check_detail(request, &path, block, shape.kind, role)?;
            }
            Ok(())
        }
        _ => Err(ApiError::at(format!("{path}.content"), "Input should be a valid string or list")),
    }
}

fn non_empty(path: &str, allowed: bool) -> Check {
    if allowed {
        return Ok(());
    }
    let rule = "all messages must have non-empty content except for the optional final assistant message";
    Err(ApiError::at(path, rule))
}

fn check_block(path: &str, block: &Value, shapes: &'static [BlockShape]) -> Check<&'static BlockShape> {
    let given = object(path, block)?;
    required(path, given, &["type"])?;
    let kind = block["type"].as_str().unwrap_or_default();
    let Some(shape) = shapes.iter().find(|shape| shape.kind == kind) else {
        let tags: Vec<String> = shapes.iter().map(|shape| format!("'{}'", shape.kind)).collect();
        let known = tags.join(", ");
        let message =
            format!("Input tag '{kind}' found using 'type' does not match any of the expected tags: {known}");
        return Err(ApiError::at(path, message));
    };
    if !shape.verbatim {
        let path = format!("{path}.{kind}");
        only(&path, given, &[&["type"], shape.required, shape.optional])?;
        required(&path, given, shape.required)?;
    }
    Ok(shape)
}

fn check_speaker(request: &Request<'_>, path: &str, shape: &BlockShape, role: &str) -> Check {
    let allowed = match shape.speaker {
        Speaker::Anyone => role != "system" || shape.kind == "text",
        Speaker::User => {
            role == "user" || (shape.kind == "document" && role == "assistant" && !request.newest_version)
        }
        Speaker::Assistant => role == "assistant",
        Speaker::System => role == "system" && request.has_beta("mid-conversation-tool-changes-2026-07-01"),
    };
    if allowed {
        return Ok(());
    }
    Err(ApiError::at(path, format!("`{}` blocks are not allowed in `{role}` messages", shape.kind)))
}

fn check_detail(request: &Request<'_>, path: &str, block: &Value, kind: &str, role: &str) -> Check {
    match kind {
        "text" => {
            check_text(path, text_of(path, block, "text")?)?;
            let cited = !items(&block["citations"]).is_empty();
            if cited && role == "user" && request.newest_version {
                let rule = "citations are not permitted in user messages";
                return Err(ApiError::at(format!("{path}.text.citations"), rule));
            }
            Ok(())
        }
        "tool_use" => {
            check_id(&format!("{path}.tool_use.id"), &block["id"], "")?;
            check_input(path, block, kind)
        }
        "server_tool_use" => {
            check_id(&format!("{path}.server_tool_use.id"), &block["id"], "srvtoolu_")?;
            check_input(path, block, kind)
        }
        "tool_result" => check_tool_result(path, block),
        _ => Ok(()),
    }
}

fn check_input(path: &str, block: &Value, kind: &str) -> Check {
    object(&format!("{path}.{kind}.input"), &block["input"]).map(drop)
}

fn check_id(path: &str, id: &Value, prefix: &str) -> Check {
    let hyphen = prefix.is_empty();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || (hyphen && byte == b'-');
    let rest = id.as_str().and_then(|id| id.strip_prefix(prefix)).unwrap_or_default();
    if !rest.is_empty() && rest.bytes().all(fits) {
        return Ok(());
    }
    let pattern = if hyphen { "^[a-zA-Z0-9_-]+$" } else { "^srvtoolu_[a-zA-Z0-9_]+$" };
    Err(ApiError::at(path, format!("String should match pattern '{pattern}'")))
}

fn check_tool_result(path: &str, block: &Value) -> Check {
    let path = format!("{path}.tool_result");
    check_id(&format!("{path}.tool_use_id"), &block["tool_use_id"], "")?;
    let is_error = block["is_error"] == true;
    let empty = match &block["content"] {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => {
            for (index, inner) in blocks.iter().enumerate() {
                check_result_block(&format!("{path}.content.{index}"), inner, is_error)?;
            }
            blocks.is_empty()
        }
        _ => return Err(ApiError::at(format!("{path}.content"), "Input should be a valid string or list")),
    };
    if is_error && empty {
        return Err(ApiError::at(path, "content cannot be empty if `is_error` is true"));
    }
    Ok(())
}

fn check_result_block(path: &str, block: &Value, is_error: bool) -> Check {
    let shape = check_block(path, block, fields::IN_TOOL_RESULT)?;
    if shape.kind == "text" {
        return check_text(path, text_of(path, block, "text")?);
    }
    if is_error {
        return Err(ApiError::at(path, "all content must be type `text` if `is_error` is true"));
    }
    Ok(())
}

fn text_of<'a>(path: &str, block: &'a Value, field: &str) -> Check<&'a str> {
    block[field]
        .as_str()
        .ok_or_else(|| ApiError::at(format!("{path}.{field}"), "Input should be a valid string"))
}

fn check_text(path: &str, text: &str) -> Check {
    if text.is_empty() {
        return Err(ApiError::at(path, "text content blocks must be non-empty"));
    }
    if text.chars().all(char::is_whitespace) {
        return Err(ApiError::at(path, "text content blocks must contain non-whitespace text"));
    }
    Ok(())
}
