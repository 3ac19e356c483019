//! What sources need to know of the conversation so far: the fold of its entries, small however long it is.
//!
//! Counts are those of a walk backwards through the messages: a *turn* here is one answer of the model that says or
//! calls something.

mod answer;
mod approval;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tiller_protocol::effect::{Effect, FileSeen, Fingerprint};
use tiller_protocol::entry::{Attachment, Body, CallResult, Entry, Epoch, ToldFile};

use crate::source::Approval;
use answer::Answer;
use approval::Approved;
pub(crate) use texts::Texts;
use texts::Unidentified;

/// The conversation so far.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Turns before the last answer, which may still be orphaned.
    settled: u32,
    answer: Answer,
    told: BTreeMap<String, Told>,
    /// Kinds that were told and are out of the model's sight, because the conversation was folded.
    lost: BTreeSet<String>,
    /// The turn in which the todo list was last written.
    todo_write: Option<u32>,
    calls_since_prompt: u32,
    plan: PlanPast,
    approved: Approved,
    /// Instruction files that were told.
    instructions: BTreeSet<PathBuf>,
    /// Those of them that nobody has looked at besides.
    only_told: BTreeSet<PathBuf>,
    /// Images and documents that were looked at, one of each directory: they cannot be edited, so that state does not
    /// know them.
    pictures: BTreeMap<PathBuf, PathBuf>,
    tasks: BTreeMap<String, TaskPast>,
    texts: Texts,
    /// What calls of this answer have read. Which content that was is said when all of them have their results.
    unidentified: Unidentified,
}

/// What was told of one kind.
#[derive(Clone, Debug, Default)]
struct Told {
    times: u32,
    /// The number of turns at the last time.
    turn: u32,
    /// The content of the last time.
    last: Value,
}

/// What was told since plan mode was last left.
#[derive(Clone, Copy, Debug, Default)]
struct PlanPast {
    reminders: u32,
    /// The number of turns at the last reminder or return.
    turn: Option<u32>,
}

/// What was told of a background task.
#[derive(Clone, Debug, Default)]
struct TaskPast {
    status: Option<String>,
    progress: Option<u32>,
    /// The model has learned of its end by itself.
    known_to_have_ended: bool,
}

impl Past {
    /// Folds one more entry in.
    pub fn push(&mut self, entry: &Entry) {
        match &entry.body {
            Body::User(message) if !message.is_hidden() => {
                self.settle();
                self.calls_since_prompt = 0;
            }
            Body::Assistant(block) if block.api_error.is_none() => {
                if !self.answer.continues(&block.message_id) {
                    self.settle();
                    self.answer = Answer::begin(&block.message_id);
                }
                self.answer.push(entry.id, &block.block);
            }
            Body::Response(response) if !response.side => self.answer.complete(),
            Body::Orphaned(orphaned) => self.answer.orphan(&orphaned.ids),
            Body::Result(result) => self.result(result),
            Body::Attachment(attachment) => self.attached(attachment),
            Body::Effect(effect) => {
                self.effect(effect);
                self.identify(effect);
            }
            Body::Epoch(epoch) => self.begin(epoch),
            Body::Compacted(_) => self.fold(),
            _ => {}
        }
    }

    fn settle(&mut self) {
        if let Some(turn) = self.todo_written_now() {
            self.todo_write = Some(turn);
        }
        self.settled = self.turns();
        self.calls_since_prompt += self.answer.calls();
        self.answer = Answer::default();
        self.unidentified = Unidentified::default();
    }

    fn todo_written_now(&self) -> Option<u32> {
        self.answer.calls_tool("TodoWrite").then(|| self.turns())
    }

    /// Turns so far.
    fn turns(&self) -> u32 {
        self.settled + u32::from(self.answer.counts())
    }

    fn result(&mut self, result: &CallResult) {
        if let Some(task) = started_task(result) {
            // An agent can be continued, and begins anew then.
            self.tasks.insert(task.to_owned(), TaskPast::default());
        }
        if let Some(task) = ended_task(result) {
            self.tasks.entry(task.to_owned()).or_default().known_to_have_ended = true;
        }
        self.approved.result(result);
        if result.tool == "Read" && !result.is_error {
            self.read(&result.detail);
        }
        for effect in &result.effects {
            self.effect(effect);
            if let Effect::FileSeen(seen) = effect {
                self.only_told.remove(&seen.path);
                self.learn(seen, written_text(&result.detail));
            }
        }
    }

    fn read(&mut self, detail: &Value) {
        let Some(path) = detail["file"]["filePath"].as_str() else { return };
        self.only_told.remove(Path::new(path));
        match detail["type"].as_str() {
            Some("text") => self.unidentified.push(Path::new(path), whole_text(&detail["file"])),
            Some("image" | "pdf") => self.look_at(Some(path)),
            _ => {}
        }
    }

