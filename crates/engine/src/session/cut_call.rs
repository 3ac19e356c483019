//! Calls that were cut off in the middle. They are not run; the model is told why, and may write more from then on.

use serde_json::Value;
use tiller_protocol::block::ToolUse;
use tiller_protocol::usage::StopReason;
use tiller_tools::InputError;

use super::Task;
use super::sample::Attempt;
use crate::budget::Reservation;
use crate::executor::Order;

const IN_PARTS: &str =
    "Write it in smaller parts: begin with the first one, and add the others with further calls.";
const WINDOW_FULL: &str = "the context window is full";

impl Task {
    /// Lets a call run when its time has come.
    pub(super) fn line_up(&self, attempt: &mut Attempt, order: Order) {
        if self.fixed.streaming_tools {
            attempt.executor.add(order);
        } else {
            attempt.waiting.push(order);
        }
    }

    /// Something follows the call: whatever its input looks like, it is not cut off.
    pub(super) fn release_held(&self, attempt: &mut Attempt) {
        if let Some(order) = attempt.held.take() {
            self.line_up(attempt, order);
        }
    }

    /// Now it is known why the answer has ended.
    pub(super) fn settle_held(&mut self, attempt: &mut Attempt, stop: &StopReason) {
        let held = attempt.held.take();
        if !(held.is_some() && *stop == StopReason::MaxTokens) {
            self.turn.cut_calls = 0;
        }
        let Some(mut order) = held else { return };
        let tool = order.call.name.clone();
        match stop {
            StopReason::MaxTokens => {
                self.turn.cut_calls += 1;
                let (cause, advice) = self.raise_output(&attempt.model);
                order.prepared = Err(InputError::CutOff { tool, cause, advice });
            }
            StopReason::ContextWindowExceeded => {
                let (cause, advice) = (WINDOW_FULL.to_owned(), "Make it again.".to_owned());
                order.prepared = Err(InputError::CutOff { tool, cause, advice });
            }
            _ => {}
        }
        self.line_up(attempt, order);
    }

    /// From now on, answers of the turn may be as long as the model can make them.
    fn raise_output(&mut self, model: &str) -> (String, String) {
        let info = self.services.model.info(model);
        let granted = self.turn.reservation.as_ref().and_then(Reservation::max_tokens);
        let limit = granted.or(self.turn.raised).unwrap_or_else(|| info.agent_output());
        let used = self.journal.state.last_usage.map_or(0, |usage| usage.total());
        let room = u32::try_from(info.context_window.saturating_sub(used)).unwrap_or(u32::MAX);
        let most = info.max_output.min(room).min(self.most_output().unwrap_or(u32::MAX));
        let usual = self.turn.raised.unwrap_or_else(|| info.agent_output());
        let cause = format!("the output limit of {limit} tokens was reached");
        // What the budget does not pay for, no other limit makes possible.
        if granted.is_some_and(|granted| granted < usual) || most <= limit {
            return (cause, IN_PARTS.to_owned());
        }
        self.turn.raised = Some(most);
        (cause, format!("The limit is {most} tokens from now on: make the call again, in full."))
    }
}

/// What a call looks like that has no input, or of whose input nothing has come.
pub(super) fn is_without_input(call: &ToolUse) -> bool {
    call.input.as_object().is_none_or(serde_json::Map::<String, Value>::is_empty)
}
