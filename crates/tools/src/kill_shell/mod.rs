//! `KillShell`: ends a background command.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;

use crate::bash_output::unknown;
use crate::cx::{ToolCx, View};
use crate::shells::ShellState;
use crate::tool::{Description, Done, Tool, ToolError};

/// Ends a background command.
#[derive(Clone, Copy, Debug, Default)]
pub struct KillShell;

/// What `KillShell` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KillShellInput {
    /// The id of the command, e.g. bash_1.
    shell_id: String,
}

impl Tool for KillShell {
    const NAME: &'static str = "KillShell";
    type Input = KillShellInput;

    fn describe(&self) -> Description {
        Description::new("Ends a background command", include_str!("prompt.md"))
    }

    fn access(&self, _input: &KillShellInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: KillShellInput, cx: ToolCx) -> Result<Done, ToolError> {
        if cx.host.stop_agent(&input.shell_id) {
            let text = format!("The agent {} was told to stop.", input.shell_id);
            return Ok(Done::text(&text).with_detail(json!({"shell_id": input.shell_id, "message": text})));
        }
        let Some(before) = cx.shells.kill(&input.shell_id).await else {
            return Err(ToolError::Model(unknown(&input.shell_id, &cx)));
        };
        let text = match before.state {
            ShellState::Running => format!("{} was ended, with everything it had started.", before.id),
            ended => format!("{} had ended before: {ended}.", before.id),
        };
        Ok(Done::text(&text)
            .with_detail(json!({"shell_id": before.id, "command": before.command, "message": text})))
    }
}
