//! A turn: from the user's input until there is nothing more to do.

use std::pin::pin;
use std::sync::Arc;

use futures::future::OptionFuture;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{
    Added, Body, EndMarker, EndReason, Level, Origin, Outcome, TurnEnd, UserMessage,
};
use tiller_protocol::env::Env;
use tiller_protocol::id::{ChainId, EntryId};
use tiller_protocol::ledger::Source;
use tiller_steering::source::Author;
use tiller_tools::{StructuredOutput, Tool};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::compaction::Tracking;
use super::hooks::Admission;
use super::invoke::{CALLED_FOR, Called};
use super::sample::Sampled;
use super::{Role, Task};
use crate::budget::Reservation;
use crate::executor::HandedOver;
use crate::guarded::{decides_below, notice_below};
use crate::next::{Abort, Facts, Form, Next, StopHooks, aborted, next};
use crate::store::StoreError;
use crate::telemetry::{self, Telemetry};
use crate::undo::Kept;

const GO_ON: &str = "Your last message was cut off by the output limit. Go on exactly where it stopped.";
const HAND_OVER: &str = "The result of this run has to be handed over in the form that its caller has laid down. Call \
     StructuredOutput with it now.";
/// Tokens that the results of one answer rarely exceed.
const RESULTS_AT_MOST: u64 = 50_000;
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
    /// Answers in a row that were cut off in the middle of a call.
    pub(super) cut_calls: u32,
    /// The output limit, since a call was cut off by the usual one.
    pub(super) raised: Option<u32>,
    /// Why a hook wants the turn to end.
    pub(super) hook_stop: Option<String>,
    /// The plan that the turn ends with.
    pub(super) handed_over: Option<HandedOver>,
    /// The agent is running because a Stop hook held it back.
    pub(super) stop_hook_active: bool,
    /// Ends that Stop hooks refused.
    pub(super) refused_ends: u32,
    /// What it began with.
    pub(super) prompt: String,
    /// What has become of the form that the result has to have.
    pub(super) form: Form,
    /// The text of the last answer.
    pub(super) last_words: String,
    /// Something may have been changed, and what was there before is kept.
    pub(super) has_kept: bool,
    /// What other work may change meanwhile is being kept.
    keeping: Option<JoinHandle<Kept>>,
    /// The turn's conversation was folded.
    pub(super) tracking: Option<Tracking>,
    /// The conversation was folded because the provider would not take it as it was.
    pub(super) forced_room: bool,
    /// Requests that were repeated without a part that the provider had refused.
    pub(super) refusals: u32,
    /// The model that a recipe names for this turn.
    pub(super) model: Option<String>,
    /// What recipes permit and forbid while the turn lasts.
    pub(super) grants: Vec<Granted>,
    /// What the last answer consisted of.
    pub(super) answered: Answered,
    /// What is set aside for the request that is being made.
    pub(super) reservation: Option<Reservation>,
}

/// What a recipe permits and forbids.
pub(super) struct Granted {
    /// The entry that tells of it, if it stands in one.
    pub(super) by: Option<EntryId>,
    /// Rules.
    pub(super) allow: Vec<String>,
    /// Rules.
    pub(super) deny: Vec<String>,
}

/// What an answer consisted of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answered {
    blocks: usize,
    calls: usize,
}

impl Turn {
    /// A turn that ends at the latest when the agent has to.
    pub(super) fn new(env: &Env, ended: &CancellationToken) -> Self {
        Self { chain: ChainId(env.fresh()), token: ended.child_token(), ..Self::default() }
    }

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

pub(super) type End = (Outcome, Option<EndMarker>);

/// What has become of what was said when the model was done already.
enum Late {
    /// The model gets to see some of it.
    Delivered,
    /// Hooks let none of it through, or the turn was stopped: there is nothing new for the model.
    Nothing {
        /// Something else was said meanwhile.
        more_waits: bool,
    },
}

impl Task {
    /// Runs one turn to its end, whatever that is.
    pub(super) async fn turn(
        &mut self,
        id: EntryId,
        content: Vec<RawBlock>,
        origin: Origin,
    ) -> Result<Outcome, StoreError> {
        self.turn = Turn::new(&self.fixed.env, &self.services.ended);
        if self.services.registry.names().contains(&StructuredOutput::NAME) {
            self.turn.form = Form::Missing { tries: 0 };
        }
        self.journal.tell(Event::TurnStarted);
        let name = self.journal.name();
        if let (Some(keeper), Role::Main { .. }) = (self.services.keeper.clone(), &self.role) {
            self.services.tasks.spawn(keeper.look_ahead(self.view().roots));
        }
        self.ensure_epoch().await?;
        let (outcome, marker) = match self.session_start_hooks().await? {
            Some(message) => {
                self.turn_away(id, &message)?;
                (Outcome::HookStopped { message }, None)
            }
            None => self.begin_with(id, content, origin).await?,
        };
        if outcome == Outcome::Interrupted {
            self.append(Body::User(hidden(INTERRUPTED, "the user has interrupted the turn")))?;
        }
        self.end_grants();
        self.keep_what_came_of_it().await?;
        let steps = self.turn.steps;
        self.turn.reservation = None;
        if let Some(Err(error)) = name.map(|name| name.carry(self.journal.session)) {
            tracing::warn!("the name of the session could not be repeated: {error}");
        }
        self.has_succeeded = outcome == Outcome::Success;
        let end = TurnEnd { outcome: outcome.clone(), marker, steps };
        self.journal.append_durably(Body::TurnEnded(end)).await?;
        Ok(outcome)
    }

