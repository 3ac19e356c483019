//! A turn: from the user's input until there is nothing more to do.

use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, EndMarker, EndReason, Level, Origin, Outcome, TurnEnd, UserMessage};
use tiller_protocol::id::{ChainId, EntryId};
use tokio_util::sync::CancellationToken;

use super::Task;
use super::sample::Sampled;
use crate::next::{Abort, Facts, Next, aborted, next};
use crate::store::StoreError;
use crate::telemetry::{self, Telemetry};

const GO_ON: &str = "Your last message was cut off by the output limit. Go on exactly where it stopped.";
const INTERRUPTED: &str = "[The user interrupted the work here.]";

/// What is known only while a turn runs.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) chain: ChainId,
    pub(super) depth: u32,
    pub(super) steps: u32,
    pub(super) token: CancellationToken,
    pub(super) abort: Option<Abort>,
    /// Steering messages the next answer will be the first to have seen.
    pub(super) pending_steering: usize,
    continuations: u32,
}

impl Turn {
    /// Stops the turn; the first reason counts.
    pub(super) fn stop(&mut self, abort: Abort) {
        self.abort.get_or_insert(abort);
        self.token.cancel();
    }
}

type End = (Outcome, Option<EndMarker>);

impl Task {
    /// Runs one turn to its end, whatever that is.
    pub(super) async fn turn(
        &mut self,
        id: EntryId,
        content: Vec<RawBlock>,
        origin: Origin,
    ) -> Result<(), StoreError> {
        self.turn = Turn { chain: ChainId(self.fixed.env.fresh()), ..Turn::default() };
        self.journal.tell(Event::TurnStarted);
        self.ensure_epoch().await?;
        self.append_as(id, Body::User(UserMessage { content, origin }))?;
        let (outcome, marker) = self.steps().await?;
        if outcome == Outcome::Interrupted {
            self.append(Body::User(hidden(INTERRUPTED)))?;
        }
        let steps = self.turn.steps;
        self.journal.append_durably(Body::TurnEnded(TurnEnd { outcome, marker, steps })).await?;
        Ok(())
    }

    async fn steps(&mut self) -> Result<End, StoreError> {
        loop {
            if let Some(end) = self.limit_reached()? {
                return Ok(end);
            }
            let sampled = self.step().await?;
            self.turn.depth += 1;
            let facts = match sampled {
                Sampled::Failed(outcome) => {
                    return Ok((outcome, Some(EndMarker { tool_use: false, reason: EndReason::Error })));
                }
                Sampled::Aborted(abort) => match aborted(abort, false) {
                    Next::End(outcome, marker) => return Ok((outcome, marker)),
                    _ => return Ok((Outcome::Interrupted, None)),
                },
                Sampled::Answered { stop, refusal, calls } => Facts {
                    abort: self.turn.abort,
                    calls,
                    stop: Some(stop),
                    refusal,
                    steering_waits: self.steering_waits(),
                    continuations: self.turn.continuations,
                },
            };
            match next(&facts) {
                Next::Sample | Next::DeliverSteering => self.deliver_steering()?,
                Next::Resume => {}
                Next::ContinueCut => {
                    self.turn.continuations += 1;
                    self.append(Body::User(hidden(GO_ON)))?;
                }
                Next::End(outcome, marker) => return Ok((outcome, marker)),
            }
        }
    }

    /// Limits are checked before the model is asked, so that nothing is cut in the middle.
    fn limit_reached(&mut self) -> Result<Option<End>, StoreError> {
        if let Some(max) = self.fixed.limits.max_turns
            && self.turn.steps >= max
        {
            self.notice(
                "max_turns",
                Level::Warning,
                format!("Stopped: the limit of {max} model requests is reached."),
            )?;
            return Ok(Some((Outcome::MaxTurns, None)));
        }
        let spent = self.journal.state.spent.usd;
        if let Some(max) = self.fixed.limits.max_budget_usd
            && spent >= max
        {
            let text = format!("Stopped: the spending limit of ${max} is reached (${spent:.4} spent).");
            self.notice("max_budget", Level::Warning, text)?;
            return Ok(Some((Outcome::MaxBudget, None)));
        }
        Ok(None)
    }

    pub(super) fn measure(&self, telemetry: &Telemetry<'_>) {
        telemetry::record(telemetry, self.turn.chain, self.turn.depth);
    }
}

/// A message of Tiller's own in the user's role.
fn hidden(text: &str) -> UserMessage {
    UserMessage { content: vec![RawBlock::text(text)], origin: Origin::Harness }
}
