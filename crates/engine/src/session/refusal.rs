//! What to do about a part of the conversation that the provider refuses: it would refuse every later request as well.

use tiller_protocol::entry::{Body, Cause, Level, Repair};
use tiller_steering::Accused;

use super::Task;
use super::sample::{Attempt, Recovery, THINKING_DROPPED};
use crate::store::StoreError;

/// Why an epoch begins behind a part that is no longer sent; a replay knows it by this.
pub(crate) const PART_LEFT_OUT: &str = "a refused part was left out";
/// The same for reasoning.
pub(crate) const REASONING_LEFT_OUT: &str = "refused reasoning was left out";
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
        if is_old && !self.journal.conversation.is_bound() {
            self.begin_epoch_with_this_head(PART_LEFT_OUT)?;
        }
        Ok(Recovery::Again(attempt.model.clone()))
    }

    /// Has reasoning left out that was written under another prefix: by the provider, or, where it cannot be told to, by
    /// sending none of it.
    pub(super) async fn leave_out_reasoning(
        &mut self,
        attempt: &mut Attempt,
    ) -> Result<Recovery, StoreError> {
        let provider_can = self.services.model.info(&attempt.model).drops_thinking();
        let is_sent = !provider_can && self.journal.conversation.has_thinking();
        // In a replay it was not sent any more, and is known to have helped.
        if self.drop_thinking && !is_sent && self.services.tape.is_none() {
            return Ok(Recovery::Impossible);
        }
        self.drop_thinking = true;
        self.void(attempt, Cause::ThinkingRefused).await?;
        let text = "The provider no longer accepts some earlier reasoning; it is left out from now on.";
        self.notice(THINKING_DROPPED, Level::Info, text.to_owned())?;
        if is_sent {
            self.begin_epoch_with_this_head(REASONING_LEFT_OUT)?;
        }
        Ok(Recovery::Again(attempt.model.clone()))
    }
}
