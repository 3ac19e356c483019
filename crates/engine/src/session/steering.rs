//! Delivering what the user sent while the agent was working.

use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Attachment, Body, Delivery, Queued};
use tiller_protocol::id::EntryId;
use tiller_steering::queued;

use super::Task;
use super::hooks::Admission;
use crate::store::StoreError;
use crate::telemetry::Telemetry;

impl Task {
    /// Whether the user has said something that the running turn should hear.
    pub(super) fn steering_waits(&self) -> bool {
        self.journal.state.queue.iter().any(|queued| queued.delivery == Delivery::Steer)
    }

    /// Puts waiting steering input before the model, as far as hooks let it through; says how much. What arrives meanwhile, or is meant for later, stays queued.
    pub(super) async fn deliver_steering(&mut self) -> Result<usize, StoreError> {
        let waiting = self.journal.state.queue.iter().filter(|queued| queued.delivery == Delivery::Steer);
        let snapshot: Vec<Queued> = waiting.cloned().collect();
        let mut delivered = 0;
        for Queued { id, content, .. } in snapshot {
            match self.admit(id, content).await? {
                Admission::Admitted(content, context) => {
                    self.append(Body::Attachment(delivery(id, &content)))?;
                    self.attach(context)?;
                    delivered += 1;
                }
                Admission::Refused { ends_turn: false, .. } => {}
                Admission::Refused { reason, ends_turn: true } => {
                    self.turn.hook_stop = Some(reason);
                    break;
                }
            }
        }
        self.deliver_hook_responses()?;
        self.measure(&Telemetry::QueryAfterAttachments { total: delivered, changed_files: 0 });
        self.turn.pending_steering = delivered;
        Ok(delivered)
    }
}

fn delivery(id: EntryId, content: &[RawBlock]) -> Attachment {
    let prompt: Vec<Value> = content.iter().map(RawBlock::to_value).collect();
    let attachment = json!({"type": "queued_command", "id": id, "kind": "prompt", "prompt": prompt});
    let why = "the user sent it while the agent was working".to_owned();
    Attachment::new(attachment, "queued_commands", why, queued::render(content))
}
