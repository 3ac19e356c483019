//! Delivering what the user sent while the agent was working.

use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Attachment, Body, Delivery, Queued};
use tiller_steering::queued;

use super::Task;
use crate::store::StoreError;
use crate::telemetry::Telemetry;

impl Task {
    /// Whether the user has said something that the running turn should hear.
    pub(super) fn steering_waits(&self) -> bool {
        self.journal.state.queue.iter().any(|queued| queued.delivery == Delivery::Steer)
    }

    /// Puts waiting steering input before the model. What arrives meanwhile, or is meant for later, stays queued.
    pub(super) fn deliver_steering(&mut self) -> Result<(), StoreError> {
        let waiting = self.journal.state.queue.iter().filter(|queued| queued.delivery == Delivery::Steer);
        let snapshot: Vec<Queued> = waiting.cloned().collect();
        for queued in &snapshot {
            let content: Vec<Value> = queued.content.iter().map(RawBlock::to_value).collect();
            self.append(Body::Attachment(Attachment {
                attachment: json!({"type": "queued_command", "id": queued.id, "kind": "prompt", "prompt": content}),
                why: "the user sent it while the agent was working".to_owned(),
                rendered: queued::render(&queued.content),
            }))?;
        }
        self.measure(&Telemetry::QueryAfterAttachments { total: snapshot.len(), changed_files: 0 });
        self.turn.pending_steering = snapshot.len();
        Ok(())
    }
}
