//! Folding: everything is gathered first and appended at once, so that nothing comes between.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tiller_protocol::compaction::{Compacted, FoldIngredients, Kept, Trigger};
use tiller_protocol::entry::{Attachment, Body, Entry, Epoch, Level};
use tiller_protocol::state::Files;
use tiller_steering::attachment::TaskStatus;
use tiller_steering::compaction::{
    Candidate, Ending, Fullness, Restored, ending, entry_tokens, files_to_restore, head_tokens, restore,
    skills_in_use, text_tokens, transcript,
};
use tiller_steering::source::{Facts, Sight, plan_after_compaction};
use tiller_tools::{plan_file, todo_file};

use super::super::{Role, Task};
use super::summary::{Source, Summary};
use super::survey::Survey;
use super::undo::with_recall;
use super::wording::{SHARE, Timing};
use super::{Folding, Unfolded, summary_message};
use crate::hook::{Occasion, StartSource};
use crate::session::epoch::Told;
use crate::store::StoreError;
use crate::telemetry::Telemetry;

/// The part of the window that what waits for an answer may take in any case.
const ENDING_SHARE: u64 = 4;

/// The part of the window that a summary takes at least, as a guess: a prompt that leaves no room for it is not tried.
const SUMMARY_SHARE: u64 = 16;

/// How much of what waits for an answer is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// A prompt as long as it fits.
    WhatFits,
    /// Not more than a share of the window: together with what takes the place of the rest it did not fit.
    AShare,
}

/// What takes the place of a conversation.
struct Fold {
    marker: Compacted,
    text: String,
    attachments: Vec<Attachment>,
    hook_results: Vec<Attachment>,
    epoch: Epoch,
    told: Told,
    /// Messages that were sent before.
    messages: usize,
}

impl Task {
    pub(super) async fn fold(
        &mut self,
        trigger: Trigger,
        instructions: Option<String>,
    ) -> Result<Folding, StoreError> {
        let instructions = match self.hear_hooks_before(trigger, instructions).await? {
            Ok(instructions) => instructions,
            Err(unfolded) => return Ok(Err(unfolded)),
        };
        if self.turn.token.is_cancelled() {
            return Ok(Err(Unfolded::Stopped));
        }
        let survey = self.survey().await?;
        let folding =
            Box::pin(self.fold_before(Waiting::WhatFits, trigger, instructions.clone(), &survey)).await?;
        let fold = match folding {
            Ok(fold) if fold.marker.kept.is_some() && self.fills_window(&fold) => {
                match Box::pin(self.fold_before(Waiting::AShare, trigger, instructions, &survey)).await? {
                    Ok(fold) => fold,
                    Err(unfolded) => return Ok(Err(unfolded)),
                }
            }
            Ok(fold) => fold,
            Err(unfolded) => return Ok(Err(unfolded)),
        };
        if self.turn.token.is_cancelled() {
            return Ok(Err(Unfolded::Stopped));
        }
        // Where the provider has refused the conversation, the estimate has proven wrong.
        let is_due = trigger == Trigger::Manual || self.turn.forced_room;
        if !is_due && fold.marker.post_tokens >= fold.marker.pre_tokens {
            let why = "what would take its place is as long as the conversation itself".to_owned();
            return Ok(Err(Unfolded::Failed(why)));
        }
        let cuts_prompt = self.cuts_prompt(&survey, &fold.marker);
        self.put_in_place(fold).await?;
        if cuts_prompt {
            let text = "Your last message is too long to be sent as it is beside what is left of the conversation: the \
                        model gets a shortened one. Put it into a file, or start a new session with it.";
            self.notice("prompt_shortened", Level::Warning, text.to_owned())?;
        }
        Ok(Ok(()))
    }

    /// Collects what takes the place of the conversation before what is kept.
    async fn fold_before(
        &mut self,
        waiting: Waiting,
        trigger: Trigger,
        instructions: Option<String>,
        survey: &Survey,
    ) -> Result<Result<Fold, Unfolded>, StoreError> {
        let (end, kept) = self.ending(survey, waiting);
        let parts = transcript(&survey.messages[..end]);
        if parts.is_empty() {
            return Ok(Err(Unfolded::Failed("there is nothing to fold yet".to_owned())));
        }
        let source = Source {
            parts: &parts,
            earlier: survey.earlier.as_deref(),
            instructions: instructions.as_deref(),
        };
        let summary = match self.summarise(&source).await? {
            Ok(summary) => summary,
            Err(unfolded) => return Ok(Err(unfolded)),
        };
        let order = Compacted { trigger, instructions, kept, ..Compacted::default() };
        self.gather(order, summary, survey, end).await.map(Ok)
    }

