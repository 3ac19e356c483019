//! What came from outside during a turn, handed out where it came in.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tiller_protocol::command::Command;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Attachment, Body, Entry, Notice, Origin, Outcome, Response};
use tiller_protocol::id::{CallId, EntryId};
use tiller_protocol::usage::StopReason;
use tiller_steering::Conversation;
use tiller_steering::pipeline::Sampled;
use tokio::sync::{Notify, mpsc};

use super::compare::Rewritten;
use super::difference::Difference;
use super::index::{Index, Remaining};
use super::live::LiveTools;
use super::model::Played;
use super::play::{FALLBACK, THINKING_DROPPED};
use crate::hook::Outcome as HookOutcome;
use crate::session::{PART_LEFT_OUT, REASONING_LEFT_OUT};

/// The source that hooks are in the log.
pub(super) const HOOK: &str = "hook";
/// What a hook has found out in the background.
pub(super) const LATE_HOOK: &str = "async_hook_response";
/// A message that was sent while the agent worked.
const QUEUED: &str = "queued_command";

/// What stands between the model that was left and the one that took over, in the notice of it.
pub(crate) const OVERLOADED: &str = " is overloaded; ";

/// A model that took over.
pub(crate) struct Fallback {
    pub(crate) model: String,
    /// The model of a recipe, if it has taken the place of that, which it keeps until the end of the turn.
    pub(crate) of_recipe: Option<String>,
}

/// The recording of one log, turn by turn.
pub(crate) struct Tape {
    log: PathBuf,
    reading: Mutex<Reading>,
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    pub(super) live: Option<LiveTools>,
    /// Tells that a call has ended.
    pub(super) ended: Notify,
}

/// A turn that is being read.
pub(super) struct Reading {
    /// The entries of the turn behind its prompt.
    pub(super) entries: Vec<Entry>,
    /// Those that have not been handed out yet.
    pub(super) remaining: Remaining,
    /// What is known of them.
    pub(super) index: Index,
    /// Calls that have ended.
    pub(super) ended: HashSet<CallId>,
    /// Up to where hooks have heard of messages that were sent meanwhile.
    heard: usize,
    /// The conversation as it was recorded, up to the next answer.
    pub(super) expected: Conversation,
    pub(super) pushed: usize,
    /// The last request as it would have been recorded.
    pub(super) rewritten: Rewritten,
    /// Below it paths differ for no other reason than that this is a replay.
    pub(super) scratch: String,
    pub(super) config_dir: String,
    pub(super) agent: Option<String>,
    /// Names of the tools on offer.
    offered: Vec<String>,
    pub(super) prompt: usize,
    pub(super) until: Option<usize>,
    /// A step has begun, and no request of it was answered yet.
    pub(super) preparing: bool,
    /// No step more is wanted.
    stopped: bool,
    pub(super) found: Found,
}

/// When a request was sent.
#[derive(Clone, Copy)]
enum Sent {
    /// Behind the entry with this number.
    Behind(u64),
    /// At about this time: earlier versions did not note more.
    At(Timestamp),
}

/// What was found so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) steps: usize,
    pub(crate) calls: usize,
    pub(crate) difference: Option<Difference>,
    pub(crate) unchecked: Vec<String>,
}

impl Tape {
    pub(super) fn new(
        log: &Path,
        config_dir: &Path,
        scratch: &Path,
        until: Option<usize>,
        live: Option<LiveTools>,
    ) -> Self {
        let resolved = fs_err::canonicalize(scratch).unwrap_or_else(|_| scratch.to_owned());
        let reading = Reading {
            entries: Vec::new(),
            remaining: Remaining::default(),
            index: Index::default(),
            ended: HashSet::new(),
            heard: 0,
            expected: Conversation::default(),
            pushed: 0,
            rewritten: Rewritten::default(),
            scratch: resolved.display().to_string(),
            config_dir: config_dir.display().to_string(),
            agent: None,
            offered: Vec::new(),
            prompt: 0,
            until,
            preparing: false,
            stopped: false,
            found: Found::default(),
        };
        let (log, reading) = (log.to_owned(), Mutex::new(reading));
        Self { log, reading, commands: Mutex::new(None), live, ended: Notify::new() }
    }