    /// What the turn has changed is known by what is there before and after it.
    async fn keep_what_came_of_it(&mut self) -> Result<(), StoreError> {
        self.record_kept_beside().await?;
        let Some(keeper) = self.services.keeper.clone().filter(|_| self.turn.has_kept) else { return Ok(()) };
        let roots = self.view().roots;
        let kept = keeper.keep(roots.clone()).await;
        // Nobody plans to run anything in the directories of a replay.
        let is_told = matches!(self.role, Role::Main { .. }) && self.services.tape.is_none();
        if let Kept::Snapshot(until) = &kept
            && is_told
        {
            let changed = keeper.changed(until.clone(), move |path| decides_below(&roots, path)).await;
            notice_below(&changed)
                .into_iter()
                .try_for_each(|notice| self.append(Body::Notice(notice)).map(drop))?;
        }
        self.record_kept(kept)
    }

    /// While something works in the background, files may change during a turn that changes nothing itself. The request
    /// does not wait until they are kept.
    fn keep_beside_tasks(&mut self) {
        let is_main = matches!(self.role, Role::Main { .. });
        let Some(keeper) = self.services.keeper.clone().filter(|_| is_main) else { return };
        if self.task_facts().iter().any(|task| task.status == "running") {
            let roots = self.view().roots;
            self.turn.keeping = Some(self.services.tasks.spawn(async move { keeper.keep(roots).await }));
        }
    }

