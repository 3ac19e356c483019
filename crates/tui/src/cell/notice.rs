//! Notices, and what Tiller itself has to say.

use ratatui::text::Line;
use tiller_protocol::entry::{Level, Notice};

use super::Paper;
use crate::text::{clean, wrap};

/// A notice of the session.
pub(crate) fn notice(notice: &Notice, paper: &Paper<'_>) -> Vec<Line<'static>> {
    told(notice.level, &notice.content, paper)
}

/// Something to be told.
pub(crate) fn told(level: Level, text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let mark = match level {
        Level::Info => "· ",
        Level::Warning => "! ",
        Level::Error => "✗ ",
    };
    marked(mark, level, text, paper)
}

/// What the user ran, and what it printed.
pub(crate) fn ran(level: Level, text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    marked("! ", level, text, paper)
}

fn marked(mark: &'static str, level: Level, text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let style = match level {
        Level::Info => paper.theme.dim,
        Level::Warning => paper.theme.warning,
        Level::Error => paper.theme.error,
    };
    let text = clean(text.trim_end());
    let mut lines = text.lines();
    let first = Line::styled(lines.next().unwrap_or_default().to_owned(), style);
    let mut rows = paper.marked(mark, style, &first);
    for line in lines {
        let line = Line::styled(format!("  {line}"), style);
        rows.extend(wrap(&line, paper.columns, 2));
    }
    rows
}