    pub(super) fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says through whom the session is talked to, and whose log it is.
    pub(crate) fn attend(&self, commands: mpsc::Sender<Command>, agent: Option<String>) {
        *self.commands.lock().unwrap_or_else(PoisonError::into_inner) = Some(commands);
        self.reading().agent = agent;
    }

    /// A turn begins, with the conversation as it stood before its prompt. The prompt is the first of the entries.
    pub(crate) fn begin(&self, entries: &[Entry], mut before: Conversation) {
        let mut reading = self.reading();
        let (prompt, behind) = entries.split_at(1.min(entries.len()));
        prompt.iter().for_each(|entry| drop(before.push(entry)));
        reading.entries = behind.to_vec();
        reading.remaining = Remaining::of(behind);
        reading.index = Index::of(behind);
        reading.ended.clear();
        reading.heard = 0;
        reading.expected = before;
        reading.pushed = 0;
        reading.preparing = false;
        reading.prompt += 1;
    }

    /// The turn is over; says whether the next one may begin.
    pub(crate) fn end(&self, outcome: &Outcome) -> bool {
        self.reading().end(outcome);
        !self.reading().is_over()
    }

    /// What was found.
    pub(crate) fn found(&self) -> Found {
        self.reading().found.clone()
    }

    pub(super) fn play(&self) -> Vec<Played> {
        let mut reading = self.reading();
        let played = reading.play();
        // After a failure the same step asks again, perhaps in other words.
        reading.preparing = matches!(played.last(), Some(Played::Failed(_)));
        played
    }

    /// The user stops the turn.
    pub(super) fn interrupt(&self) {
        let commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        // The session may have been stopped already.
        let _ = commands.as_ref().map(|commands| commands.try_send(Command::Interrupt));
    }

    /// A step begins: the model that answered it, and the one that took over if it did.
    pub(crate) fn begin_step(&self) -> (Option<String>, Option<Fallback>) {
        let mut reading = self.reading();
        if reading.until.is_some_and(|until| reading.found.steps >= until) {
            reading.stopped = true;
        } else if !reading.is_over() {
            reading.found.steps += 1;
        }
        reading.preparing = true;
        (reading.model(), reading.fallback())
    }

    /// What was noted between the last step and this moment.
    pub(crate) fn given(&self) -> Vec<Body> {
        self.reading().given()
    }

    /// What stands in the user's role beside a prompt: a command or skill that it calls for.
    pub(crate) fn words(&self) -> Vec<Body> {
        self.reading().words()
    }

    /// The tools that were on offer.
    pub(crate) fn offered(&self) -> Vec<String> {
        self.reading().offered.clone()
    }

    /// Notes which tools were on offer.
    pub(crate) fn offer(&self, tools: Vec<String>) {
        self.reading().offered = tools;
    }

    /// The log that is read.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Whether an entry stands behind the prompt of the turn that is being run.
    pub(crate) fn is_of_this_turn(&self, id: EntryId) -> bool {
        self.reading().entries.iter().any(|entry| entry.id == id)
    }

    /// What was put in the place of the conversation, or of results in it, before the next request.
    pub(crate) fn fold(&self) -> Vec<Entry> {
        self.reading().fold()
    }

    /// Whether a limit, or a hook before a request, ended the turn.
    pub(crate) fn limit(&self) -> Option<Outcome> {
        let reading = self.reading();
        let outcome = reading.outcome().filter(|_| reading.next_answer().is_none())?;
        let by_limit = matches!(
            outcome,
            Outcome::MaxTurns
                | Outcome::MaxBudget
                | Outcome::MaxTokens
                | Outcome::MaxTime
                | Outcome::HookStopped { .. }
        );
        by_limit.then(|| outcome.clone())
    }

