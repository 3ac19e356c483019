//! What the model thinks, as far as it is told.

use ratatui::style::Modifier;
use ratatui::text::Line;

use super::{Detail, Paper, bounded};
use crate::text::paragraphs;

/// Rows that are shown.
const MOST_ROWS: usize = 12;

/// Thoughts; none if they were not told.
pub(crate) fn thinking(text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let style = paper.theme.dim.add_modifier(Modifier::ITALIC);
    let rows = paragraphs(text.trim(), paper.narrower(2).columns, style);
    let rows = if paper.detail == Detail::Full { rows } else { bounded(rows, MOST_ROWS, 0, paper.theme) };
    let mut shown = vec![Line::default()];
    let rest = ratatui::text::Span::raw("  ");
    shown.extend(crate::text::prefixed(rows, &ratatui::text::Span::styled("✻ ", paper.theme.dim), &rest));
    shown
}
