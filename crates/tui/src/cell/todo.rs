//! The todo list.

use ratatui::style::Modifier;
use ratatui::text::Line;
use tiller_protocol::effect::{Todo, TodoStatus};

use super::Paper;
use crate::text::clean;

/// The list; no more than `most` rows, with what is under way always among them.
pub(crate) fn todos(todos: &[Todo], most: usize, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let current = todos.iter().position(|todo| todo.status == TodoStatus::InProgress).unwrap_or(0);
    let skipped =
        if todos.len() > most { current.saturating_sub(most / 2).min(todos.len() - most) } else { 0 };
    let mut rows: Vec<Line<'static>> = Vec::new();
    for todo in todos.iter().skip(skipped).take(most) {
        let (mark, style, text) = match todo.status {
            TodoStatus::Completed => {
                ("☑ ", paper.theme.dim.add_modifier(Modifier::CROSSED_OUT), &todo.content)
            }
            TodoStatus::InProgress => ("▶ ", paper.theme.strong, &todo.active_form),
            TodoStatus::Pending => ("☐ ", paper.theme.text, &todo.content),
        };
        let mark_style =
            if todo.status == TodoStatus::Completed { paper.theme.dim } else { paper.theme.accent };
        let line = Line::styled(clean(text).replace('\n', " "), style);
        rows.extend(paper.marked(mark, mark_style, &line));
    }
    let hidden = todos.len().saturating_sub(most);
    if hidden > 0 {
        rows.push(Line::styled(format!("  … {hidden} more"), paper.theme.dim));
    }
    rows
}
