//! Sub-agents and plans: what comes of them is written for people.

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

/// The text as it is meant, not as it is written.
pub(super) fn body(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let rows = markdown::render(&clean(&result.text()), paper.columns, paper.theme);
    match paper.detail {
        Detail::Full => rows,
        Detail::Brief => bounded(rows, FIRST_ROWS, LAST_ROWS, paper.theme),
    }
}
