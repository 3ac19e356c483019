//! `todo`, `todo_reminder`: the list of steps.

use serde::Serialize;
use tiller_protocol::effect::{Todo, TodoStatus};

use super::text::{Filled, fill};
use super::{Kind, Rendered};

const REMINDER: &str = include_str!("todo_reminder.md");
const AFTER_COMPACTION: &str = include_str!("todo.md");
const EMPTY: &str = include_str!("todo_empty.md");

/// The list as it comes back after compaction.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoAfterCompaction {
    content: Vec<Todo>,
    item_count: usize,
    context: &'static str,
}

impl TodoAfterCompaction {
    /// This list.
    #[must_use]
    pub fn new(content: Vec<Todo>) -> Self {
        Self { item_count: content.len(), content, context: "post-compact" }
    }
}

impl Kind for TodoAfterCompaction {
    const NAME: &'static str = "todo";

    fn render(&self) -> Rendered {
        let text = match self.content.as_slice() {
            [] => fill(EMPTY, &[]),
            todos => fill(AFTER_COMPACTION, &[("todos", &listed(todos))]),
        };
        Rendered::reminder(&text)
    }
}

/// A hint that the list was not used for some time.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoReminder {
    content: Vec<Todo>,
    item_count: usize,
}

impl TodoReminder {
    /// With this list.
    #[must_use]
    pub fn new(content: Vec<Todo>) -> Self {
        Self { item_count: content.len(), content }
    }
}

impl Kind for TodoReminder {
    const NAME: &'static str = "todo_reminder";

    fn render(&self) -> Rendered {
        let list = match self.content.as_slice() {
            [] => Filled::default(),
            todos => fill("The list as it stands:\n{todos}", &[("todos", &listed(todos))]),
        };
        Rendered::reminder(&fill(REMINDER, &[]).then(&list))
    }
}

fn listed(todos: &[Todo]) -> String {
    let line = |(at, todo): (usize, &Todo)| {
        let status = match todo.status {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in progress",
            TodoStatus::Completed => "completed",
        };
        format!("{}. [{status}] {}", at + 1, todo.content)
    };
    todos.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}
