//! What a call would do, for the eyes of the one who allows it.

use ratatui::text::{Line, Span};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use tiller_protocol::ask::PermissionAsk;

use crate::markdown::Highlighter;
use crate::text::{clean, paragraphs, prefixed, wrap};
use crate::theme::Theme;

/// The question that the call raises.
pub(super) fn title(ask: &PermissionAsk) -> String {
    let question = match ask.tool.as_str() {
        "Bash" if ask.leaves_sandbox => "Run again outside of the sandbox?",
        "Bash" => "Run this command?",
        "Write" => "Write this file?",
        "Edit" | "NotebookEdit" => "Change this file?",
        "Read" => "Read this file?",
        "Grep" | "Glob" => "Search here?",
        "WebFetch" => "Fetch this page?",
        "WebSearch" => "Search the web?",
        tool => return format!("Use {tool}?"),
    };
    question.to_owned()
}

/// The command with its syntax, the change as a diff, or the input field by field.
pub(super) fn lines(ask: &PermissionAsk, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let field = |name: &str| ask.input.get(name).and_then(Value::as_str);
    match ask.tool.as_str() {
        "Bash" => match field("command") {
            Some(text) => command(text, field("description"), columns, theme),
            None => fields(&ask.input, columns, theme),
        },
        "Edit" => match (field("file_path"), field("old_string"), field("new_string")) {
            (Some(path), Some(old), Some(new)) => change(path, old, new, columns, theme),
            _ => fields(&ask.input, columns, theme),
        },
        "Write" => match (field("file_path"), field("content")) {
            (Some(path), Some(content)) => change(path, "", content, columns, theme),
            _ => fields(&ask.input, columns, theme),
        },
        _ => fields(&ask.input, columns, theme),
    }
}

fn command(text: &str, purpose: Option<&str>, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut highlighter = Highlighter::of_language("bash", theme);
    let rows = clean(text)
        .lines()
        .flat_map(|line| wrap(&highlighter.line(line, theme), columns.saturating_sub(2).max(1), 2))
        .collect();
    let mut lines = prefixed(rows, &Span::styled("$ ", theme.accent), &Span::raw("  "));
    if let Some(purpose) = purpose {
        lines.extend(paragraphs(purpose, columns, theme.dim));
    }
    lines
}

/// Old and new text line by line. Numbers of lines are not known here: the call names text, not places.
fn change(path: &str, old: &str, new: &str, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = paragraphs(path, columns, theme.strong);
    let diff = TextDiff::from_lines(old, new);
    for change in diff.iter_all_changes() {
        let (sign, style) = match change.tag() {
            ChangeTag::Delete => ("- ", theme.removed),
            ChangeTag::Insert => ("+ ", theme.added),
            ChangeTag::Equal => ("  ", theme.dim),
        };
        let text = clean(change.value().trim_end_matches('\n')).into_owned();
        let rows = wrap(&Line::styled(text, style), columns.saturating_sub(2).max(1), 0);
        lines.extend(prefixed(rows, &Span::styled(sign, style), &Span::raw("  ")));
    }
    lines
}

fn fields(input: &Value, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let Some(fields) = input.as_object() else { return paragraphs(&input.to_string(), columns, theme.text) };
    let mut lines = Vec::new();
    for (name, value) in fields {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = clean(&text).into_owned();
        let mut parts = text.lines();
        let first = Line::from(vec![
            Span::styled(format!("{name}: "), theme.dim),
            Span::raw(parts.next().unwrap_or_default().to_owned()),
        ]);
        lines.extend(wrap(&first, columns, 2));
        lines.extend(parts.flat_map(|part| wrap(&Line::raw(format!("  {part}")), columns, 2)));
    }
    lines
}