    /// Whether more is kept than a share of the window, and it leaves no room.
    fn fills_window(&self, fold: &Fold) -> bool {
        let kept = fold.marker.kept.as_ref().map_or(0, |kept| kept.tokens);
        let is_full =
            self.window().fullness(fold.marker.post_tokens, self.making_room.threshold) == Fullness::Full;
        is_full && kept > self.window().effective() / ENDING_SHARE
    }

    /// Whether the prompt that waits for an answer is folded with the rest, and too long to be carried over as it is.
    fn cuts_prompt(&self, survey: &Survey, marker: &Compacted) -> bool {
        let waits = match ending(&survey.messages, &survey.answers) {
            Ending::Kept(at) => is_prompt(&survey.messages[at]),
            _ => false,
        };
        waits && self.timing() == Timing::InTurn && marker.kept.is_none() && marker.shortened > 0
    }

    /// Lets hooks add to what the user wants of the summary, or keep the conversation from being folded.
    async fn hear_hooks_before(
        &mut self,
        trigger: Trigger,
        instructions: Option<String>,
    ) -> Result<Result<Option<String>, Unfolded>, StoreError> {
        let custom_instructions = instructions.as_deref().unwrap_or_default();
        let outcome = self.run_hooks(Occasion::PreCompact { trigger, custom_instructions }).await?;
        if let Some(reason) = outcome.stopped {
            return Ok(Err(Unfolded::Hook(reason)));
        }
        let wishes: Vec<String> = instructions.into_iter().chain(outcome.instructions).collect();
        Ok(Ok(Some(wishes.join("\n\n")).filter(|wishes| !wishes.trim().is_empty())))
    }

    /// Reads what there is to fold, beside the session's own work.
    async fn survey(&mut self) -> Result<Survey, StoreError> {
        let (archive, abandoned) = (self.journal.archive.clone(), self.journal.state.abandoned.clone());
        let folded = self.journal.state.folded;
        let reading = tokio::task::spawn_blocking(move || Survey::read(&archive, &abandoned, folded));
        reading.await.map_err(|error| StoreError::Io(std::io::Error::other(error)))?
    }

    /// Where the folded part ends, and what is kept behind it. While no turn is running nothing waits for an answer.
    fn ending(&self, survey: &Survey, waiting: Waiting) -> (usize, Option<Kept>) {
        let messages = &survey.messages;
        let whole = (messages.len(), None);
        if self.timing() == Timing::BetweenTurns {
            return whole;
        }
        let Ending::Kept(at) = ending(messages, &survey.answers) else { return whole };
        let tokens: u64 = messages[at..].iter().map(entry_tokens).sum();
        let is_short = tokens <= self.window().effective() / ENDING_SHARE;
        let others = self.head_size() + self.window().effective() / SUMMARY_SHARE;
        let with_head = self.window().fullness(others + tokens, self.making_room.threshold);
        let fits = waiting == Waiting::WhatFits && is_prompt(&messages[at]) && with_head < Fullness::Full;
        if at == 0 || !(is_short || fits) {
            return whole;
        }
        let first = &messages[at];
        let kept = Kept { first: first.id, from: first.seq, messages: (messages.len() - at) as u64, tokens };
        (at, Some(kept))
    }

    async fn gather(
        &mut self,
        order: Compacted,
        summary: Summary,
        survey: &Survey,
        end: usize,
    ) -> Result<Fold, StoreError> {
        let window = self.window().effective();
        let ingredients = FoldIngredients {
            window,
            recall: self.making_room.recall,
            part: summary.part,
            asked: summary.asked,
        };
        let order = Compacted { summary: summary.text, usage: summary.usage, ..order };
        let carried = survey.carried(order.kept.as_ref(), window);
        let (epoch, told) = self.epoch_after_folding().await;
        let kept = order.kept.as_ref().map(|kept| self.journal.state.files.shown_since(kept.from));
        let attachments = self.brought_back(&told, &kept.unwrap_or_default()).await;
        let hook_results = self.hear_hooks_after().await?;
        let text = survey.replacement(end, self.timing(), &order, &ingredients);
        let added: u64 = attachments.iter().chain(&hook_results).map(|attachment| attachment.tokens).sum();
        let kept = order.kept.as_ref().map_or(0, |kept| kept.tokens);
        let marker = Compacted {
            pre_tokens: self.journal.room.gauge.tokens(),
            post_tokens: head_tokens(&epoch) + text_tokens(&text) + added + kept,
            last_message: self.journal.state.leaf,
            folded_messages: end as u64,
            carried: carried.messages.len() as u64,
            shortened: carried.shortened as u64,
            left_out: carried.left_out as u64,
            restored: attachments.iter().map(named).collect(),
            made_of: Some(ingredients),
            ..order
        };
        Ok(Fold { marker, text, attachments, hook_results, epoch, told, messages: survey.messages.len() })
    }

