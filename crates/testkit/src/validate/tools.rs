//! Tool definitions.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Request,
    fields::{self, object, only, required},
    schema,
};
use crate::{
    digest::{Chain, Digest, fingerprint},
    error::{ApiError, Check},
    prompt::items,
};

const MAX_NAME: usize = 128;
const MAX_DEFERRED: usize = 10_000;

/// Lists of tools that were found to be good: conversations send the same list again and again.
#[derive(Debug, Default)]
pub(crate) struct CheckedTools(HashSet<Digest>);

pub(super) fn check(request: &Request<'_>, checked: &mut CheckedTools) -> Check {
    let tools = match &request.body["tools"] {
        Value::Null => return Ok(()),
        Value::Array(tools) => tools,
        _ => return Err(ApiError::at("tools", "Input should be a valid list")),
    };
    let mut chain = Chain::new("tools");
    for tool in tools {
        chain.push(&fingerprint(tool).digest);
    }
    chain.note(if request.has_beta("advisor-tool-2026-03-01") { "advisor" } else { "" });
    if checked.0.contains(&chain.value()) {
        return Ok(());
    }
    for (index, tool) in tools.iter().enumerate() {
        check_tool(request, index, tool)?;
    }
    check_names(tools)?;
    check_deferred(tools)?;
    schema::check_strict(tools)?;
    checked.0.insert(chain.value());
    Ok(())
}

fn check_tool(request: &Request<'_>, index: usize, tool: &Value) -> Check {
    let path = format!("tools.{index}");
    let given = object(&path, tool)?;
    match tool["type"].as_str() {
        None | Some("custom") => check_custom(&format!("{path}.custom"), tool),
        Some(kind) => {
            let Some((_, needed, optional)) = fields::TOOLS.iter().find(|(known, ..)| *known == kind) else {
                let rule =
                    format!("Input tag '{kind}' found using 'type' does not match any of the expected tags");
                return Err(ApiError::at(path, rule));
            };
            if kind.starts_with("advisor_") && !request.has_beta("advisor-tool-2026-03-01") {
                return Err(ApiError::at(path, "the advisor tool needs a beta header"));
            }
            let path = format!("{path}.{kind}");
            only(&path, given, &[fields::ANY_TOOL, needed, optional])?;
            required(&path, given, needed)?;
            check_domains(&path, tool)
        }
    }
}

fn check_domains(path: &str, tool: &Value) -> Check {
    if tool["allowed_domains"].is_array() && tool["blocked_domains"].is_array() {
        return Err(ApiError::at(path, "only one of `allowed_domains` and `blocked_domains` may be given"));
    }
    Ok(())
}

fn check_custom(path: &str, tool: &Value) -> Check {
    let given = object(path, tool)?;
    only(path, given, &[fields::ANY_TOOL, fields::CUSTOM_TOOL])?;
    required(path, given, &["name", "input_schema"])?;
    check_name(path, tool["name"].as_str().unwrap_or_default())?;
    let schema_path = format!("{path}.input_schema");
    schema::check_input(&schema_path, &tool["input_schema"])?;
    let examples = items(&tool["input_examples"]);
    if examples.is_empty() {
        return Ok(());
    }
    schema::check_examples(&format!("{path}.input_examples"), &tool["input_schema"], examples)
}

fn check_name(path: &str, name: &str) -> Check {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(fits) {
        return Ok(());
    }
    let rule = format!("String should match pattern '^[a-zA-Z0-9_-]{{1,{MAX_NAME}}}$'");
    Err(ApiError::at(format!("{path}.name"), rule))
}

fn check_names(tools: &[Value]) -> Check {
    let mut seen = HashSet::new();
    match tools.iter().filter_map(|tool| tool["name"].as_str()).find(|name| !seen.insert(*name)) {
        Some(_) => Err(ApiError::at("tools", "Tool names must be unique.")),
        None => Ok(()),
    }
}

fn check_deferred(tools: &[Value]) -> Check {
    let is_deferred = |tool: &&Value| tool["defer_loading"] == true;
    let deferred = tools.iter().filter(is_deferred).count();
    if deferred > 0 && deferred == tools.len() {
        return Err(ApiError::at("tools", "All tools have defer_loading: true"));
    }
    if deferred > MAX_DEFERRED {
        return Err(ApiError::at("tools", format!("at most {MAX_DEFERRED} tools may be deferred")));
    }
    let is_search =
        |tool: &&Value| tool["type"].as_str().is_some_and(|kind| kind.starts_with("tool_search_tool"));
    if tools.iter().filter(is_deferred).any(|tool| is_search(&tool)) {
        return Err(ApiError::at("tools", "the tool search tool cannot have defer_loading: true"));
    }
    Ok(())
}
