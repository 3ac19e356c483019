//! Making room: old results are cleared, and a conversation that fills its window is folded into a summary.

mod fold;
mod summary;
mod survey;
mod undo;
mod wording;

use tiller_model::ModelError;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::compaction::{Cleared, Trigger};
use tiller_protocol::entry::{
    Body, EndMarker, EndReason, Epoch, Level, Origin, Outcome, TurnEnd, UserMessage,
};
use tiller_steering::compaction::{Automatic, Clearing, Fullness, Percent, Window, head_tokens};
use uuid::Uuid;

pub(super) use self::wording::{Timing, compare_folds};
use super::Task;
use super::turn::Turn;
use crate::store::StoreError;
use crate::telemetry::Telemetry;

/// When the conversation is folded by itself.
#[derive(Clone, Copy, Debug)]
pub struct CompactionChoice {
    /// Whether it is.
    pub automatic: bool,
    /// The share of the window at which it is.
    pub threshold: Percent,
}

impl Default for CompactionChoice {
    fn default() -> Self {
        Self { automatic: true, threshold: Percent::default() }
    }
}

/// What a task knows about making room.
pub(super) struct MakingRoom {
    automatic: Automatic,
    threshold: Percent,
    /// The user was told that the window is filling up.
    warned: bool,
    /// The user was told that prompt and tools alone fill it.
    told_of_head: bool,
    /// A model, and what its provider says that its window holds.
    limit: Option<(String, u64)>,
    /// The user wants the conversation to be folded, perhaps with certain instructions.
    pub(super) wanted: Option<Option<String>>,
    /// The model may look up what was folded.
    recall: bool,
}

impl MakingRoom {
    /// As the user has chosen; `recall` says whether the model may look up what was folded.
    pub(super) fn new(choice: CompactionChoice, recall: bool) -> Self {
        Self {
            automatic: Automatic::new(choice.automatic),
            threshold: choice.threshold,
            warned: false,
            told_of_head: false,
            limit: None,
            wanted: None,
            recall,
        }
    }
}

/// A turn whose conversation was folded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracking {
    turn: Uuid,
    /// Steps with calls since.
    counter: u32,
}

/// Why a conversation was not folded.
#[derive(Debug)]
enum Unfolded {
    /// The user stopped it.
    Stopped,
    /// A hook did.
    Hook(String),
    /// It did not work.
    Failed(String),
}

impl Unfolded {
    fn told(&self) -> String {
        match self {
            Self::Stopped => "it was interrupted".to_owned(),
            Self::Hook(reason) => format!("a hook did not let it happen: {reason}"),
            Self::Failed(why) => why.clone(),
        }
    }
}

type Folding = Result<(), Unfolded>;

impl Task {
    /// Makes room before a request. Says whether a model was asked for it, which has cost something.
    pub(super) async fn make_room(&mut self) -> Result<bool, StoreError> {
        if let Some(made) = self.recorded_room()? {
            return Ok(made);
        }
        self.clear_old_results()?;
        if let Some(instructions) = self.making_room.wanted.take() {
            self.turn.reservation = None;
            // Whatever came of it was told.
            let _ = self.compact(Trigger::Manual, instructions).await?;
            return Ok(true);
        }
        let fullness = self.fullness();
        if fullness == Fullness::Full && self.head_is_at_least(Fullness::Full) {
            self.tell_of_head()?;
            return Ok(false);
        }
        if fullness == Fullness::Full && self.making_room.automatic.is_on() && self.has_something_to_fold() {
            self.turn.reservation = None;
            self.compact_automatically().await?;
            return Ok(true);
        }
        if fullness >= Fullness::Warning {
            self.warn()?;
        }
        Ok(false)
    }

    /// What the model of the next step can take.
    fn window(&self) -> Window {
        let model = self.model_for_step();
        let info = self.services.model.info(&model);
        let told = self.making_room.limit.as_ref().filter(|(limited, _)| *limited == model);
        let tokens = told.map_or(info.context_window, |(_, limit)| info.context_window.min(*limit));
        Window { tokens, max_output: u64::from(info.max_output) }
    }

