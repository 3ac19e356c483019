//! A turn: from the user's input until there is nothing more to do.

use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, EndMarker, EndReason, Level, Origin, Outcome, TurnEnd, UserMessage};
use tiller_protocol::id::{ChainId, EntryId};
use tokio_util::sync::CancellationToken;

use super::Task;
use super::hooks::Admission;
use super::sample::Sampled;
use crate::next::{Abort, Facts, Next, StopHooks, aborted, next};
use crate::store::StoreError;
use crate::telemetry::{self, Telemetry};

const GO_ON: &str = "Your last message was cut off by the output limit. Go on exactly where it stopped.";
const INTERRUPTED: &str = "[The user interrupted the work here.]";

/// What is known only while a turn runs.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) chain: ChainId,
    /// Steps begun.
    pub(super) steps: u32,
    pub(super) token: CancellationToken,
    pub(super) abort: Option<Abort>,
    /// Steering messages the next answer will be the first to have seen.
    pub(super) pending_steering: usize,
    continuations: u32,
    /// Why a hook of a call wants the turn to end.
    pub(super) hook_stop: Option<String>,
    /// The agent is running because a Stop hook held it back.
    pub(super) stop_hook_active: bool,
    /// Ends that Stop hooks refused.
    pub(super) refused_ends: u32,
}

impl Turn {
    /// The number of the current step, from 0.
    pub(super) fn depth(&self) -> u32 {
        self.steps.saturating_sub(1)
    }

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
        let (chain, token) = (ChainId(self.fixed.env.fresh()), self.services.ended.child_token());
        self.turn = Turn { chain, token, ..Turn::default() };
        self.journal.tell(Event::TurnStarted);
        self.ensure_epoch().await?;
        self.session_start_hooks().await?;
        let (outcome, marker) = self.begin_with(id, content, origin).await?;
        if outcome == Outcome::Interrupted {
            self.append(Body::User(hidden(INTERRUPTED)))?;
        }
        let steps = self.turn.steps;
        self.journal.append_durably(Body::TurnEnded(TurnEnd { outcome, marker, steps })).await?;
        Ok(())
    }

    async fn begin_with(
        &mut self,
        id: EntryId,
        content: Vec<RawBlock>,
        origin: Origin,
    ) -> Result<End, StoreError> {
        let (content, context) = match self.admit(id, content).await? {
            Admission::Admitted(content, context) => (content, context),
            Admission::Refused { reason, .. } => return Ok((Outcome::HookStopped { message: reason }, None)),
        };
        let is_blank = content.iter().all(RawBlock::is_blank_text);
        let text = content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n");
        self.append_as(id, Body::User(UserMessage { content, origin }))?;
        self.attach(context)?;
        if is_blank {
            return Ok(nothing_to_do());
        }
        self.attach_to_prompt(text).await?;
        self.steps().await
    }

    async fn steps(&mut self) -> Result<End, StoreError> {
        loop {
            if let Some(end) = self.limit_reached()? {
                return Ok(end);
            }
            let facts = match self.step().await? {
                Sampled::Failed(outcome) => {
                    return Ok((outcome, Some(EndMarker { tool_use: false, reason: EndReason::Error })));
                }
                Sampled::Aborted(abort) => {
                    // A refusal concerns a call, whether or not the answer with it was complete.
                    return Ok(aborted(abort, abort == Abort::ToolRejection));
                }
                Sampled::Answered { stop, refusal, blocks, calls } => {
                    self.measure_answer(blocks, calls);
                    Facts {
                        abort: self.turn.abort,
                        calls,
                        stop: Some(stop),
                        refusal,
                        steering_waits: self.steering_waits(),
                        continuations: self.turn.continuations,
                        hook_stop: self.turn.hook_stop.take(),
                        stop_hooks: StopHooks::Due,
                    }
                }
            };
            if let Some(end) = self.follow_up(facts).await? {
                return Ok(end);
            }
        }
    }

    /// Does what follows a step. Returns the end of the turn, if it is that.
    async fn follow_up(&mut self, facts: Facts) -> Result<Option<End>, StoreError> {
        match next(&facts) {
            Next::Sample => {
                self.deliver_steering().await?;
            }
            Next::DeliverSteering => {
                self.turn.stop_hook_active = false;
                if self.deliver_steering().await? == 0 {
                    // Hooks let none of it through, so there is nothing new for the model.
                    let facts = Facts { steering_waits: self.steering_waits(), ..facts };
                    return Box::pin(self.follow_up(facts)).await;
                }
            }
            Next::Resume => self.turn.continuations += 1,
            Next::ContinueCut => {
                self.turn.continuations += 1;
                self.append(Body::User(hidden(GO_ON)))?;
            }
            Next::StopHooks => {
                if self.stop_hooks_object().await? {
                    return Ok(None);
                }
                let (abort, steering_waits) = (self.turn.abort, self.steering_waits());
                let heard = Facts { abort, steering_waits, stop_hooks: StopHooks::Passed, ..facts };
                return Box::pin(self.follow_up(heard)).await;
            }
            Next::End(outcome, marker) => return Ok(Some((outcome, marker))),
        }
        // A hook may have refused what was about to be delivered, and everything after it.
        let refused = self.turn.hook_stop.take();
        Ok(refused.map(|message| (Outcome::HookStopped { message }, None)))
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
        let (spent, unpriced) = (self.journal.state.spent.usd, self.journal.state.spent.unpriced);
        if let Some(max) = self.fixed.limits.max_budget_usd
            && (spent >= max || unpriced)
        {
            let text = if unpriced {
                format!("Stopped: the spending limit of ${max} cannot be kept, a model's price is not known.")
            } else {
                format!("Stopped: the spending limit of ${max} is reached (${spent:.4} spent).")
            };
            self.notice("max_budget", Level::Warning, text)?;
            return Ok(Some((Outcome::MaxBudget, None)));
        }
        Ok(None)
    }

    pub(super) fn measure(&self, telemetry: &Telemetry<'_>) {
        telemetry::record(telemetry, self.turn.chain, self.turn.depth());
    }

    fn measure_answer(&self, assistants: usize, results: usize) {
        let messages = self.journal.conversation.len();
        self.measure(&Telemetry::QueryBeforeAttachments { messages, assistants, results });
    }
}

/// A message without content starts nothing.
fn nothing_to_do() -> End {
    let message = "the message has no content; nothing was sent to the model".to_owned();
    let marker = EndMarker { tool_use: false, reason: EndReason::Error };
    (Outcome::Error { message, status: None }, Some(marker))
}

/// A message of Tiller's own in the user's role.
fn hidden(text: &str) -> UserMessage {
    UserMessage { content: vec![RawBlock::text(text)], origin: Origin::Harness }
}