    /// It is said which content of a file was read.
    fn identify(&mut self, effect: &Effect) {
        if let Effect::FileSeen(seen) = effect {
            let text = self.unidentified.take(&seen.path);
            self.learn(seen, text.as_deref());
        }
    }

    fn learn(&mut self, seen: &FileSeen, text: Option<&str>) {
        if let Some(text) = text {
            self.texts.insert(&seen.path, &seen.fingerprint, text);
        }
    }

    /// Instruction files stand in front of the conversation. Which content of them that is follows.
    fn begin(&mut self, epoch: &Epoch) {
        let context = epoch.user_context.as_deref().unwrap_or_default();
        for ToldFile { path, from, until } in &epoch.instructions {
            self.unidentified.push(path, context.get(*from..*until));
            self.tell_instructions(path);
        }
    }

    fn tell_instructions(&mut self, path: &Path) {
        if self.instructions.insert(path.to_owned()) {
            self.only_told.insert(path.to_owned());
        }
    }

    fn look_at(&mut self, path: Option<&str>) {
        let path = path.map(PathBuf::from);
        self.pictures.extend(path.and_then(|path| Some((path.parent()?.to_owned(), path))));
    }

    fn effect(&mut self, effect: &Effect) {
        self.approved.effect(effect, self.turns());
        if let Effect::SetPlan { .. } = effect {
            // What was told of plan mode named another file.
            self.plan = PlanPast::default();
        }
    }

    fn attached(&mut self, attachment: &Attachment) {
        let turn = self.turns();
        let (kind, content) = (attachment.kind(), &attachment.attachment);
        let field = |name: &str| content[name].as_str();
        match kind {
            "plan_mode" => {
                self.plan = PlanPast { reminders: self.plan.reminders + 1, turn: Some(turn) };
            }
            "plan_mode_reentry" => self.plan.turn = Some(turn),
            "plan_mode_exit" => self.plan = PlanPast::default(),
            "verify_plan_reminder" => self.approved.reminded(),
            "file" if attachment.effects.is_empty() => self.look_at(field("filename")),
            "nested_memory" => self.tell_instructions(Path::new(field("path").unwrap_or_default())),
            "task_status" => {
                let task = self.tasks.entry(field("taskId").unwrap_or_default().to_owned()).or_default();
                task.status = field("status").map(str::to_owned);
            }
            "task_progress" => {
                let task = self.tasks.entry(field("taskId").unwrap_or_default().to_owned()).or_default();
                task.progress = Some(turn);
            }
            _ => {}
        }
        for effect in &attachment.effects {
            let Effect::FileSeen(seen) = effect else { continue };
            match kind {
                "file" => {
                    self.only_told.remove(&seen.path);
                    self.learn(seen, content["content"]["text"].as_str().filter(|_| seen.lines.is_none()));
                }
                "nested_memory" => {
                    self.tell_instructions(&seen.path);
                    self.learn(seen, field("content"));
                }
                _ => {}
            }
        }
        self.lost.remove(kind);
        let told = self.told.entry(kind.to_owned()).or_default();
        let last = if REMEMBERED.contains(&kind) { content.clone() } else { Value::Null };
        *told = Told { times: told.times + 1, turn, last };
    }

    /// The conversation was folded: what the model no longer sees may be told anew, what is a matter of counting goes on.
    fn fold(&mut self) {
        self.instructions.clear();
        self.only_told.clear();
        self.pictures.clear();
        self.texts = Texts::default();
        self.unidentified = Unidentified::default();
        let lost = OUT_OF_SIGHT.into_iter().filter(|kind| self.told.remove(*kind).is_some());
        self.lost.extend(lost.map(str::to_owned));
        self.plan = PlanPast::default();
    }

    /// Turns since a kind was last told; absent when it never was.
    #[must_use]
    pub fn turns_since(&self, kind: &str) -> Option<u32> {
        self.told.get(kind).map(|told| self.turns().saturating_sub(told.turn))
    }

    /// Turns since a kind was last told; all of them when it never was.
    #[must_use]
    pub fn turns_without(&self, kind: &str) -> u32 {
        self.turns_since(kind).unwrap_or_else(|| self.turns())
    }

    /// Whether a kind was told, and what it said was folded away since.
    #[must_use]
    pub fn has_lost(&self, kind: &str) -> bool {
        self.lost.contains(kind)
    }

    /// How often a kind was told.
    #[must_use]
    pub fn times(&self, kind: &str) -> u32 {
        self.told.get(kind).map_or(0, |told| told.times)
    }

