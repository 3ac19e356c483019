//! `TaskOutput`: what has become of background agents, and a list of all background tasks.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;

use crate::cx::{AgentState, ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};

/// The longest wait, in seconds.
const LONGEST_WAIT: u64 = 600;

/// Tells what has become of a background agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskOutput;

/// What `TaskOutput` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOutputInput {
    /// The agent's id; leave it out for a list.
    #[serde(default)]
    task_id: Option<String>,
    /// Seconds to wait for its end.
    #[serde(default)]
    wait: Option<u64>,
}

impl Tool for TaskOutput {
    const NAME: &'static str = "TaskOutput";
    type Input = TaskOutputInput;

    fn describe(&self) -> Description {
        Description::new("Tells what has become of a background agent", include_str!("prompt.md"))
    }

    fn parallel(&self, _input: &TaskOutputInput) -> bool {
        true
    }

    fn read_only(&self, _input: &TaskOutputInput) -> bool {
        true
    }

    fn access(&self, _input: &TaskOutputInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: TaskOutputInput, cx: ToolCx) -> Result<Done, ToolError> {
        let Some(id) = input.task_id.filter(|id| !id.is_empty()) else { return Ok(list(&cx)) };
        let wait = Duration::from_secs(input.wait.unwrap_or(0).min(LONGEST_WAIT));
        let state = tokio::select! {
            state = cx.host.agent(&id, wait) => state,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let Some(state) = state else {
            let known: Vec<String> = cx.host.agents().into_iter().map(|agent| agent.id).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(ToolError::Model(format!("There is no background agent {id}. There are: {known}.")));
        };
        let text = match state.running {
            true => format!("[{}: {}] It is still at work.", state.id, state.status),
            false => format!("[{}: {}]\n{}", state.id, state.status, state.words),
        };
        Ok(Done::text(&text).with_detail(json!({
            "task_id": state.id,
            "status": state.status,
            "running": state.running,
            "output": state.words,
        })))
    }
}

fn list(cx: &ToolCx) -> Done {
    let agents = cx.host.agents().into_iter().map(|agent| {
        let AgentState { id, status, description, .. } = agent;
        json!({"task_id": id, "type": "agent", "status": status, "description": description})
    });
    let shells = cx.shells.list().into_iter().map(|shell| {
        json!({"task_id": shell.id, "type": "command", "status": shell.state.to_string(),
            "description": shell.command})
    });
    let tasks: Vec<_> = agents.chain(shells).collect();
    let line = |task: &serde_json::Value| {
        let field = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
        format!("{} ({}, {}): {}", field("task_id"), field("type"), field("status"), field("description"))
    };
    let text = match tasks.is_empty() {
        true => "There are no background tasks.".to_owned(),
        false => tasks.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    Done::text(&text).with_detail(json!({"tasks": tasks}))
}
