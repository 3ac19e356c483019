//! What the user may want to say next: proposed by the small model after a turn, if the user likes that.

use serde_json::json;
use tiller_protocol::command::Event;
use tiller_protocol::entry::Outcome;
use tiller_protocol::id::ChainId;
use tiller_protocol::mode::Mode;

use super::{Aside, Task};
use crate::beside::{Bill, small_question};
use crate::store::StoreError;
use crate::telemetry::Telemetry;

const INSTRUCTIONS: &str = include_str!("suggestion.md");
/// Answers of the model before which nothing is proposed.
const LEAST_TURNS: u32 = 2;
/// Characters of the conversation that the model gets to see, of each side.
const SHOWN: usize = 2_000;
/// Characters of the longest proposal.
const LONGEST: usize = 200;
/// What the model says if it has none.
const NONE: &str = "NONE";

/// What decides whether something is proposed.
struct Situation {
    mode: Mode,
    interactive: bool,
    succeeded: bool,
    asks: bool,
    queued: bool,
    turns: u32,
}

impl Situation {
    /// Why nothing is proposed, if so.
    fn objection(&self) -> Option<&'static str> {
        match self {
            Self { mode: Mode::Plan, .. } => Some("plan_mode"),
            Self { interactive: false, .. } => Some("non_interactive"),
            Self { succeeded: false, .. } => Some("not_successful"),
            Self { asks: true, .. } => Some("pending_dialog"),
            Self { queued: true, .. } => Some("queue"),
            Self { turns: ..LEAST_TURNS, .. } => Some("early"),
            _ => None,
        }
    }
}

impl Task {
    /// Has something proposed after a turn, beside everything else.
    pub(super) fn suggest(&self, outcome: &Outcome) {
        if !self.fixed.steering.suggestions {
            return;
        }
        if let Some(reason) = self.situation(outcome).objection() {
            self.measure(&Telemetry::SuggestionSuppressed { reason });
            return;
        }
        let conversation = json!({
            "user": ending(&self.turn.prompt, SHOWN),
            "agent": ending(&self.turn.last_words, SHOWN),
        });
        let prompt = format!("{INSTRUCTIONS}\n{conversation}");
        let request = small_question(&self.services.small_model, &prompt);
        let (beside, asides) = (self.services.beside(), self.services.asides.clone());
        let (chain, ended) = (self.turn.chain, self.services.ended.clone());
        self.services.tasks.spawn(async move {
            let answer = tokio::select! {
                () = ended.cancelled() => return,
                answer = beside.ask(request) => answer,
            };
            match answer {
                Ok((answer, bill)) => {
                    let text = proposal(&answer.text());
                    // The session may be over; then nobody counts any more.
                    let _ = asides.send(Aside::Suggested { bill, text, chain });
                }
                Err(error) => tracing::info!("nothing is proposed: {error}"),
            }
        });
    }

    fn situation(&self, outcome: &Outcome) -> Situation {
        Situation {
            mode: self.services.policy.now().mode,
            interactive: self.services.interactive,
            succeeded: *outcome == Outcome::Success,
            asks: !self.asks.is_empty(),
            queued: !self.journal.state.queue.is_empty(),
            turns: self.journal.past.turns_without("prompt_suggestion"),
        }
    }

    /// Tells of a proposal, unless the conversation has gone on without it.
    pub(super) fn suggested(
        &mut self,
        bill: Bill,
        text: Option<String>,
        chain: ChainId,
    ) -> Result<(), StoreError> {
        self.count(bill)?;
        let is_idle = !self.in_turn && self.turn.chain == chain && self.journal.state.queue.is_empty();
        match text.filter(|_| is_idle) {
            Some(text) => self.journal.tell(Event::Suggestion(text)),
            None => self.measure(&Telemetry::SuggestionSuppressed { reason: "late_or_empty" }),
        }
        Ok(())
    }
}

/// The proposal in an answer: one line that somebody could have typed.
fn proposal(answer: &str) -> Option<String> {
    let line = answer.trim().lines().next()?.trim().trim_matches('"').trim();
    let is_one = !line.is_empty() && line != NONE && line.chars().count() <= LONGEST;
    (is_one && !line.chars().any(char::is_control)).then(|| line.to_owned())
}

fn ending(text: &str, characters: usize) -> &str {
    let start = text.char_indices().rev().nth(characters.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    // SESS-19, PLAN-61
    #[test]
    fn nothing_is_proposed_where_it_would_disturb() {
        let fine = || Situation {
            mode: Mode::Default,
            interactive: true,
            succeeded: true,
            asks: false,
            queued: false,
            turns: 2,
        };
        assert_eq!(fine().objection(), None);
        for (situation, reason) in [
            (Situation { mode: Mode::Plan, ..fine() }, "plan_mode"),
            (Situation { interactive: false, ..fine() }, "non_interactive"),
            (Situation { succeeded: false, ..fine() }, "not_successful"),
            (Situation { asks: true, ..fine() }, "pending_dialog"),
            (Situation { queued: true, ..fine() }, "queue"),
            (Situation { turns: 1, ..fine() }, "early"),
        ] {
            assert_eq!(situation.objection(), Some(reason));
        }
    }

    #[test]
    fn a_proposal_is_a_line_that_somebody_could_have_typed() {
        assert_eq!(proposal("  \"run the tests\"\nbecause"), Some("run the tests".to_owned()));
        for none in ["", "NONE", "\n", "a\u{1b}[31mb", &"x".repeat(LONGEST + 1)] {
            assert_eq!(proposal(none), None, "{none:?}");
        }
        assert_eq!((ending("abc", 2), ending("äöü", 2), ending("a", 5)), ("bc", "öü", "a"));
    }

    #[test]
    fn the_instructions_are_short() {
        let tokens = INSTRUCTIONS.len() / 4;
        assert!(tokens <= 150, "{tokens} tokens");
    }
}
