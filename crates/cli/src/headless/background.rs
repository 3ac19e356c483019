//! What a host may ask about background tasks.

use serde_json::{Value, json};
use tiller_protocol::command::{Command, Event};
use tiller_protocol::id::CallId;

use super::control::Answered;
use super::tally::Tally;

/// The calls that run, those of sub-agents included.
#[derive(Default)]
pub(super) struct Calls(Vec<CallId>);

impl Calls {
    /// Keeps count.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::CallStarted(id) => self.0.push(id.clone()),
            Event::CallStopped(id) => self.0.retain(|call| call != id),
            Event::Agent(_, event) => self.note(event),
            _ => {}
        }
    }

    /// Lets one call go on in the background, or all that can.
    pub(super) fn background(&self, request: &Value) -> Answered {
        let meant: Vec<CallId> = match request["tool_use_id"].as_str() {
            None => self.0.clone(),
            Some(id) => self.0.iter().filter(|call| call.as_str() == id).cloned().collect(),
        };
        if meant.is_empty() {
            let which = request["tool_use_id"].as_str().map(|id| format!(" {id}")).unwrap_or_default();
            return Err(format!("there is no running call{which}"));
        }
        let answer = json!({"tool_use_ids": meant});
        Ok((answer, meant.into_iter().map(Command::Background).collect()))
    }
}

/// Stops a background task.
pub(super) fn stop_task(request: &Value, tally: &Tally) -> Answered {
    match request["task_id"].as_str() {
        Some(id) if tally.tasks.contains_key(id) => Ok((json!({}), vec![Command::StopTask(id.to_owned())])),
        Some(id) => Err(format!("there is no background task {id}")),
        None => Err("stop_task needs a task_id".to_owned()),
    }
}
