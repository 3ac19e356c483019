//! `TodoWrite`: keeps the list of what is to be done.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;
use tiller_protocol::effect::{Effect, Todo, TodoStatus};

use crate::cx::{ToolCx, View};
use crate::todo_file::is_complete;
use crate::tool::{Description, Done, Tool, ToolError};

/// Replaces the todo list.
#[derive(Clone, Copy, Debug, Default)]
pub struct TodoWrite;

/// What `TodoWrite` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoWriteInput {
    /// The whole list as it shall be from now on.
    todos: Vec<Todo>,
}

impl Tool for TodoWrite {
    const NAME: &'static str = "TodoWrite";
    type Input = TodoWriteInput;

    fn describe(&self) -> Description {
        let mut description = Description::new("Keeps the list of steps", include_str!("prompt.md"));
        description.examples = vec![json!({"todos": [
            {"content": "Find all callers of parse_date", "status": "completed", "activeForm": "Finding all callers of parse_date"},
            {"content": "Let parse_date return a Result", "status": "in_progress", "activeForm": "Letting parse_date return a Result"},
            {"content": "Run the tests", "status": "pending", "activeForm": "Running the tests"},
        ]})];
        description
    }

    fn validate(&self, input: &TodoWriteInput, _view: &View) -> Result<(), String> {
        match input.todos.iter().position(|todo| !is_complete(todo)) {
            None => Ok(()),
            Some(at) => {
                Err(format!("todos[{at}] needs a content and an activeForm of at least one character."))
            }
        }
    }

    fn access(&self, _input: &TodoWriteInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: TodoWriteInput, cx: ToolCx) -> Result<Done, ToolError> {
        let all_done = input.todos.iter().all(|todo| todo.status == TodoStatus::Completed);
        let text = if all_done {
            "The todo list is finished and has been cleared."
        } else {
            "The todo list was updated. Keep it up to date as you make progress, and go on with the current item."
        };
        let detail = json!({"oldTodos": cx.view.todos, "newTodos": input.todos});
        let todos = if all_done { Vec::new() } else { input.todos };
        Ok(Done::text(text).with_detail(detail).with_effect(Effect::SetTodos { todos }))
    }
}