    /// Whether the user or a hook ended the turn after the last answer, with nothing more said to the model.
    pub(crate) fn stop(&self) -> Option<Outcome> {
        let reading = self.reading();
        let outcome = reading.outcome().filter(|_| reading.next_answer().is_none())?;
        let is_stopped = matches!(outcome, Outcome::HookStopped { .. } | Outcome::Interrupted);
        (is_stopped && reading.unheard().is_none()).then(|| outcome.clone())
    }

    /// Compares a request with the recorded one.
    pub(crate) fn compare(&self, conversation: &Conversation) {
        self.reading().compare(conversation);
    }

    /// Compares the head of an epoch, part by part.
    pub(crate) fn compare_part(&self, part: &str, expected: &str, actual: &str) {
        let mut reading = self.reading();
        let actual = reading.as_recorded(actual);
        if expected != actual {
            reading.differs_next(part.to_owned(), expected, &actual);
        }
    }

    /// Compares what something was told with with what it would be told with now; what follows came from outside.
    pub(crate) fn compare_beginning(&self, part: &str, expected: &str, actual: &str) {
        let mut reading = self.reading();
        let actual = reading.as_recorded(actual);
        if !expected.starts_with(&actual) {
            reading.differs_next(part.to_owned(), expected, &actual);
        }
    }

    /// Whether in this turn the failure of a call has stopped others.
    pub(super) fn failures_stop_others(&self) -> bool {
        self.reading().index.failures_stop_others
    }

    /// Notes that something cannot be compared.
    pub(crate) fn pass_over(&self, what: &str) {
        let mut reading = self.reading();
        if !reading.found.unchecked.iter().any(|noted| noted == what) {
            reading.found.unchecked.push(what.to_owned());
        }
    }

    /// Whether there was a plan when the model was told next, if it was told.
    pub(crate) fn plan_exists(&self) -> Option<bool> {
        self.reading().plan_exists()
    }

    /// The attachments of a boundary: those that follow from the log as they are made now, the others as recorded.
    pub(crate) fn attachments(&self, made: Sampled) -> Sampled {
        Sampled { attachments: self.reading().attachments(made.attachments), ..Sampled::default() }
    }

    /// What hooks said at this moment.
    pub(crate) fn hooks(&self, event: &str) -> HookOutcome {
        let attachments = self.reading().take_hooks(event);
        let said = |kind: &str| attachments.iter().any(|attachment| attachment.kind() == kind);
        let reason = || "as recorded".to_owned();
        HookOutcome {
            blocked: said("hook_blocking_error").then(reason),
            stopped: said("hook_stopped_continuation").then(reason),
            attachments,
            ..HookOutcome::default()
        }
    }
}

impl Reading {
    /// Whether nothing more has to be looked at.
    pub(super) fn is_over(&self) -> bool {
        self.found.difference.is_some() || self.stopped
    }

    /// The next piece of an answer.
    pub(super) fn next_answer(&self) -> Option<usize> {
        self.remaining.next_answer()
    }

    /// Where what comes before the next answer ends.
    pub(super) fn horizon(&self) -> usize {
        self.next_answer().unwrap_or(self.entries.len())
    }

    fn words(&mut self) -> Vec<Body> {
        let mut words = Vec::new();
        for at in self.remaining.before(self.boundary()) {
            match &self.entries[at].body {
                Body::User(message) if message.origin == Origin::Harness => words.push(at),
                Body::Effect(Effect::RecipeCalled(_)) => words.push(at),
                Body::Attachment(attachment) if attachment.source != HOOK => break,
                _ => {}
            }
        }
        self.take_all(words).map(|entry| entry.body.clone()).collect()
    }

