//! What came from outside during a turn, handed out where it came in.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Command;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Attachment, Body, Cause, Entry, Notice, Origin, Outcome, Response};
use tiller_protocol::id::CallId;
use tiller_protocol::usage::StopReason;
use tiller_steering::pipeline::Sampled;
use tiller_steering::{Conversation, asked};
use tokio::sync::{Notify, mpsc};

use super::difference::{Difference, excerpts};
use super::live::LiveTools;
use super::model::Played;
use super::play::{FALLBACK, THINKING_DROPPED};
use crate::hook::Outcome as HookOutcome;

/// Kinds of attachments that follow from the log alone: they are made anew. Others tell of what was outside.
const REMADE: [&str; 10] = [
    "plan_mode",
    "plan_mode_reentry",
    "plan_mode_exit",
    "verify_plan_reminder",
    "delegate_mode",
    "delegate_mode_exit",
    "todo_reminder",
    "critical_system_reminder",
    "queued_command",
    "output_style",
];
/// The source that hooks are in the log.
const HOOK: &str = "hook";

/// The recording of one log, turn by turn.
pub(crate) struct Tape {
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
    /// Those that have been handed out, or need not be.
    pub(super) taken: Vec<bool>,
    /// Calls that have ended.
    pub(super) ended: Vec<CallId>,
    /// The conversation as it was recorded, up to the next answer.
    expected: Conversation,
    pushed: usize,
    /// Below it paths differ for no other reason than that this is a replay.
    scratch: String,
    config_dir: String,
    agent: Option<String>,
    /// Names of the tools on offer.
    offered: Vec<String>,
    prompt: usize,
    until: Option<usize>,
    /// No step more is wanted.
    stopped: bool,
    found: Found,
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
        config_dir: &Path,
        scratch: &Path,
        until: Option<usize>,
        live: Option<LiveTools>,
    ) -> Self {
        let resolved = fs_err::canonicalize(scratch).unwrap_or_else(|_| scratch.to_owned());
        let reading = Reading {
            entries: Vec::new(),
            taken: Vec::new(),
            ended: Vec::new(),
            expected: Conversation::default(),
            pushed: 0,
            scratch: resolved.display().to_string(),
            config_dir: config_dir.display().to_string(),
            agent: None,
            offered: Vec::new(),
            prompt: 0,
            until,
            stopped: false,
            found: Found::default(),
        };
        Self { reading: Mutex::new(reading), commands: Mutex::new(None), live, ended: Notify::new() }
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
        reading.taken = vec![false; behind.len()];
        reading.ended.clear();
        reading.expected = before;
        reading.pushed = 0;
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
        self.reading().play()
    }

    /// The user stops the turn.
    pub(super) fn interrupt(&self) {
        let commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        // The session may have been stopped already.
        let _ = commands.as_ref().map(|commands| commands.try_send(Command::Interrupt));
    }

    /// A step begins: the model that answered it, and the one that took over if it did.
    pub(crate) fn begin_step(&self) -> (Option<String>, Option<String>) {
        let mut reading = self.reading();
        if reading.until.is_some_and(|until| reading.found.steps >= until) {
            reading.stopped = true;
        } else if !reading.is_over() {
            reading.found.steps += 1;
        }
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

    /// What was put in the place of the conversation, or of results in it, before the next request.
    pub(crate) fn fold(&self) -> Vec<Body> {
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
        let is_stopped = |entry: &Entry| match &entry.body {
            Body::Result(result) => result.cause == Cause::SiblingError,
            _ => false,
        };
        self.reading().entries.iter().any(is_stopped)
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
        let attachments = self.reading().take_hooks(|attachment| attachment["hookEvent"] == event);
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
        (0..self.entries.len()).find(|&at| !self.taken[at] && is_answer(&self.entries[at].body))
    }

    /// Where what comes before the next answer ends.
    pub(super) fn horizon(&self) -> usize {
        self.next_answer().unwrap_or(self.entries.len())
    }

    fn words(&mut self) -> Vec<Body> {
        let mut words = Vec::new();
        for at in 0..self.boundary() {
            match &self.entries[at].body {
                Body::User(message) if message.origin == Origin::Harness && !self.taken[at] => {
                    words.push(self.entries[at].body.clone());
                    self.taken[at] = true;
                }
                Body::Effect(Effect::RecipeCalled(_)) if !self.taken[at] => {
                    words.push(self.entries[at].body.clone());
                    self.taken[at] = true;
                }
                Body::Attachment(attachment) if attachment.source != HOOK => break,
                _ => {}
            }
        }
        words
    }

    /// Where what belongs to the boundary before the next answer ends: room is made behind it.
    fn boundary(&self) -> usize {
        let horizon = self.horizon();
        (0..horizon).find(|&at| !self.taken[at] && makes_room(&self.entries[at].body)).unwrap_or(horizon)
    }

    fn fold(&mut self) -> Vec<Body> {
        let mut folded = Vec::new();
        for at in self.boundary()..self.horizon() {
            let body = &self.entries[at].body;
            let belongs =
                matches!(body, Body::User(_) | Body::Attachment(_) | Body::Epoch(_) | Body::Effect(_));
            if !self.taken[at] && (belongs || makes_room(body)) {
                folded.push(body.clone());
                self.taken[at] = true;
            }
        }
        folded
    }

    /// How the turn ended, if that is on record.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.entries.iter().find_map(|entry| match &entry.body {
            Body::TurnEnded(end) => Some(&end.outcome),
            _ => None,
        })
    }

    fn end(&mut self, outcome: &Outcome) {
        if self.is_over() {
            return;
        }
        if self.next_answer().is_some() {
            let text = "the model was asked again";
            self.differs("the end of the turn".to_owned(), text, &word(outcome));
        } else if let Some(recorded) = self.outcome().map(word)
            && recorded != word(outcome)
        {
            self.differs("the end of the turn".to_owned(), &recorded, &word(outcome));
        }
    }

    /// The model of the next answer. Where one failed without a word, nobody knows.
    fn model(&self) -> Option<String> {
        let at = self.next_answer()?;
        let failed_before = (0..at).any(|at| !self.taken[at] && is_fallback(&self.entries[at].body));
        let model = match &self.entries[at].body {
            Body::Assistant(block) if block.api_error.is_none() => &block.model,
            Body::Response(response) => &response.model,
            _ => return None,
        };
        (!failed_before).then(|| model.clone())
    }

    /// The model that took over in this turn.
    fn fallback(&self) -> Option<String> {
        let at =
            (0..self.entries.len()).find(|&at| !self.taken[at] && is_fallback(&self.entries[at].body))?;
        self.entries[..at].iter().rev().find_map(|entry| match &entry.body {
            Body::Effect(Effect::SetModel { model }) => Some(model.clone()),
            _ => None,
        })
    }

    fn given(&mut self) -> Vec<Body> {
        let (boundary, start) = (self.boundary(), self.request_start());
        let mut given = Vec::new();
        for at in 0..boundary {
            let entry = &self.entries[at];
            let is_late = start.is_some_and(|start| entry.at > start);
            if self.taken[at] || is_late || is_fallback(&entry.body) {
                continue;
            }
            let loop_does_it = self.entries.get(at + 1).is_some_and(|next| is_fallback(&next.body));
            match &entry.body {
                Body::Effect(Effect::SetModel { .. }) if loop_does_it => self.taken[at] = true,
                Body::Effect(Effect::Snapshot { .. }) => self.taken[at] = true,
                // It belongs to the words that follow it.
                Body::Effect(Effect::RecipeCalled(_)) => {}
                Body::Effect(_) | Body::Queued(_) | Body::Dequeued(_) => {
                    given.push(entry.body.clone());
                    self.taken[at] = true;
                }
                _ => {}
            }
        }
        given
    }

    /// When the request was sent that the next answer belongs to.
    fn request_start(&self) -> Option<Timestamp> {
        let at = self.next_answer()?;
        let end = self.entries[at..].iter().find_map(|entry| match &entry.body {
            Body::Response(response) if is_answer(&entry.body) => Some((entry.at, response)),
            _ => None,
        });
        let (end, Response { stop_reason, duration_ms, .. }) = end?;
        if matches!(stop_reason, StopReason::Other(_)) {
            return None;
        }
        end.checked_sub(SignedDuration::from_millis(i64::try_from(*duration_ms).ok()?)).ok()
    }

    fn compare(&mut self, conversation: &Conversation) {
        if self.is_over() {
            return;
        }
        let Some(at) = self.next_answer() else {
            let stopped = matches!(self.outcome(), None | Some(Outcome::Interrupted));
            if !stopped {
                let recorded = self.outcome().map(word).unwrap_or_default();
                self.differs("the end of the turn".to_owned(), &recorded, "the model was asked again");
            }
            return;
        };
        // Of a request that failed nothing is on record, and the conversation may have been another one before it.
        if (0..at).any(|at| !self.taken[at] && tells_of_failure(&self.entries[at].body)) {
            return;
        }
        for entry in &self.entries[self.pushed.min(at)..at] {
            self.expected.push(entry);
        }
        self.pushed = self.pushed.max(at);
        let said: Vec<String> =
            conversation.said().iter().map(|message| self.as_recorded(&text(message))).collect();
        let now = asked(&said);
        let recorded = self.entries[at..].iter().find_map(|entry| match &entry.body {
            Body::Response(response) if is_answer(&entry.body) => response.asked.clone(),
            _ => None,
        });
        if recorded.as_ref() == Some(&now) {
            return;
        }
        let expected: Vec<String> = self.expected.said().iter().map(|message| text(message)).collect();
        let parts = (0..expected.len().max(said.len())).find(|&at| expected.get(at) != said.get(at));
        match (parts, recorded) {
            (Some(at), _) => {
                let of = |messages: &[String]| messages.get(at).cloned().unwrap_or_default();
                self.differs(format!("messages[{at}]"), &of(&expected), &of(&said));
            }
            (None, Some(recorded)) => {
                let before = format!("{} messages, digest {}", recorded.messages, recorded.digest);
                let after = format!("{} messages, digest {} of the same entries", now.messages, now.digest);
                self.differs("how the conversation is written".to_owned(), &before, &after);
            }
            (None, None) => {}
        }
    }

    fn plan_exists(&self) -> Option<bool> {
        let told = self.entries[..self.boundary()].iter().zip(&self.taken).filter(|(_, taken)| !**taken);
        told.filter_map(|(entry, _)| match &entry.body {
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

    fn attachments(&mut self, mut made: Vec<Attachment>) -> Vec<Attachment> {
        let recorded: Vec<usize> = (0..self.boundary())
            .filter(|&at| !self.taken[at])
            .filter(|&at| matches!(&self.entries[at].body, Body::Attachment(one) if one.source != HOOK))
            .collect();
        let mut attached = Vec::new();
        for at in recorded {
            self.taken[at] = true;
            let Body::Attachment(attachment) = self.entries[at].body.clone() else { continue };
            if !REMADE.contains(&attachment.kind()) {
                attached.push(attachment);
                continue;
            }
            let again = made.iter().position(|one| one.kind() == attachment.kind());
            let again = again.map(|at| made.remove(at));
            let (before, now) =
                (shown(&attachment), again.as_ref().map(|again| self.as_recorded(&shown(again))));
            if now.as_ref() != Some(&before) {
                self.differs_next(
                    format!("reminder {}", attachment.kind()),
                    &before,
                    &now.unwrap_or_default(),
                );
            }
            attached.extend(again);
        }
        for attachment in made.into_iter().filter(|one| REMADE.contains(&one.kind())) {
            self.differs_next(format!("reminder {}", attachment.kind()), "", &shown(&attachment));
            attached.push(attachment);
        }
        attached
    }

    /// Takes what hooks added before the next answer.
    pub(super) fn take_hooks(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Attachment> {
        let mut taken = Vec::new();
        for at in 0..self.boundary() {
            if let Body::Attachment(attachment) = &self.entries[at].body
                && !self.taken[at]
                && attachment.source == HOOK
                && attachment.kind() != "async_hook_response"
                && is_it(&attachment.attachment)
            {
                taken.push(attachment.clone());
                self.taken[at] = true;
            }
        }
        taken
    }

    /// A text with paths as they were when it was recorded.
    pub(super) fn as_recorded(&self, text: &str) -> String {
        text.replace(&self.scratch, &self.config_dir)
    }

    /// Notes the first difference, in the step that is being made.
    pub(super) fn differs(&mut self, part: String, expected: &str, actual: &str) {
        self.differs_at(self.found.steps, part, expected, actual);
    }

    /// The same in what the next request will be made of.
    fn differs_next(&mut self, part: String, expected: &str, actual: &str) {
        self.differs_at(self.found.steps + 1, part, expected, actual);
    }

    fn differs_at(&mut self, step: usize, part: String, expected: &str, actual: &str) {
        if self.is_over() || self.until.is_some_and(|until| step > until) {
            return;
        }
        let (expected, actual) = excerpts(expected, actual);
        let (agent, prompt) = (self.agent.clone(), self.prompt);
        self.found.difference = Some(Difference { agent, step, prompt, part, expected, actual });
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

fn makes_room(body: &Body) -> bool {
    matches!(body, Body::Compacted(_) | Body::Cleared(_))
}

fn tells_of_failure(body: &Body) -> bool {
    let is_it = |notice: &Notice| [FALLBACK, THINKING_DROPPED].contains(&notice.subtype.as_str());
    matches!(body, Body::Notice(notice) if is_it(notice))
}

fn is_fallback(body: &Body) -> bool {
    matches!(body, Body::Notice(Notice { subtype, .. }) if subtype == FALLBACK)
}

/// The name of an outcome.
fn word(outcome: &Outcome) -> String {
    let value = serde_json::to_value(outcome).unwrap_or_default();
    value["kind"].as_str().unwrap_or_default().to_owned()
}

fn text(message: &[u8]) -> String {
    String::from_utf8_lossy(message).into_owned()
}

fn shown(attachment: &Attachment) -> String {
    attachment.rendered.iter().map(RawBlock::json).collect::<Vec<_>>().join("\n")
}
