//! Files that are read and changed.

use ratatui::text::{Line, Span};
use serde_json::Value;
use tiller_protocol::entry::CallResult;

use super::super::{Detail, Paper};
use super::{Call, count, text_rows};
use crate::diff::{self, Hunk};
use crate::markdown::Highlighter;

/// Rows of a change that are shown.
const MOST_ROWS: usize = 40;
/// Lines of a new file that are shown.
const NEW_LINES: usize = 8;

pub(super) fn object(call: &Call, paper: &Paper<'_>) -> String {
    let path = match call.text("file_path") {
        "" => call.text("notebook_path"),
        path => path,
    };
    let number = |name: &str| call.input.get(name).and_then(Value::as_u64);
    let lines = match (number("offset"), number("limit")) {
        (Some(first), Some(limit)) => format!(" from line {first}, {limit} lines"),
        (Some(first), None) => format!(" from line {first}"),
        _ => String::new(),
    };
    format!("{}{lines}", paper.path(path))
}

pub(super) fn read(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let file = &result.detail["file"];
    if paper.detail == Detail::Full {
        return text_rows(&result.text(), paper.theme.dim, paper);
    }
    let said = match result.detail["type"].as_str() {
        Some("text") => match (file["numLines"].as_u64(), file["totalLines"].as_u64()) {
            (Some(lines), Some(total)) if lines < total => format!("{lines} of {total} lines"),
            (Some(lines), _) => count(lines, "line", "lines"),
            _ => return Vec::new(),
        },
        Some(kind) => kind.to_owned(),
        None => return text_rows(&result.text(), paper.theme.dim, paper),
    };
    vec![Line::styled(said, paper.theme.dim)]
}

pub(super) fn changed(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let detail = &result.detail;
    if detail["type"] == "create" {
        return created(detail, paper);
    }
    let hunks = diff::of_patch(&detail["structuredPatch"]);
    if hunks.is_empty() {
        return text_rows(&result.text(), paper.theme.dim, paper);
    }
    let (added, removed) = Hunk::counts(&hunks);
    let mut rows = vec![Line::from(vec![
        Span::styled(format!("+{added}"), paper.theme.added),
        Span::raw(" "),
        Span::styled(format!("-{removed}"), paper.theme.removed),
    ])];
    let most = if paper.detail == Detail::Full { usize::MAX } else { MOST_ROWS };
    rows.extend(diff::rows(&hunks, paper.columns, most, paper.theme));
    rows
}

fn created(detail: &Value, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let content = detail["content"].as_str().unwrap_or_default();
    let lines = content.lines().count();
    let mut rows =
        vec![Line::styled(format!("new, {}", count(lines as u64, "line", "lines")), paper.theme.added)];
    let most = if paper.detail == Detail::Full { usize::MAX } else { NEW_LINES };
    let mut highlighter = Highlighter::of_file(detail["filePath"].as_str().unwrap_or_default(), paper.theme);
    for line in content.lines().take(most) {
        let line = highlighter.line(line, paper.theme);
        rows.extend(crate::text::wrap(&line, paper.columns, 2));
    }
    if lines > most {
        rows.push(Line::styled(format!("… {} more lines", lines - most), paper.theme.dim));
    }
    rows
}