    fn timing(&self) -> Timing {
        if self.turn.steps == 0 { Timing::BetweenTurns } else { Timing::InTurn }
    }

    /// The head of the requests to come: instruction files and the state of the repository are looked at anew, and the
    /// model can look up what was folded.
    async fn epoch_after_folding(&mut self) -> (Epoch, Told) {
        self.offer_skills();
        let tools = self.services.registry.clone();
        if self.making_room.recall && self.journal.state.folded.is_none() {
            self.services.registry = with_recall(tools.clone());
        }
        let key = self.epoch_key();
        let built = self.build_epoch("compaction", key).await;
        // Until it is so far, nothing was folded.
        self.services.registry = tools;
        built
    }

    /// What the model still needs of what it knew: files, todos, the plan, skills, running tasks.
    async fn brought_back(&mut self, told: &Told, kept: &Files) -> Vec<Attachment> {
        let plan_file = self.services.policy.now().plan_file.clone();
        let mut elsewhere: BTreeSet<PathBuf> = told.files.iter().cloned().chain(plan_file.clone()).collect();
        // What stands in the end that is kept is still there.
        elsewhere.extend(kept.iter().map(|seen| seen.path.clone()));
        let seen = self.journal.state.files.iter().map(|seen| seen.path.clone());
        elsewhere.extend(seen.filter(|path| self.journal.past.has_told_instructions(path)));
        let sight = self.sight();
        let mut files = Vec::new();
        for path in files_to_restore(&self.journal.state.files, &elsewhere) {
            let shown = sight.show(&path, None).await;
            files.push(Candidate { path, shown });
        }
        let facts = Facts {
            plan: self.plan_fact(),
            mode: self.services.policy.now().mode,
            agent: self.services.agent.as_ref().map(|agent| agent.id.clone()),
            ..Facts::default()
        };
        let plan = plan_file.and_then(|path| plan_file::read(&path));
        let plan = plan.map(|plan| self.services.secrets.mask(&plan).into_owned());
        let restored = Restored {
            todos: match &self.fixed.todo_file {
                Some(path) => todo_file::load(path),
                None => self.journal.state.todos.clone(),
            },
            plan: plan_after_compaction(&facts, plan),
            skills: skills_in_use(&self.journal.state.skills),
            tasks: self.running_tasks(),
        };
        let mut attachments = restore(files, &restored, self.window().effective() / SHARE);
        attachments.retain(|attachment| !self.pipeline.mutes(attachment.kind()));
        attachments
    }

    fn running_tasks(&self) -> Vec<TaskStatus> {
        if matches!(self.role, Role::Sub) {
            return Vec::new();
        }
        let running = self.task_facts().into_iter().filter(|task| task.status == "running");
        running
            .map(|task| TaskStatus {
                task_id: task.id,
                task_type: task.kind,
                status: task.status,
                description: task.description,
                delta_summary: None,
                how_to_read: task.how_to_read,
            })
            .collect()
    }

    /// For hooks the session begins anew.
    async fn hear_hooks_after(&mut self) -> Result<Vec<Attachment>, StoreError> {
        if matches!(self.role, Role::Sub) {
            return Ok(Vec::new());
        }
        let model = self.lead.borrow().main_model.clone();
        let occasion = Occasion::SessionStart { source: StartSource::Compact, model: &model };
        let outcome = self.run_hooks(occasion).await?;
        self.turn.hook_stop = self.turn.hook_stop.take().or(outcome.stopped);
        let mut results = outcome.attachments;
        results.retain(|attachment| !self.pipeline.mutes(attachment.kind()));
        Ok(results)
    }

    /// Appends what takes the place of the conversation, in its order.
    async fn put_in_place(&mut self, fold: Fold) -> Result<(), StoreError> {
        let Fold { marker, text, attachments, hook_results, epoch, told, messages } = fold;
        self.measure(&Telemetry::AutoCompactSucceeded {
            original_count: messages,
            compacted_count: 1 + attachments.len() + hook_results.len(),
            marker: &marker,
        });
        self.append(Body::Compacted(Box::new(marker)))?;
        self.append(Body::User(summary_message(&text)))?;
        for attachment in attachments.into_iter().chain(hook_results) {
            self.append(Body::Attachment(attachment))?;
        }
        self.offer_recall();
        self.start_epoch(epoch, told).await?;
        self.journal.sync().await
    }
}

fn is_prompt(entry: &Entry) -> bool {
    matches!(&entry.body, Body::User(message) if !message.is_hidden())
}

/// What came back, for people.
fn named(attachment: &Attachment) -> String {
    let name = attachment.attachment["filename"].as_str().or(attachment.attachment["taskId"].as_str());
    name.map_or_else(|| attachment.kind().to_owned(), |name| format!("{} {name}", attachment.kind()))
}