    /// Puts on record what was kept beside tasks, before the turn itself changes anything.
    pub(super) async fn record_kept_beside(&mut self) -> Result<(), StoreError> {
        match OptionFuture::from(self.turn.keeping.take()).await {
            Some(Ok(kept)) => self.record_kept(kept),
            Some(Err(error)) => {
                tracing::warn!("{error}");
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn record_kept(&mut self, kept: Kept) -> Result<(), StoreError> {
        match kept {
            Kept::Snapshot(snapshot) => {
                self.turn.has_kept = true;
                self.append(Body::Effect(Effect::Snapshot { snapshot, call: None })).map(drop)
            }
            Kept::Impossible(why) => self.notice("snapshots", Level::Warning, why),
            Kept::Nothing => Ok(()),
        }
    }

    async fn begin_with(
        &mut self,
        id: EntryId,
        content: Vec<RawBlock>,
        origin: Origin,
    ) -> Result<End, StoreError> {
        let admission = match origin {
            Origin::Harness | Origin::Summary => Admission::Admitted(content, Vec::new()),
            Origin::Typed | Origin::Queued | Origin::Composed => self.admit(id, content).await?,
        };
        let (content, context) = match admission {
            Admission::Admitted(content, context) => (content, context),
            Admission::Refused { reason, .. } => return Ok((Outcome::HookStopped { message: reason }, None)),
        };
        let called = match origin {
            Origin::Harness | Origin::Summary | Origin::Composed => Called::Nothing,
            // What came of it is on record.
            _ if self.services.tape.is_some() => Called::Nothing,
            Origin::Typed | Origin::Queued => match self.called(&content) {
                Called::Prompt(name, arguments) => Box::pin(self.ask_for_prompt(&name, &arguments)).await?,
                called => called,
            },
        };
        if let Called::Unknown(problem) = called {
            return self.refuse_unknown(id, problem);
        }
        let is_blank = content.iter().all(RawBlock::is_blank_text);
        let mut text = content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n");
        let mut author = Author::User;
        self.turn.prompt.clone_from(&text);
        let added = (origin == Origin::Harness).then(task_ended);
        self.append_as(id, Body::User(UserMessage { content, origin, added }))?;
        self.keep_beside_tasks();
        self.attach(context)?;
        if is_blank {
            return Ok(nothing_to_do());
        }
        match called {
            Called::Recipe(recipe, arguments) => match self.follow_recipe(&recipe, &arguments).await? {
                Ok(own_words) => (text, author) = own_words,
                Err(end) => return Ok(end),
            },
            Called::Words { name, content } => {
                let source = Source::Command { name };
                self.append(Body::User(UserMessage::hidden(content, source, CALLED_FOR)))?;
            }
            Called::Nothing | Called::Prompt(..) | Called::Unknown(_) => {}
        }
        self.take_recorded_words()?;
        self.attach_to_prompt(text, author, origin).await?;
        self.steps().await
    }

    async fn steps(&mut self) -> Result<End, StoreError> {
        loop {
            if let Some(end) = self.recorded_limit() {
                return Ok(end);
            }
            if let Some(end) = self.limit_reached().await? {
                return Ok(end);
            }
            let sampled = self.step().await?;
            self.catch_up()?;
            let facts = match sampled {
                Sampled::Failed(outcome) => {
                    return Ok((outcome, Some(EndMarker { tool_use: false, reason: EndReason::Error })));
                }
                Sampled::Aborted(abort) => {
                    // A refusal concerns a call, whether or not the answer with it was complete.
                    return Ok(aborted(abort, abort == Abort::ToolRejection));
                }
                Sampled::Limited(end) => return Ok(end),
                Sampled::Answered { stop, refusal, blocks, calls } => {
                    self.turn.answered = Answered { blocks, calls };
                    self.track(calls);
                    Facts {
                        abort: self.turn.abort,
                        calls,
                        stop: Some(stop),
                        refusal,
                        steering_waits: self.steering_waits(),
                        continuations: self.turn.continuations,
                        cut_calls: self.turn.cut_calls,
                        hook_stop: self.turn.hook_stop.take(),
                        handed_over: self.turn.handed_over.take(),
                        form: self.turn.form,
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
    async fn follow_up(&mut self, mut facts: Facts) -> Result<Option<End>, StoreError> {
        loop {
            let next = next(&facts);
            if let Some(end) = self.recorded_stop(&next) {
                return Ok(Some(end));
            }
            match next {
                Next::Sample => {
                    self.deliver_steering().await?;
                }
                Next::DeliverSteering => match self.deliver_late().await? {
                    Late::Delivered => {}
                    Late::Nothing { more_waits } => {
                        facts = Facts { steering_waits: more_waits, ..self.stopped_since(facts) };
                        continue;
                    }
                },
                Next::Resume => self.turn.continuations += 1,
                Next::ContinueCut => {
                    self.turn.continuations += 1;
                    self.append(Body::User(hidden(GO_ON, "the answer was cut off by the output limit")))?;
                }
                Next::MakeRoom => {
                    if let Some(end) = self.make_room_after(facts.calls).await? {
                        return Ok(Some(end));
                    }
                }
                Next::AskForResult => {
                    self.turn.form = self.turn.form.tried();
                    if let Form::Missing { tries: 1 } = self.turn.form {
                        self.append(Body::User(hidden(
                            HAND_OVER,
                            "the result was not handed over in its form",
                        )))?;
                    } else {
                        facts.form = self.turn.form;
                        continue;
                    }
                }
                Next::StopHooks => {
                    if let Some(text) = facts.unfinished() {
                        self.notice("answer_cut_off", Level::Warning, text)?;
                    }
                    if self.stop_hooks_object().await? {
                        return Ok(None);
                    }
                    let (steering_waits, stop_hooks) = (self.steering_waits(), StopHooks::Passed);
                    facts = Facts { steering_waits, stop_hooks, ..self.stopped_since(facts) };
                    continue;
                }
                Next::End(outcome, marker) => return Ok(Some((outcome, marker))),
            }
            // A hook may have refused what was about to be delivered, and everything after it.
            return Ok(self.stopped_by_hook());
        }
    }

    /// The same facts with what the user and hooks have said of the turn meanwhile.
    fn stopped_since(&mut self, facts: Facts) -> Facts {
        Facts { abort: self.turn.abort, hook_stop: self.turn.hook_stop.take(), ..facts }
    }

    /// Delivers what was said when the model was done already.
    async fn deliver_late(&mut self) -> Result<Late, StoreError> {
        self.turn.stop_hook_active = false;
        // Whoever says something more begins anew: refusals before and after it are not in a row.
        self.turn.refused_ends = 0;
        let offered = self.waiting_steering();
        if self.deliver_steering().await? > 0 {
            return Ok(Late::Delivered);
        }
        // What could not be delivered now could not be the next time either: it gets a turn of its own.
        let more_waits = self.waiting_steering().iter().any(|id| !offered.contains(id));
        Ok(Late::Nothing { more_waits: more_waits && self.steering_waits() })
    }

    /// Folds the conversation after an answer that has filled the window. Returns the end of the turn, if there is no way.
    async fn make_room_after(&mut self, calls: usize) -> Result<Option<End>, StoreError> {
        self.turn.continuations += 1;
        if calls > 0 {
            self.deliver_steering().await?;
            if let Some(end) = self.stopped_by_hook() {
                return Ok(Some(end));
            }
        } else {
            self.append(Body::User(hidden(GO_ON, "the answer has filled the context window")))?;
        }
        if self.force_room(None).await? {
            return Ok(None);
        }
        Ok(Some(self.stopped_by_hook().unwrap_or_else(window_full)))
    }

    /// The end of the turn, if a hook wants it.
    pub(super) fn stopped_by_hook(&mut self) -> Option<End> {
        self.turn.hook_stop.take().map(|message| (Outcome::HookStopped { message }, None))
    }

    /// Limits are checked before the model is asked, so that nothing is cut in the middle.
    async fn limit_reached(&mut self) -> Result<Option<End>, StoreError> {
        if let Some(max) = self.fixed.limits.max_turns
            && self.turn.steps >= max
        {
            let text = format!("Stopped: the limit of {max} model requests is reached.");
            self.notice("max_turns", Level::Warning, text)?;
            return Ok(Some((Outcome::MaxTurns, None)));
        }
        self.set_aside_for_step().await
    }

    /// Sets aside what the next request could cost. Returns the end of the turn, if there is not enough.
    pub(super) async fn set_aside_for_step(&mut self) -> Result<Option<End>, StoreError> {
        let model = self.model_for_step();
        self.set_aside(&model).await
    }

    /// The same for this model, in place of what was set aside before, while commands are still heard.
    pub(super) async fn set_aside(&mut self, model: &str) -> Result<Option<End>, StoreError> {
        self.turn.reservation = None;
        let model = self.services.model.info(model);
        let (budget, input) = (Arc::clone(&self.services.budget), self.likely_input());
        let token = self.turn.token.clone();
        let output = self.turn.raised.map_or(model.agent_output(), |raised| raised.min(model.max_output));
        let mut reserving = pin!(budget.reserve_for(&model, input, output));
        let reserved = loop {
            tokio::select! {
                biased;
                reserved = &mut reserving => break reserved,
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                () = token.cancelled() => {
                    return Ok(Some(aborted(self.turn.abort.unwrap_or(Abort::Interrupted), false)));
                }
            }
        };
        match reserved {
            Ok(reservation) => {
                self.turn.reservation = Some(reservation);
                Ok(None)
            }
            Err(reached) => {
                let outcome = reached.outcome();
                let kind = if outcome == Outcome::MaxBudget { "max_budget" } else { "limit" };
                self.notice(kind, Level::Warning, reached.explain())?;
                Ok(Some((outcome, None)))
            }
        }
    }

    /// Tokens that the next request will have, as far as that can be told without counting them.
    fn likely_input(&self) -> u64 {
        let limits = &self.fixed.limits;
        if limits.max_budget_usd.is_none() && limits.max_tokens.is_none() {
            return 0;
        }
        let (system, tools) = self.head();
        let messages = self.journal.conversation.bytes();
        let by_size = (system.len() + tools.len() + messages) as u64 / 3;
        // Images and documents are far smaller than their text; what the provider has counted is right.
        match self.journal.state.last_usage {
            Some(last) => by_size.min(last.total() + RESULTS_AT_MOST),
            None => by_size,
        }
    }

    pub(super) fn measure(&self, telemetry: &Telemetry<'_>) {
        telemetry::record(telemetry, self.turn.chain, self.turn.depth());
    }

    /// Measures what the model is about to get, before attachments are added to it.
    pub(super) fn measure_before_attachments(&self) {
        let (messages, Answered { blocks, calls }) = (self.journal.conversation.len(), self.turn.answered);
        let (assistants, results) = (blocks, calls);
        self.measure(&Telemetry::QueryBeforeAttachments { messages, assistants, results });
    }
}

/// Nothing more fits, and room could not be made.
fn window_full() -> End {
    let message = "the model's context window is full, and the conversation could not be compacted; start a new \
                   session, or use a model with a larger window";
    let marker = EndMarker { tool_use: false, reason: EndReason::Error };
    (Outcome::Error { message: message.to_owned(), status: None }, Some(marker))
}

/// A message without content starts nothing.
fn nothing_to_do() -> End {
    let message = "the message has no content; nothing was sent to the model".to_owned();
    let marker = EndMarker { tool_use: false, reason: EndReason::Error };
    (Outcome::Error { message, status: None }, Some(marker))
}

/// A message of the loop's own in the user's role.
fn hidden(text: &str, why: &str) -> UserMessage {
    UserMessage::hidden(vec![RawBlock::text(text)], Source::Loop, why)
}

/// Why a turn has begun that nobody has asked for.
fn task_ended() -> Added {
    Added { source: Source::Task, why: "work in the background has ended".to_owned() }
}
