//! Sub-agents.

use ratatui::text::Line;
use tiller_protocol::entry::CallResult;

use super::super::Paper;
use super::{Call, text_rows};

pub(super) fn object(call: &Call) -> String {
    let (kind, description) = (call.text("subagent_type"), call.text("description"));
    if kind.is_empty() { description.to_owned() } else { format!("{kind}: {description}") }
}

pub(super) fn body(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    text_rows(&result.text(), paper.theme.dim, paper)
}
