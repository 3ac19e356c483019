//! What a call would do, for the eyes of the one who allows it.

use std::path::{Component, Path};

use ratatui::text::{Line, Span};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use tiller_protocol::ask::{FileChange, PermissionAsk};

use crate::diff::{self, Hunk};
use crate::markdown::Highlighter;
use crate::text::{paragraphs, prefixed, visible, visible_line, with_whole_signs, wrap};
use crate::theme::Theme;

/// The question that the call raises.
pub(super) fn title(ask: &PermissionAsk) -> String {
    let question = match ask.tool.as_str() {
        "Bash" if ask.leaves_sandbox => "Run again outside the sandbox?",
        "Bash" => "Run this command?",
        "Write" if ask.change.as_ref().is_some_and(|change| !change.is_new) => "Replace this file?",
        "Write" => "Write this file?",
        "NotebookEdit" if edit_mode(ask) == "delete" => "Delete this cell?",
        "Edit" | "NotebookEdit" => "Change this file?",
        "Read" => "Read this file?",
        "Grep" | "Glob" => "Search here?",
        "WebFetch" => "Fetch this page?",
        "WebSearch" => "Search the web?",
        tool => return format!("Use {}?", visible_line(tool)),
    };
    question.to_owned()
}

/// The command with its syntax or the change as a diff, and whatever else the input says, field by field.
pub(super) fn lines(ask: &PermissionAsk, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let field = |name: &str| ask.input.get(name).and_then(Value::as_str);
    let (mut lines, shown): (_, &[&str]) = match ask.tool.as_str() {
        "Bash" if field("command").is_some() => {
            let text = field("command").unwrap_or_default();
            (command(text, field("description"), columns, theme), &["command", "description"])
        }
        "Edit" if field("old_string").is_some() && field("new_string").is_some() => {
            let (old, new) =
                (field("old_string").unwrap_or_default(), field("new_string").unwrap_or_default());
            (change(ask, (old, new), columns, theme), &["file_path", "old_string", "new_string"])
        }
        "Write" if field("content").is_some() => {
            let content = field("content").unwrap_or_default();
            (change(ask, ("", content), columns, theme), &["file_path", "content"])
        }
        "NotebookEdit" if field("notebook_path").is_some() => {
            // What is deleted is known only to whoever has read the notebook.
            let new = field("new_source").filter(|_| edit_mode(ask) != "delete").unwrap_or_default();
            (change(ask, ("", new), columns, theme), &["notebook_path", "new_source"])
        }
        _ => (Vec::new(), &[]),
    };
    lines.extend(fields(&ask.input, shown, columns, theme));
    lines
}

/// What is done to a cell of a notebook.
fn edit_mode(ask: &PermissionAsk) -> &str {
    ask.input.get("edit_mode").and_then(Value::as_str).unwrap_or("replace")
}

fn command(text: &str, purpose: Option<&str>, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut highlighter = Highlighter::of_language("bash", theme);
    let room = columns.saturating_sub(2).max(1);
    let rows = visible(text)
        .lines()
        .flat_map(|line| wrap(&with_whole_signs(highlighter.line(line, theme)), room, 2))
        .collect();
    let mut lines = prefixed(rows, &Span::styled("$ ", theme.accent), &Span::raw("  "));
    if let Some(purpose) = purpose {
        lines.extend(paragraphs(&visible(purpose), columns, theme.dim));
    }
    lines
}

/// What becomes of the file: the lines that change with their numbers, as far as the session knows them.
fn change(ask: &PermissionAsk, (old, new): (&str, &str), columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let path = ["file_path", "notebook_path"].into_iter().find_map(|name| ask.input.get(name)?.as_str());
    let path = shown_path(path.unwrap_or_default(), &ask.cwd);
    let mut lines = paragraphs(&visible(&path), columns, theme.strong);
    let hunks = ask.change.as_ref().and_then(|change| change.patch.as_ref()).map(diff::of_patch);
    let hunks = hunks.unwrap_or_default();
    let (added, removed) = Hunk::counts(&hunks);
    if let Some(told) = ask.change.as_ref().and_then(|change| fate(ask, change, added, removed)) {
        lines.extend(wrap(&Line::styled(told, theme.warning), columns, 2));
    }
    if hunks.is_empty() {
        lines.extend(compared(old, new, columns, theme));
    } else {
        let visible_hunks: Vec<Hunk> = hunks.into_iter().map(|hunk| hunk.mapped(visible_line)).collect();
        let rows = diff::rows(&visible_hunks, columns, usize::MAX, theme);
        lines.extend(rows.into_iter().map(with_whole_signs));
    }
    lines
}

/// A path as it is shown: below the directory of the session, without that.
fn shown_path(path: &str, cwd: &Path) -> String {
    let below = Path::new(path).strip_prefix(cwd).ok();
    let is_plain = |below: &&Path| {
        !cwd.as_os_str().is_empty()
            && below.components().next().is_some()
            && below.components().all(|part| matches!(part, Component::Normal(_)))
    };
    below.filter(is_plain).map_or_else(|| path.to_owned(), |below| below.display().to_string())
}

/// What is easily overlooked: that what stands in the file now goes.
fn fate(ask: &PermissionAsk, change: &FileChange, added: usize, removed: usize) -> Option<String> {
    match (ask.tool.as_str(), change.is_new, &change.patch) {
        ("Write", false, Some(_)) => Some(format!("replaces the file that is there: +{added} -{removed}")),
        ("Write", false, None) => Some("replaces the file that is there".to_owned()),
        (_, true, _) => Some("a new file".to_owned()),
        _ => None,
    }
}

/// Old and new text line by line. Numbers of lines are not known here: the call names text, not places.
fn compared(old: &str, new: &str, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    // Before they are compared: a carriage return ends no line here.
    let (old, new) = (visible(old), visible(new));
    let diff = TextDiff::from_lines(old.as_ref(), new.as_ref());
    for change in diff.iter_all_changes() {
        let (sign, style) = match change.tag() {
            ChangeTag::Delete => ("- ", theme.removed),
            ChangeTag::Insert => ("+ ", theme.added),
            ChangeTag::Equal => ("  ", theme.dim),
        };
        let text = change.value().trim_end_matches('\n').to_owned();
        let rows = wrap(&Line::styled(text, style), columns.saturating_sub(2).max(1), 0);
        lines.extend(prefixed(rows, &Span::styled(sign, style), &Span::raw("  ")));
    }
    lines
}

/// The fields that are not shown already. In a call that is shown in its own way, what is not set does nothing; of
/// others, nobody knows.
fn fields(input: &Value, shown: &[&str], columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let Some(fields) = input.as_object() else {
        return paragraphs(&visible(&input.to_string()), columns, theme.text);
    };
    let is_set = |value: &Value| shown.is_empty() || !matches!(value, Value::Null | Value::Bool(false));
    let mut lines = Vec::new();
    for (name, value) in
        fields.iter().filter(|(name, value)| !shown.contains(&name.as_str()) && is_set(value))
    {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = visible(&text);
        let mut parts = text.lines();
        let first = Line::from(vec![
            Span::styled(format!("{}: ", visible_line(name)), theme.dim),
            Span::raw(parts.next().unwrap_or_default().to_owned()),
        ]);
        lines.extend(wrap(&first, columns, 2));
        lines.extend(parts.flat_map(|part| wrap(&Line::raw(format!("  {part}")), columns, 2)));
    }
    lines
}
