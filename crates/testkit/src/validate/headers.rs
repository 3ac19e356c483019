//! Keys, versions and beta names.

use crate::{
    capture::Captured,
    error::{ApiError, Check},
};

/// The version without sampling parameters.
pub(crate) const NEWEST: &str = "2026-10-21";
const VERSIONS: &[&str] = &[NEWEST, "2023-06-01"];

const BETAS: &[&str] = &[
    "message-batches-2024-09-24",
    "prompt-caching-2024-07-31",
    "computer-use-2024-10-22",
    "computer-use-2025-01-24",
    "pdfs-2024-09-25",
    "token-counting-2024-11-01",
    "token-efficient-tools-2025-02-19",
    "output-128k-2025-02-19",
    "files-api-2025-04-14",
    "mcp-client-2025-04-04",
    "mcp-client-2025-11-20",
    "dev-full-thinking-2025-05-14",
    "interleaved-thinking-2025-05-14",
    "code-execution-2025-05-22",
    "extended-cache-ttl-2025-04-11",
    "context-1m-2025-08-07",
    "context-management-2025-06-27",
    "model-context-window-exceeded-2025-08-26",
    "skills-2025-10-02",
    "fast-mode-2026-02-01",
    "output-300k-2026-03-24",
    "advisor-tool-2026-03-01",
    "cache-diagnosis-2026-04-07",
    "thinking-token-count-2026-05-13",
    "server-side-fallback-2026-06-01",
    "server-side-fallback-2026-07-01",
    "fallback-credit-2026-06-01",
    "fallback-credit-2026-07-01",
    "mid-conversation-tool-changes-2026-07-01",
    "compact-2026-01-12",
    "computer-use-2025-11-24",
    "structured-outputs-2025-11-13",
    "task-budgets-2026-03-13",
    "thinking-display-updates-2026-08-18",
    "mid-conversation-output-config-2026-07-01",
    "thinking-binding-controls-2026-08-01",
    "mid-conversation-system-clear-at-2026-08-21",
    "compact-2026-09-04",
    "inline-tools-2026-09-15",
    "mcp-client-2026-09-15",
    "message-threads-2026-08-12",
];

pub(crate) fn check(captured: &Captured, key: &str) -> Check {
    check_key(captured, key)?;
    let version = captured.header("anthropic-version");
    let version = version.ok_or_else(|| ApiError::at("anthropic-version", "header is required"))?;
    if !VERSIONS.contains(&version) {
        let message = format!("\"{version}\" is not a valid version");
        return Err(ApiError::at("anthropic-version", message));
    }
    check_betas(captured)?;
    let json = captured.header("content-type").is_some_and(|value| value.starts_with("application/json"));
    if captured.method() == http::Method::POST && !json {
        return Err(ApiError::at("content-type", "must be application/json"));
    }
    Ok(())
}

fn check_key(captured: &Captured, key: &str) -> Check {
    let refused = |message: &str| Err(ApiError::new(401, "authentication_error", message));
    let bearer = captured.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    // With both present the key header counts.
    match captured.header("x-api-key") {
        Some(given) if given == key => Ok(()),
        Some(_) => refused("invalid x-api-key"),
        None => match bearer {
            Some(given) if given == key => Ok(()),
            Some(_) => refused("invalid bearer token"),
            None => refused("x-api-key header is required"),
        },
    }
}

fn check_betas(captured: &Captured) -> Check {
    let unknown: Vec<String> = captured
        .betas()
        .into_iter()
        .filter(|name| !BETAS.contains(name))
        .map(|name| format!("`{name}`"))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let names = unknown.join(", ");
    Err(ApiError::invalid(format!("Unexpected value(s) {names} for the `anthropic-beta` header")))
}