    /// Where what belongs to the boundary before the next answer ends: room is made behind it.
    pub(super) fn boundary(&self) -> usize {
        let horizon = self.horizon();
        self.remaining.before(horizon).find(|&at| makes_room(&self.entries[at].body)).unwrap_or(horizon)
    }

    /// Hands out these entries.
    pub(super) fn take_all(&mut self, places: Vec<usize>) -> impl Iterator<Item = &Entry> {
        places.iter().for_each(|&at| self.remaining.take(at));
        let entries = &self.entries;
        places.into_iter().map(move |at| &entries[at])
    }

    fn fold(&mut self) -> Vec<Entry> {
        let belongs = |body: &Body| {
            matches!(body, Body::User(_) | Body::Attachment(_) | Body::Epoch(_) | Body::Effect(_))
                || makes_room(body)
        };
        let folded = self.remaining.between(self.boundary(), self.horizon());
        let folded = folded.filter(|&at| belongs(&self.entries[at].body)).collect();
        self.take_all(folded).cloned().collect()
    }

    /// How the turn ended, if that is on record.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        match &self.entries[self.index.end?].body {
            Body::TurnEnded(end) => Some(&end.outcome),
            _ => None,
        }
    }

    /// The model of the next answer. Where one failed without a word, nobody knows.
    fn model(&self) -> Option<String> {
        let at = self.next_answer()?;
        let failed_before = self.remaining.before(at).any(|at| is_fallback(&self.entries[at].body));
        let model = match &self.entries[at].body {
            Body::Assistant(block) if block.api_error.is_none() => &block.model,
            Body::Response(response) => &response.model,
            _ => return None,
        };
        (!failed_before).then(|| model.clone())
    }

    /// The model that took over in this turn.
    fn fallback(&self) -> Option<Fallback> {
        let at = *self.index.fallbacks.iter().find(|at| self.remaining.contains(**at))?;
        if let Some(Body::Effect(Effect::SetModel { model })) =
            at.checked_sub(1).map(|at| &self.entries[at].body)
        {
            return Some(Fallback { model: model.clone(), of_recipe: None });
        }
        let Body::Notice(Notice { content, .. }) = &self.entries[at].body else { return None };
        let (of_recipe, rest) = content.split_once(OVERLOADED)?;
        let model = rest.split_once(' ')?.0.to_owned();
        Some(Fallback { model, of_recipe: Some(of_recipe.to_owned()) })
    }

    fn given(&mut self) -> Vec<Body> {
        let (boundary, request) = (self.boundary(), self.request_start());
        let (mut given, mut done) = (Vec::new(), Vec::new());
        for at in self.remaining.before(boundary) {
            let entry = &self.entries[at];
            let is_late = match request {
                Some(Sent::Behind(seq)) => entry.seq > seq,
                Some(Sent::At(start)) => entry.at > start,
                None => false,
            };
            if is_late || is_fallback(&entry.body) {
                continue;
            }
            let loop_does_it = self.entries.get(at + 1).is_some_and(|next| is_fallback(&next.body));
            match &entry.body {
                Body::Effect(Effect::SetModel { .. }) if loop_does_it => done.push(at),
                Body::Effect(Effect::Snapshot { .. } | Effect::NotKept { .. }) => done.push(at),
                // It belongs to the words that follow it.
                Body::Effect(Effect::RecipeCalled(_)) => {}
                body if is_noted(body) => given.push(at),
                _ => {}
            }
        }
        done.into_iter().for_each(|at| self.remaining.take(at));
        self.take_all(given).map(|entry| entry.body.clone()).collect()
    }

    /// When the request was sent that the next answer belongs to.
    fn request_start(&self) -> Option<Sent> {
        let at = self.next_answer()?;
        let end = self.entries[at..].iter().find_map(|entry| match &entry.body {
            Body::Response(response) if is_answer(&entry.body) => Some((entry.at, response)),
            _ => None,
        });
        let (end, Response { stop_reason, duration_ms, asked, .. }) = end?;
        if let Some(behind) = asked.as_ref().and_then(|asked| asked.behind) {
            return Some(Sent::Behind(behind));
        }
        if matches!(stop_reason, StopReason::Other(_)) {
            return None;
        }
        end.checked_sub(SignedDuration::from_millis(i64::try_from(*duration_ms).ok()?)).ok().map(Sent::At)
    }

    fn plan_exists(&self) -> Option<bool> {
        let told = self.remaining.before(self.boundary());
        told.filter_map(|at| match &self.entries[at].body {
            Body::Attachment(attachment) => Some(attachment),
            _ => None,
        })
        .find_map(|attachment| match attachment.kind() {
            "plan_mode" => attachment.attachment["planExists"].as_bool(),
            "plan_mode_reentry" => Some(true),
            "plan_mode_exit" => attachment.attachment["planExists"].as_bool(),
            _ => None,
        })
    }

    /// Takes what hooks of an event added before the next answer. Each message that was sent meanwhile has passed them by
    /// itself, and what they said of it stands behind it.
    fn take_hooks(&mut self, event: &str) -> Vec<Attachment> {
        let place = if event == "UserPromptSubmit" { self.unheard() } else { None };
        self.heard = place.as_ref().map_or(self.heard, |place| place.start + 1);
        let is_said = |at: &usize| match &self.entries[*at].body {
            Body::Attachment(one) => {
                one.source == HOOK && one.kind() != LATE_HOOK && one.attachment["hookEvent"] == event
            }
            _ => false,
        };
        let Range { start, end } = place.unwrap_or(0..self.boundary());
        let said = self.remaining.between(start, end).filter(is_said).collect();
        self.take_attachments(said)
    }

    /// From the next message that hooks have not heard of to the one behind it.
    fn unheard(&self) -> Option<Range<usize>> {
        let boundary = self.boundary();
        let is_queued =
            |at: &usize| matches!(&self.entries[*at].body, Body::Attachment(one) if one.kind() == QUEUED);
        let mut unheard = self.remaining.between(self.heard, boundary).filter(is_queued);
        unheard.next().map(|at| at..unheard.next().unwrap_or(boundary))
    }

    /// Hands out these entries, which are attachments.
    pub(super) fn take_attachments(&mut self, places: Vec<usize>) -> Vec<Attachment> {
        let attachment = |entry: &Entry| match &entry.body {
            Body::Attachment(attachment) => Some(attachment.clone()),
            _ => None,
        };
        self.take_all(places).filter_map(attachment).collect()
    }

    pub(super) fn count_call(&mut self) {
        self.found.calls += 1;
    }
}

