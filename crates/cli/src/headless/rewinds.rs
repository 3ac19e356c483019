//! Files that a host wants to go back: the session answers when it has done it.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tiller_protocol::command::Command;
use tiller_protocol::id::EntryId;
use tiller_protocol::rewind::{RewindAct, RewindOrder, RewindPart, RewindReport, RewindTarget};

use super::control::Reaction;

/// Requests that the session has not answered yet, in their order.
#[derive(Default)]
pub(super) struct Rewinds(VecDeque<Value>);

impl Rewinds {
    /// Passes a request on.
    pub(super) fn order(&mut self, request: &Value, id: &Value) -> Reaction {
        let prompt = request["user_message_id"].as_str().and_then(|id| id.parse::<EntryId>().ok());
        let Some(prompt) = prompt else {
            let error = "user_message_id is missing, or is no UUID";
            let response = json!({"subtype": "error", "request_id": id, "error": error});
            let frames = vec![json!({"type": "control_response", "response": response})];
            return Reaction { frames, ..Reaction::default() };
        };
        let act = if request["dry_run"] == true { RewindAct::Preview } else { RewindAct::Carry };
        let order = RewindOrder { to: RewindTarget::Prompt(prompt), part: RewindPart::Files, act };
        self.0.push_back(id.clone());
        Reaction { commands: vec![Command::Rewind(order)], ..Reaction::default() }
    }

    /// The files went back, or that is what would happen.
    pub(super) fn done(&mut self, report: &RewindReport) -> Vec<Value> {
        let changed: Vec<Value> = report.files.iter().map(|file| json!(file.path)).collect();
        let mut answer = json!({"canRewind": true, "filesChanged": changed});
        if let Some(missing) = &report.missing {
            answer["warning"] = json!(missing);
        }
        self.answer(&answer)
    }

    /// They cannot.
    pub(super) fn refused(&mut self, why: &str) -> Vec<Value> {
        self.answer(&json!({"canRewind": false, "error": why}))
    }

    fn answer(&mut self, answer: &Value) -> Vec<Value> {
        let Some(id) = self.0.pop_front() else { return Vec::new() };
        let response = json!({"subtype": "success", "request_id": id, "response": answer});
        vec![json!({"type": "control_response", "response": response})]
    }
}
