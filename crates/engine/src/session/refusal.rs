//! What to do about an image or a document that the provider refuses: it would refuse every later request as well.

use tiller_protocol::entry::{Body, Cause, Epoch, Level, Repair};
use tiller_steering::Accused;

use super::Task;
use super::sample::{Attempt, Recovery};
use crate::store::StoreError;

/// Why an epoch begins behind a part that is no longer sent; a replay knows it by this.
pub(crate) const PART_LEFT_OUT: &str = "a refused part was left out";
/// Requests of a turn that are repeated for such a reason. Each may uncover another part.
const PATIENCE: u32 = 8;

impl Task {
    /// Puts a note in the place of what a complaint is about, if that is a part of the conversation, and repeats the
    /// request.
    pub(super) async fn leave_out_refused(
        &mut self,
        attempt: &mut Attempt,
        complaint: &str,
    ) -> Result<Recovery, StoreError> {
        if self.turn.refusals >= PATIENCE {
            return Ok(Recovery::Impossible);
        }
        let Some(Accused { refusals, is_old }) = self.journal.conversation.accused(complaint) else {
            return Ok(Recovery::Impossible);
        };
        self.turn.refusals += 1;
        self.void(attempt, Cause::ApiError).await?;
        let what = match refusals.len() {
            1 => "left out a part that the provider refused".to_owned(),
            many => format!("left out {many} parts that the provider refused"),
        };
        let what = format!("{what}: {complaint}");
        self.append(Body::Repaired(Repair { what: what.clone(), refused: refusals, ..Repair::default() }))?;
        self.notice("part_refused", Level::Warning, format!("Tiller {what}"))?;
        // Reasoning that was written behind the part no longer fits. While its calls wait for results it has to stay.
        if is_old && !self.journal.conversation.is_bound()
            && let Some(epoch) = self.epoch.clone()
        {
            self.append(Body::Epoch(Epoch { reason: PART_LEFT_OUT.to_owned(), ..Epoch::clone(&epoch) }))?;
        }
        Ok(Recovery::Again(attempt.model.clone()))
    }
}
