//! Sub-agents: what they answer is written for people.

use ratatui::text::Line;
use tiller_protocol::entry::CallResult;

use super::super::{Detail, Paper, bounded};
use super::{Call, FIRST_ROWS, LAST_ROWS};
use crate::markdown;
use crate::text::clean;

pub(super) fn object(call: &Call) -> String {
    let (kind, description) = (call.text("subagent_type"), call.text("description"));
    if kind.is_empty() { description.to_owned() } else { format!("{kind}: {description}") }
}

/// What the agent answered, without what only the model needs to know.
pub(super) fn text(result: &CallResult) -> String {
    let detail = &result.detail;
    if detail["status"] == "async_launched" {
        return "works in the background; /tasks shows it".to_owned();
    }
    let parts = detail["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    if texts.is_empty() { result.text() } else { texts.join("\n") }
}

/// The text as it is meant, not as it is written.
pub(super) fn body(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let rows = markdown::render(&clean(&text(result)), paper.columns, paper.theme);
    match paper.detail {
        Detail::Full => rows,
        Detail::Brief => bounded(rows, FIRST_ROWS, LAST_ROWS, paper.theme),
    }
}