    /// What was last told of a kind whose content matters later.
    pub(crate) fn last(&self, kind: &str) -> &Value {
        self.told.get(kind).map_or(&Value::Null, |told| &told.last)
    }

    /// Turns since the todo list was last written; all of them when it never was.
    #[must_use]
    pub fn turns_without_todo_write(&self) -> u32 {
        let written = self.todo_written_now().or(self.todo_write);
        self.turns().saturating_sub(written.unwrap_or_default())
    }

    /// Whether a tool was called since the user last spoke.
    #[must_use]
    pub fn called_since_prompt(&self) -> bool {
        self.calls_since_prompt + self.answer.calls() > 0
    }

    /// Turns since the last reminder of plan mode, or return to it, in this planning phase.
    #[must_use]
    pub fn turns_since_plan_reminder(&self) -> Option<u32> {
        self.plan.turn.map(|turn| self.turns().saturating_sub(turn))
    }

    /// Reminders of plan mode in this planning phase; returns to it do not count.
    #[must_use]
    pub fn plan_reminders(&self) -> u32 {
        self.plan.reminders
    }

    /// Where the plan stands that was approved and is carried out.
    #[must_use]
    pub fn approval(&self) -> Option<Approval> {
        self.approved.standing(self.turns())
    }

    /// Whether an instruction file was told.
    #[must_use]
    pub fn has_told_instructions(&self, path: &Path) -> bool {
        self.instructions.contains(path)
    }

    /// Whether a file is known because it holds instructions, and for nothing else.
    pub(crate) fn knows_as_instructions(&self, path: &Path) -> bool {
        self.only_told.contains(path)
    }

    /// Images and documents that were looked at, one of each directory.
    pub(crate) fn pictures(&self) -> impl Iterator<Item = &Path> {
        self.pictures.values().map(PathBuf::as_path)
    }

    /// Whether the model knows that a background task has this status, which is an end.
    #[must_use]
    pub fn knows_end(&self, task: &str, status: &str) -> bool {
        let known = |task: &TaskPast| task.known_to_have_ended || task.status.as_deref() == Some(status);
        self.tasks.get(task).is_some_and(known)
    }

    /// The highest number that a background command has had.
    #[must_use]
    pub fn last_command(&self) -> u32 {
        let numbers = self.tasks.keys().filter_map(|task| task.strip_prefix("bash_")?.parse().ok());
        numbers.max().unwrap_or_default()
    }

    /// Turns since progress of a background task was last told.
    #[must_use]
    pub fn turns_since_progress(&self, task: &str) -> Option<u32> {
        self.tasks.get(task)?.progress.map(|turn| self.turns().saturating_sub(turn))
    }

    /// The text of a file as the model saw it, if it had this content and is still remembered.
    #[must_use]
    pub fn text(&self, path: &Path, fingerprint: &Fingerprint) -> Option<Arc<str>> {
        self.texts.get(path, fingerprint)
    }
}

/// Kinds whose last content decides whether there is something new to tell.
const REMEMBERED: [&str; 4] =
    ["collab_notification", "environment_change", "opened_file_in_ide", "output_style"];

/// Kinds that say something about the present, which is lost when the conversation is folded.
const OUT_OF_SIGHT: [&str; 5] =
    ["environment_change", "nested_memory", "opened_file_in_ide", "output_style", "ultramemory"];

/// The background task that a call has started.
fn started_task(result: &CallResult) -> Option<&str> {
    let detail = &result.detail;
    match result.tool.as_str() {
        "Bash" => detail["backgroundTaskId"].as_str(),
        "Task" if detail["status"] == "async_launched" => detail["agentId"].as_str(),
        _ => None,
    }
}

/// The background task that the model has ended with a call, or has seen to be over.
fn ended_task(result: &CallResult) -> Option<&str> {
    match result.tool.as_str() {
        "KillShell" => result.detail["shell_id"].as_str(),
        "BashOutput" if result.detail["running"] == false => result.detail["id"].as_str(),
        "TaskOutput" if result.detail["running"] == false => result.detail["task_id"].as_str(),
        _ => None,
    }
}

/// The text of a file that was read as a whole.
fn whole_text(file: &Value) -> Option<&str> {
    let number = |field: &str| file[field].as_u64();
    let is_whole = number("startLine") == Some(1) && number("numLines") == number("totalLines");
    file["content"].as_str().filter(|_| is_whole)
}

/// The text of a file that was written, as reading would show it: without the end of its last line.
fn written_text(detail: &Value) -> Option<&str> {
    let text = detail["content"].as_str()?;
    Some(text.strip_suffix('\n').unwrap_or(text))
}

#[cfg(test)]
pub(crate) use tests::Story;

#[cfg(test)]
mod tests;
