//! Which fields exist where.

use serde_json::{Map, Value};

use crate::error::{ApiError, Check};

/// Who may say a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Assistant,
    Anyone,
    System,
}

/// The fields of one content block type.
#[derive(Debug)]
pub(super) struct BlockShape {
    pub(super) kind: &'static str,
    pub(super) speaker: Speaker,
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
    /// Blocks of beta features are kept verbatim, whatever they hold.
    pub(super) verbatim: bool,
}

const fn block(
    kind: &'static str,
    speaker: Speaker,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> BlockShape {
    BlockShape { kind, speaker, required, optional, verbatim: false }
}

const fn verbatim(kind: &'static str, speaker: Speaker) -> BlockShape {
    BlockShape { kind, speaker, required: &[], optional: &[], verbatim: true }
}

const CACHE: &[&str] = &["cache_control"];
const RESULT: &[&str] = &["tool_use_id", "content"];

/// Every block type of messages.
pub(super) const BLOCKS: &[BlockShape] = &[
    block("text", Speaker::Anyone, &["text"], &["citations", "cache_control"]),
    block("image", Speaker::User, &["source"], &["transformations", "cache_control"]),
    block("document", Speaker::User, &["source"], &["title", "context", "citations", "cache_control"]),
    block("search_result", Speaker::User, &["source", "title", "content"], &["citations", "cache_control"]),
    block(
        "tool_result",
        Speaker::User,
        &["tool_use_id"],
        &["content", "is_error", "toolset_name", "cache_control"],
    ),
    block("thinking", Speaker::Assistant, &["thinking", "signature"], &[]),
    block("redacted_thinking", Speaker::Assistant, &["data"], &[]),
    block(
        "tool_use",
        Speaker::Assistant,
        &["id", "name", "input"],
        &["caller", "toolset_name", "cache_control"],
    ),
    block("server_tool_use", Speaker::Assistant, &["id", "name", "input"], &["caller", "cache_control"]),
    block("web_search_tool_result", Speaker::Assistant, RESULT, &["caller", "cache_control"]),
    block("web_fetch_tool_result", Speaker::Assistant, RESULT, &["caller", "cache_control"]),
    block("code_execution_tool_result", Speaker::Assistant, RESULT, CACHE),
    block("bash_code_execution_tool_result", Speaker::Assistant, RESULT, CACHE),
    block("text_editor_code_execution_tool_result", Speaker::Assistant, RESULT, CACHE),
    block("tool_search_tool_result", Speaker::Assistant, RESULT, CACHE),
    block("container_upload", Speaker::Anyone, &["file_id"], CACHE),
    verbatim("mcp_tool_use", Speaker::Assistant),
    verbatim("mcp_tool_result", Speaker::Assistant),
    verbatim("mcp_tool_listing", Speaker::Assistant),
    verbatim("advisor_tool_result", Speaker::Assistant),
    verbatim("compaction", Speaker::Anyone),
    verbatim("fallback", Speaker::Assistant),
    verbatim("tool_addition", Speaker::System),
    verbatim("tool_removal", Speaker::System),
];

/// Block types inside a tool result.
pub(super) const IN_TOOL_RESULT: &[BlockShape] = &[
    block("text", Speaker::Anyone, &["text"], &["citations", "cache_control"]),
    block("image", Speaker::Anyone, &["source"], &["transformations", "cache_control"]),
    block("document", Speaker::Anyone, &["source"], &["title", "context", "citations", "cache_control"]),
    block("search_result", Speaker::Anyone, &["source", "title", "content"], &["citations", "cache_control"]),
    block("tool_reference", Speaker::Anyone, &["tool_name"], CACHE),
    verbatim("browser_state", Speaker::Anyone),
];

/// Fields of a tool by its `type`; the first entry whose prefix fits counts.
pub(super) const TOOLS: &[(&str, &[&str], &[&str])] = &[
    ("bash_20250124", &["name"], &["input_examples"]),
    ("text_editor_20250728", &["name"], &["input_examples", "max_characters"]),
    ("text_editor_20250429", &["name"], &["input_examples"]),
    ("text_editor_20250124", &["name"], &["input_examples"]),
    ("memory_20250818", &["name"], &["input_examples"]),
    ("web_search_20250305", &["name"], WEB),
    ("web_search_20260209", &["name"], WEB),
    ("web_search_20260318", &["name"], WEB),
    ("web_fetch_20250910", &["name"], FETCH),
    ("web_fetch_20260209", &["name"], FETCH),
    ("web_fetch_20260309", &["name"], FETCH),
    ("web_fetch_20260318", &["name"], FETCH),
    ("code_execution_20250522", &["name"], &[]),
    ("code_execution_20250825", &["name"], &[]),
    ("code_execution_20260120", &["name"], &[]),
    ("code_execution_20260521", &["name"], &[]),
    ("tool_search_tool_regex_20251119", &["name"], &[]),
    ("tool_search_tool_regex", &["name"], &[]),
    ("tool_search_tool_bm25_20251119", &["name"], &[]),
    ("tool_search_tool_bm25", &["name"], &[]),
    ("advisor_20260301", &["name", "model"], &["caching", "max_tokens", "max_uses"]),
    ("mcp_toolset", &["mcp_server_name"], &["configs", "default_config", "tools"]),
    (
        "computer_toolset_20260801",
        &[],
        &["configs", "display_width_px", "display_height_px", "display_number"],
    ),
    ("browser_toolset_20260801", &[], &["configs"]),
];

const WEB: &[&str] =
    &["max_uses", "allowed_domains", "blocked_domains", "user_location", "response_inclusion"];
const FETCH: &[&str] = &[
    "max_uses",
    "allowed_domains",
    "blocked_domains",
    "max_content_tokens",
    "citations",
    "url_sources",
    "use_cache",
    "response_inclusion",
];

/// Fields every tool has.
pub(super) const ANY_TOOL: &[&str] = &["type", "cache_control", "defer_loading", "allowed_callers", "strict"];
/// Fields of a tool the client defines.
pub(super) const CUSTOM_TOOL: &[&str] =
    &["name", "input_schema", "description", "eager_input_streaming", "input_examples"];

/// Top-level fields of a create request that need no beta.
pub(super) const TOP: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "stop_sequences",
    "stream",
    "metadata",
    "service_tier",
    "speed",
    "inference_geo",
    "container",
    "diagnostics",
];