/// Whether an entry is a part of what the model said in the conversation.
pub(super) fn is_answer(body: &Body) -> bool {
    match body {
        Body::Assistant(_) => true,
        Body::Response(response) => !response.side && response.agent.is_none(),
        _ => false,
    }
}

/// What nobody in a replay makes anew: wishes of the user, and what the provider did not take.
fn is_noted(body: &Body) -> bool {
    match body {
        Body::Effect(_) | Body::Queued(_) | Body::Dequeued(_) => true,
        Body::Repaired(repair) => !repair.refused.is_empty(),
        Body::Epoch(epoch) => [PART_LEFT_OUT, REASONING_LEFT_OUT].contains(&epoch.reason.as_str()),
        _ => false,
    }
}

fn makes_room(body: &Body) -> bool {
    matches!(body, Body::Compacted(_) | Body::Cleared(_))
}

pub(super) fn tells_of_failure(body: &Body) -> bool {
    let is_it = |notice: &Notice| [FALLBACK, THINKING_DROPPED].contains(&notice.subtype.as_str());
    matches!(body, Body::Notice(notice) if is_it(notice))
}

pub(super) fn is_fallback(body: &Body) -> bool {
    matches!(body, Body::Notice(Notice { subtype, .. }) if subtype == FALLBACK)
}
