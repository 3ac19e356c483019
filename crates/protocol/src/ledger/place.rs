//! Counting turns, steps and attempts.

use serde::Serialize;

use crate::entry::{AssistantBlock, Body, Cause, Entry, Response};
use crate::id::MessageId;
use crate::usage::FAILED;

/// The word with which an answer that was given up is recorded.
const ABANDONED: &str = "abandoned";

/// A place in a session. All numbers count from 1; 0 means that there was none yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The turn.
    pub turn: u32,
    /// The step, counted through the whole session.
    pub step: u32,
    /// The request of the step: a further one when the answer before became void.
    pub attempt: u32,
}

/// Where a session stands, by its log.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    place: Place,
    turn_open: bool,
    answer: Option<Answer>,
    /// The answer became void, and the request is repeated in the same step.
    repeats: bool,
}

#[derive(Clone, Debug)]
struct Answer {
    id: MessageId,
    complete: bool,
}

impl Progress {
    pub(super) fn now(&self) -> Place {
        self.place
    }

    /// Where something that is added now takes effect.
    pub(super) fn next(&self) -> Place {
        let turn = if self.turn_open { self.place.turn } else { self.place.turn + 1 };
        if self.repeats {
            return Place { turn, attempt: self.place.attempt + 1, ..self.place };
        }
        Place { turn, step: self.place.step + 1, attempt: 1 }
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        match &entry.body {
            Body::User(message) if !message.is_hidden() => self.begin_turn(),
            Body::Assistant(block) => self.block(block),
            Body::Response(response) if !response.side => self.response(response),
            Body::Orphaned(orphaned) => {
                self.answer = None;
                self.repeats |= is_repeated_after(orphaned.cause);
            }
            Body::TurnEnded(_) => {
                // A prompt that a hook refused is a turn without a message.
                if !self.turn_open {
                    self.begin_turn();
                }
                self.turn_open = false;
                self.answer = None;
                self.repeats = false;
            }
            _ => {}
        }
    }

    fn begin_turn(&mut self) {
        self.place.turn += 1;
        self.turn_open = true;
        self.answer = None;
        self.repeats = false;
    }

    fn block(&mut self, block: &AssistantBlock) {
        let open = self.answer.as_ref().filter(|answer| !answer.complete);
        // The text that stands for a failure belongs to the answer that failed.
        let belongs = open.is_some_and(|answer| block.api_error.is_some() || answer.id == block.message_id);
        if !belongs {
            self.begin_answer(block.message_id.clone());
        }
    }

    fn response(&mut self, response: &Response) {
        let open = self.answer.as_ref().filter(|answer| !answer.complete);
        if open.is_none_or(|answer| answer.id != response.message_id) {
            self.begin_answer(response.message_id.clone());
        }
        if let Some(answer) = &mut self.answer {
            // The text of a failure follows.
            answer.complete = response.stop_reason.as_str() != FAILED;
        }
        self.repeats |= response.stop_reason.as_str() == ABANDONED;
    }

    fn begin_answer(&mut self, id: MessageId) {
        // The line with the prompt may be lost.
        if !self.turn_open {
            self.begin_turn();
        }
        let Place { turn, step, attempt } = self.place;
        self.place = if std::mem::take(&mut self.repeats) {
            Place { turn, step, attempt: attempt + 1 }
        } else {
            Place { turn, step: step + 1, attempt: 1 }
        };
        self.answer = Some(Answer { id, complete: false });
    }
}

/// Whether the same step asks again after an answer became void for this reason.
fn is_repeated_after(cause: Cause) -> bool {
    matches!(cause, Cause::StreamingFallback | Cause::ModelFallback | Cause::ThinkingRefused)
}