/// Top-level fields of a count request.
pub(super) const COUNT_TOP: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "speed",
];

/// Top-level fields that exist only under one of these betas.
pub(super) const BETA_TOP: &[(&str, &[&str])] = &[
    ("context_management", &["context-management-2025-06-27", "compact-2026-01-12"]),
    ("compaction", &["compact-2026-09-04"]),
    ("mcp_servers", &["mcp-client-2025-11-20", "mcp-client-2026-09-15"]),
    ("fallbacks", &["server-side-fallback-2026-07-01"]),
    ("fallback_credit_token", &["fallback-credit-2026-07-01"]),
    ("thread", &["message-threads-2026-08-12"]),
];

/// Refuses the first field that is not listed.
pub(super) fn only(path: &str, object: &Map<String, Value>, allowed: &[&[&str]]) -> Check {
    let known = |key: &str| allowed.iter().any(|list| list.contains(&key));
    match object.keys().find(|key| !known(key)) {
        Some(key) => Err(ApiError::at(join(path, key), "Extra inputs are not permitted")),
        None => Ok(()),
    }
}

/// Refuses an object that lacks a field.
pub(super) fn required(path: &str, object: &Map<String, Value>, fields: &[&str]) -> Check {
    match fields.iter().find(|field| !object.contains_key(**field)) {
        Some(field) => Err(ApiError::at(join(path, field), "Field required")),
        None => Ok(()),
    }
}

/// The value as an object.
pub(super) fn object<'a>(path: &str, value: &'a Value) -> Check<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| ApiError::at(path, "Input should be an object"))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