    /// How much of an answer fits into a window of which the provider has said what it holds.
    pub(super) fn most_output(&self) -> Option<u32> {
        let told = self.making_room.limit.as_ref().filter(|(limited, _)| *limited == self.model_for_step());
        told.map(|(_, limit)| u32::try_from(limit / 3).unwrap_or(u32::MAX).max(1))
    }

    /// What the head of requests takes, which no folding makes shorter.
    fn head_size(&self) -> u64 {
        self.epoch.as_ref().map_or(0, |epoch| head_tokens(epoch))
    }

    fn head_is_at_least(&self, fullness: Fullness) -> bool {
        self.window().fullness(self.head_size(), self.making_room.threshold) >= fullness
    }

    /// Whether the model has said something: a first prompt is sent as it is.
    fn has_something_to_fold(&self) -> bool {
        self.journal.state.answer.is_some() || self.journal.state.folded.is_some()
    }

    fn tell_of_head(&mut self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.making_room.told_of_head, true) {
            return Ok(());
        }
        let (head, window) = (self.head_size(), self.window().tokens);
        let text = format!(
            "System prompt and tools take about {head} tokens, and the model's window holds {window} tokens: compacting the \
             conversation cannot make room. Offer fewer tools, or use a model with a larger window."
        );
        self.notice("window_too_small", Level::Warning, text)
    }

    fn fullness(&self) -> Fullness {
        self.window().fullness(self.journal.room.gauge.tokens(), self.making_room.threshold)
    }

    /// Leaves old results out of requests. What the model thought may be bound to them: then it happens only where that
    /// can be left out as well.
    fn clear_old_results(&mut self) -> Result<(), StoreError> {
        if self.fullness() < Fullness::Light {
            return Ok(());
        }
        let binds = self.services.model.info(&self.model_for_step()).prefix_bound;
        if binds && self.journal.conversation.is_bound() {
            return Ok(());
        }
        let plan = self.services.policy.now().plan_file.clone();
        let Some(Clearing { calls, gain, out_of_sight }) = self.journal.room.light.clearing(plan.as_deref())
        else {
            return Ok(());
        };
        let count = calls.len();
        self.append(Body::Cleared(Cleared { calls, tokens: gain, out_of_sight }))?;
        if let Some(epoch) = self.epoch.clone().filter(|_| binds) {
            let reason = "old results were cleared".to_owned();
            self.append(Body::Epoch(Epoch { reason, ..Epoch::clone(&epoch) }))?;
        }
        let text =
            format!("To make room, {count} old results were cleared; about {gain} tokens are free again.");
        self.notice("light_compaction", Level::Info, text)
    }

    /// Tells the user once that the window is filling up.
    fn warn(&mut self) -> Result<(), StoreError> {
        if !self.has_something_to_fold() || std::mem::replace(&mut self.making_room.warned, true) {
            return Ok(());
        }
        let used = self.journal.room.gauge.tokens() * 100 / self.window().effective().max(1);
        let what = if self.making_room.automatic.is_on() {
            "the conversation will be compacted soon; /compact does it now"
        } else {
            "it is not compacted by itself; /compact does it"
        };
        self.notice("context_filling", Level::Warning, format!("The context is {used} % full: {what}."))
    }

    async fn compact_automatically(&mut self) -> Result<(), StoreError> {
        let folding = self.compact(Trigger::Auto, None).await?;
        let failed = match folding {
            Ok(()) => self.fullness() == Fullness::Full,
            Err(unfolded) => matches!(unfolded, Unfolded::Failed(_)),
        };
        if !failed {
            self.making_room.automatic.succeeded();
        } else if self.making_room.automatic.failed() {
            let text = "Automatic compaction is off for the rest of this session; run /compact to try again.";
            self.notice("compaction_given_up", Level::Warning, text.to_owned())?;
        }
        Ok(())
    }

    /// Whether a failure of a request is one that more room may mend, and that was not tried in vain.
    pub(super) fn could_make_room(&self, error: &ModelError) -> bool {
        let too_long =
            matches!(error, ModelError::PromptTooLong { .. } | ModelError::Api { status: 413, .. });
        too_long && self.making_room.automatic.is_wanted() && !self.turn.forced_room
    }

    /// Folds the conversation because the provider would not take it. Says whether that worked.
    pub(super) async fn force_room(&mut self, error: Option<&ModelError>) -> Result<bool, StoreError> {
        if let Some(made) = self.recorded_room()? {
            return Ok(made);
        }
        if let Some(ModelError::PromptTooLong { limit: Some(limit), .. }) = error {
            self.making_room.limit = Some((self.model_for_step(), *limit));
        }
        if !self.making_room.automatic.is_wanted() || std::mem::replace(&mut self.turn.forced_room, true) {
            return Ok(false);
        }
        if self.head_size() >= self.window().effective() {
            self.tell_of_head()?;
            return Ok(false);
        }
        self.turn.reservation = None;
        Ok(self.compact(Trigger::Auto, None).await?.is_ok())
    }

    /// Folds the conversation while no turn is running: this is a turn of its own.
    pub(super) async fn compact_now(&mut self, instructions: Option<String>) -> Result<(), StoreError> {
        self.begin_turn();
        self.ensure_epoch().await?;
        if let Some(message) = self.session_start_hooks().await? {
            return self.end_turn((Outcome::HookStopped { message }, None)).await;
        }
        let folding = self.compact(Trigger::Manual, instructions).await?;
        let end = match folding {
            Ok(()) => (self.stopped_by_hook().map_or(Outcome::Success, |(outcome, _)| outcome), None),
            Err(Unfolded::Hook(message)) => (Outcome::HookStopped { message }, None),
            Err(Unfolded::Stopped) => (Outcome::Interrupted, Some(EndReason::Interrupted)),
            Err(Unfolded::Failed(message)) => {
                (Outcome::Error { message, status: None }, Some(EndReason::Error))
            }
        };
        self.end_turn(end).await
    }

    fn begin_turn(&mut self) {
        self.turn = Turn::new(&self.fixed.env, &self.services.ended);
        self.journal.tell(Event::TurnStarted);
    }

    async fn end_turn(&mut self, (outcome, reason): (Outcome, Option<EndReason>)) -> Result<(), StoreError> {
        let marker = reason.map(|reason| EndMarker { tool_use: false, reason });
        self.journal.append_durably(Body::TurnEnded(TurnEnd { outcome, marker, steps: 0 })).await?;
        Ok(())
    }

    /// Folds the conversation, and tells how that went. Whatever goes wrong, the work can go on as before.
    async fn compact(
        &mut self,
        trigger: Trigger,
        instructions: Option<String>,
    ) -> Result<Folding, StoreError> {
        let tokens = self.journal.room.gauge.tokens();
        self.journal.tell(Event::CompactionStarted { trigger, tokens });
        let folding = self.fold(trigger, instructions).await?;
        if let Err(unfolded @ (Unfolded::Failed(_) | Unfolded::Hook(_))) = &folding {
            let text =
                format!("The conversation could not be compacted: {}. It stays as it is.", unfolded.told());
            self.notice("compaction_failed", Level::Warning, text)?;
        }
        if let Err(Unfolded::Hook(message)) = &folding {
            self.turn.hook_stop = Some(message.clone());
        }
        let failure = folding.as_ref().err().map(Unfolded::told);
        self.journal.tell(Event::CompactionEnded { failure });
        if folding.is_ok() {
            self.making_room.warned = false;
            let turn = self.fixed.env.fresh();
            self.turn.tracking.get_or_insert(Tracking { turn, counter: 0 });
        }
        Ok(folding)
    }

    /// Counts a step of a turn whose conversation was folded.
    pub(super) fn track(&mut self, calls: usize) {
        let Some(tracking) = self.turn.tracking.as_mut().filter(|_| calls > 0) else { return };
        tracking.counter += 1;
        let Tracking { turn, counter } = *tracking;
        self.measure(&Telemetry::PostAutocompactTurn { turn, counter });
    }
}

/// The message that stands in place of what was folded.
fn summary_message(text: &str) -> UserMessage {
    UserMessage::new(vec![RawBlock::text(text)], Origin::Summary)
}
