//! What the model thinks, as far as it is told.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{Detail, Paper, bounded};
use crate::text::{paragraphs, prefixed};

/// Rows that are shown.
const MOST_ROWS: usize = 12;

/// Thoughts; none if they were not told.
pub(crate) fn thinking(text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let rows = written(text, paper);
    marked(if paper.detail == Detail::Full { rows } else { bounded(rows, MOST_ROWS, 0, paper.theme) }, paper)
}

/// The end of thoughts that are still being written.
pub(crate) fn thinking_now(text: &str, most: usize, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let mut rows = written(text, paper);
    marked(rows.split_off(rows.len().saturating_sub(most)), paper)
}

fn written(text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let style = paper.theme.dim.add_modifier(Modifier::ITALIC);
    paragraphs(text.trim(), paper.narrower(2).columns, style)
}

fn marked(rows: Vec<Line<'static>>, paper: &Paper<'_>) -> Vec<Line<'static>> {
    if rows.is_empty() {
        return rows;
    }
    let mut shown = vec![Line::default()];
    shown.extend(prefixed(rows, &Span::styled("✻ ", paper.theme.dim), &Span::raw("  ")));
    shown
}
