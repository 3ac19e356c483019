//! `ShellInput`: types into a background command.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::{Access, Script};

use crate::bash::masked_secret;
use crate::bash_output::unknown;
use crate::cx::{ToolCx, View};
use crate::shells::ShellError;
use crate::tool::{Description, Done, Tool, ToolError};

/// How long a command may take to read what was typed, once its pipe is full.
const PATIENCE: Duration = Duration::from_secs(30);

/// Types into a background command.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShellInput;

/// What `ShellInput` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellInputInput {
    /// The id of the command, e.g. bash_1.
    shell_id: String,
    /// What to type, newlines included.
    text: String,
    /// Whether that was all: the command then finds the end of its input.
    #[serde(default)]
    end: bool,
}

impl Tool for ShellInput {
    const NAME: &'static str = "ShellInput";
    type Input = ShellInputInput;

    fn describe(&self) -> Description {
        Description::new("Types into a background command", include_str!("prompt.md"))
    }

    fn validate(&self, input: &ShellInputInput, view: &View) -> Result<(), String> {
        if input.text.is_empty() && !input.end {
            return Err("There is nothing to type. Give a text, or set end.".to_owned());
        }
        masked_secret(&input.text, view)
    }

    fn access(&self, input: &ShellInputInput, view: &View) -> Vec<Access> {
        let nothing = || Script { command: String::new(), cwd: view.cwd.clone() };
        let mut script = view.typed.get(&input.shell_id).cloned().unwrap_or_else(nothing);
        script.command.push_str(&input.text);
        vec![Access::Exec(script)]
    }

    async fn run(&self, input: ShellInputInput, cx: ToolCx) -> Result<Done, ToolError> {
        // What is typed must not do more than a command that would be started now.
        let now = cx.host.confinement(&cx.permit).await.map_err(ToolError::Model)?;
        let typing = cx.shells.type_into(&input.shell_id, &input.text, &cx.permit, &now);
        let typed = tokio::select! {
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            () = tokio::time::sleep(PATIENCE) => {
                let text = format!("{} does not read: not all of it could be typed, and nothing more can be.", input.shell_id);
                return Err(ToolError::Model(text));
            }
            typed = typing => typed,
        };
        match typed {
            Err(ShellError::Unknown(id)) => return Err(ToolError::Model(unknown(&id, &cx))),
            Err(error) => return Err(ToolError::Model(error.to_string())),
            Ok(()) => {}
        }
        if input.end {
            cx.shells.end_input(&input.shell_id).await;
        }
        let end = if input.end { " and ended its input" } else { "" };
        let text = format!("Typed {} bytes into {}{end}.", input.text.len(), input.shell_id);
        Ok(Done::text(&text).with_detail(json!({"shell_id": input.shell_id, "message": text})))
    }
}
