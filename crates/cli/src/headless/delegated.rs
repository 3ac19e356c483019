//! What hosts are told of sub-agents and background tasks.

use std::path::Path;

use serde_json::{Value, json};
use tiller_protocol::command::{AgentInfo, BackgroundTask, Event, TaskKind, TaskState};
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::id::AgentId;
use tiller_protocol::state::Spent;

use super::frames::Frames;
use super::tally::Tally;

/// How a sub-agent has ended.
pub(super) struct AgentEnd<'a> {
    pub(super) info: Option<&'a AgentInfo>,
    pub(super) spent: &'a Spent,
    pub(super) state: TaskState,
    pub(super) outcome: &'a Result<String, String>,
}

/// The word for the end of a task.
fn status(state: TaskState) -> &'static str {
    match state {
        TaskState::Completed => "completed",
        TaskState::Stopped => "stopped",
        TaskState::Failed | TaskState::Running => "failed",
    }
}

impl Frames {
    /// A sub-agent begins.
    pub(super) fn agent_started(&self, info: &AgentInfo) -> Value {
        self.system(
            "task_started",
            json!({"task_id": info.id, "tool_use_id": info.call, "task_type": "local_agent",
                "description": info.description, "subagent_type": info.kind, "model": info.model}),
        )
    }

    /// A sub-agent has ended. Hosts wait for this one.
    pub(super) fn agent_ended(&self, id: &AgentId, end: &AgentEnd<'_>) -> Value {
        let AgentEnd { info, spent, state, outcome } = end;
        let (Ok(summary) | Err(summary)) = outcome;
        let status = status(*state);
        let tokens: u64 = spent.by_model.values().map(|model| model.usage.total()).sum();
        self.system(
            "task_notification",
            json!({"task_id": id, "tool_use_id": info.map(|info| &info.call), "status": status, "output_file": "",
                "summary": summary, "usage": {"total_tokens": tokens}, "total_cost_usd": spent.usd}),
        )
    }

    /// A background command began or ended. Agents are told of by frames of their own.
    pub(super) fn task_changed(&self, task: &BackgroundTask) -> Option<Value> {
        if task.kind == TaskKind::Agent {
            return None;
        }
        Some(match task.state {
            TaskState::Running => self.system(
                "task_started",
                json!({"task_id": task.id, "tool_use_id": task.call, "task_type": "local_bash",
                    "description": task.description}),
            ),
            ended => self.system(
                "task_notification",
                json!({"task_id": task.id, "tool_use_id": task.call, "status": status(ended),
                    "output_file": task.output.as_deref().unwrap_or(Path::new("")),
                    "summary": task.description}),
            ),
        })
    }

    /// What a sub-agent does, under the call that started it: its calls and their results, and its words if they are
    /// wanted.
    pub(super) fn of_agent(&self, agent: &AgentId, event: &Event, tally: &Tally) -> Option<Value> {
        let info = tally.agents.get(agent)?;
        let mut frame = match event {
            Event::Appended(entry) => self.said_by_agent(entry, tally)?,
            Event::Progress { call, data } => self.progress(call, data)?,
            _ => return None,
        };
        frame["parent_tool_use_id"] = json!(info.call);
        frame["subagent_type"] = json!(info.kind);
        Some(frame)
    }

    fn said_by_agent(&self, entry: &Entry, tally: &Tally) -> Option<Value> {
        match &entry.body {
            Body::Assistant(block) if tally.forward_text || block.block.as_tool_use().is_some() => {
                Some(self.assistant(entry, block, tally))
            }
            Body::Result(result) => Some(self.result_of_call(entry, result)),
            _ => None,
        }
    }
}
