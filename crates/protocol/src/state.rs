//! Session state: the fold of a log. [`State::apply`] is its only writer.

mod files;
mod unsettled;

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::compaction::{Cleared, Compacted, Folded};
use crate::effect::{Effect, SkillUse, Todo};
use crate::entry::{Body, Entry, Opened, Origin, Queued, Response, TurnEnd};
use crate::id::{CallId, EntryId, MessageId, SnapshotId};
use crate::ingredients::Shaping;
use crate::mode::{DelegateFlags, Mode, PlanFlags};
use crate::permission::{SessionPermissions, Update};
use crate::rewind::{FilesBack, Rewound, Stretch};
use crate::usage::Usage;

pub use files::Files;
pub use unsettled::Unsettled;

/// Tools whose results show only a part of the files that they have changed.
const EXCERPTING: [&str; 2] = ["Edit", "NotebookEdit"];

/// Skills remembered at most; the least recently used is forgotten first.
const SKILLS_REMEMBERED: usize = 20;

/// What the next step needs to know about the session so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Sequence number of the last entry.
    pub seq: u64,
    /// The last conversation entry.
    pub leaf: Option<EntryId>,
    /// The permission mode.
    pub mode: Mode,
    /// What the model still has to be told about plan mode.
    pub plan: PlanFlags,
    /// The name of the session's plan files, once it has planned.
    pub plan_slug: Option<String>,
    /// What the model still has to be told about delegate mode.
    pub delegate: DelegateFlags,
    /// Rules and directories of this session.
    pub permissions: SessionPermissions,
    /// The model that took over, if the configured one was left.
    pub model: Option<String>,
    /// Where the session was started.
    pub start_dir: PathBuf,
    /// Where commands start.
    pub cwd: PathBuf,
    /// Further working directories.
    pub additional_dirs: Vec<PathBuf>,
    /// The todo list.
    pub todos: Vec<Todo>,
    /// Skills that were used, each once, the latest last.
    pub skills: Vec<SkillUse>,
    /// What the model has seen of which file.
    pub files: Arc<Files>,
    /// The answer that may still become void.
    pub answer: Option<MessageId>,
    /// What was known before its entries.
    pub unsettled: Unsettled,
    /// Calls without a result, in order.
    pub open_calls: IndexMap<CallId, OpenCall>,
    /// Digests of all call ids so far: a provider may repeat one, the conversation must not.
    pub call_ids: HashSet<u64>,
    /// Input that waits for delivery.
    pub queue: VecDeque<Queued>,
    /// What the session has consumed.
    pub spent: Spent,
    /// Usage of the last response.
    pub last_usage: Option<Usage>,
    /// Whether a turn was begun and not ended.
    pub turn_open: bool,
    /// Stretches of the log that are no part of the conversation.
    pub abandoned: Vec<Stretch>,
    /// The latest snapshot of the files.
    pub snapshot: Option<SnapshotId>,
    /// A file rewind that was announced but not confirmed.
    pub going_back: Option<FilesBack>,
    /// Where the conversation was last folded.
    pub folded: Option<Folded>,
    /// The number of the entry with which results were last cleared.
    pub cleared: Option<u64>,
    /// What reminders depend on beside the log, as it was last noted.
    pub shaping: Option<Arc<Shaping>>,
}

/// A call that waits for its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The tool's name.
    pub tool: String,
    /// The entry with the call.
    pub entry: EntryId,
}

/// Totals of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// Dollars, as far as prices are known.
    pub usd: f64,
    /// Whether a response had no known price.
    pub unpriced: bool,
    /// Time spent waiting for the provider.
    pub api_ms: u64,
    /// By model.
    pub by_model: IndexMap<String, ModelSpent>,
}

/// Totals of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelSpent {
    /// Tokens.
    pub usage: Usage,
    /// Dollars, as far as the price is known.
    pub usd: f64,
}

impl Spent {
    fn add(&mut self, response: &Response) {
        let model = self.by_model.entry(response.model.clone()).or_default();
        model.usage += response.usage;
        model.usd += response.cost_usd.unwrap_or_default();
        self.usd += response.cost_usd.unwrap_or_default();
        self.unpriced |= response.cost_usd.is_none();
        self.api_ms += response.duration_ms;
    }
}

impl State {
    /// Folds one more entry in.
    pub fn apply(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        if entry.body.is_message() {
            self.leaf = Some(entry.id);
        }
        match &entry.body {
            Body::Opened(opened) => self.open(opened),
            Body::User(message) => {
                self.delivered(entry.id);
                self.turn_open = true;
                if let Some(folded) = &mut self.folded {
                    folded.spoken_since |= !message.is_hidden();
                    folded.untold &= message.origin != Origin::Summary;
                }
            }
            Body::Assistant(block) => {
                self.begin_answer(&block.message_id);
                if let Some(call) = block.block.as_tool_use() {
                    self.call_ids.insert(call.id.digest());
                    self.open_calls.insert(call.id, OpenCall { tool: call.name, entry: entry.id });
                }
            }
            Body::Response(response) => {
                self.spent.add(response);
                if !response.side {
                    self.last_usage = Some(response.usage);
                }
            }
            Body::Result(result) => {
                self.open_calls.shift_remove(&result.call);
                result.effects.iter().for_each(|effect| self.effect_of((entry.id, entry.seq), effect));
                if EXCERPTING.contains(&result.tool.as_str()) && self.files.is_unsettled() {
                    Arc::make_mut(&mut self.files).shows_only_a_part(entry.id);
                }
            }
            Body::Effect(effect) => self.effect_of((entry.id, entry.seq), effect),
            Body::Queued(queued) => self.queue.push_back(queued.clone()),
            Body::Dequeued(gone) => self.queue.retain(|queued| !gone.ids.contains(&queued.id)),
            Body::Orphaned(orphaned) => self.orphan(&orphaned.ids),
            Body::Rewound(rewound) => self.rewind(rewound),
            Body::TurnEnded(TurnEnd { .. }) => self.turn_open = false,
            Body::Attachment(attachment) => {
                if let Some(id) = attachment.queued_id() {
                    self.delivered(id);
                }
                attachment.effects.iter().for_each(|effect| self.effect_of((entry.id, entry.seq), effect));
                match attachment.kind() {
                    "plan_mode_exit" => self.plan.exit_notice_due = false,
                    "plan_mode_reentry" => self.plan.has_exited = false,
                    "delegate_mode_exit" => self.delegate.exit_notice_due = false,
                    _ => {}
                }
            }
            Body::Compacted(compacted) => self.fold_conversation(entry, compacted),
            Body::Cleared(cleared) => self.clear(entry.seq, cleared),
            Body::Epoch(epoch) => {
                self.shaping = epoch.made_of.as_ref().map(|made_of| Arc::new(made_of.shaping.clone()));
                if let Some(folded) = &mut self.folded {
                    folded.until.get_or_insert(entry.seq);
                }
            }
            Body::Notice(_) | Body::Decision(_) | Body::Hook(_) | Body::Repaired(_) | Body::Unknown(_) => {}
        }
    }

    /// The state after a whole log.
    pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut state = Self::default();
        entries.into_iter().for_each(|entry| state.apply(entry));
        state
    }

    /// A new answer begins: the one before is there to stay.
    fn begin_answer(&mut self, id: &MessageId) {
        if self.answer.as_ref() != Some(id) {
            self.answer = Some(id.clone());
            self.settle();
            if self.files.is_unsettled() {
                Arc::make_mut(&mut self.files).settle();
            }
        }
    }

    /// What is void is never sent: the model has not seen what it says, and nobody asks for what it has changed.
    fn orphan(&mut self, ids: &[EntryId]) {
        self.open_calls.retain(|_, call| !ids.contains(&call.entry));
        self.undo(ids);
        if self.files.is_unsettled() {
            Arc::make_mut(&mut self.files).undo(ids);
        }
    }

    /// Queued input leaves the queue by the very entry that delivers it, so that a crash neither loses nor repeats it.
    fn delivered(&mut self, id: EntryId) {
        self.queue.retain(|queued| queued.id != id);
    }

    /// What belongs to the user or to the project stays; what the model has seen of files is out of its sight, unless it
    /// stands in what is kept.
    fn fold_conversation(&mut self, entry: &Entry, compacted: &Compacted) {
        let kept = compacted.kept.as_ref().map(|kept| self.files.shown_since(kept.from));
        self.files = Arc::new(kept.unwrap_or_default());
        self.last_usage = None;
        self.folded = Some(Folded {
            id: entry.id,
            seq: entry.seq,
            until: None,
            kept_from: compacted.kept.as_ref().map(|kept| kept.from),
            spoken_since: false,
            untold: true,
        });
    }

    fn clear(&mut self, seq: u64, cleared: &Cleared) {
        Arc::make_mut(&mut self.files).lose_sight(&cleared.out_of_sight);
        self.cleared = Some(seq);
    }

    /// Mode, rules and costs are the user's and stay; what belongs to the conversation goes back with it.
    fn rewind(&mut self, rewound: &Rewound) {
        if let Some(files) = &rewound.files {
            self.snapshot = Some(files.undo.clone());
            self.going_back = Some(files.clone()).filter(|files| files.announced);
        }
        let Some(back) = &rewound.conversation else { return };
        self.leaf = back.leaf;
        self.cwd.clone_from(&back.cwd);
        self.todos.clone_from(&back.todos);
        self.skills.clone_from(&back.skills);
        self.files = Arc::new(Files::default());
        let files = Arc::make_mut(&mut self.files);
        back.seen.iter().for_each(|seen| files.see(seen.clone()));
        files.lose_sight(&back.out_of_sight);
        self.settle();
        self.abandoned.clone_from(&back.abandoned);
        self.folded = back.folded;
        self.open_calls.clear();
        self.last_usage = None;
        self.turn_open = false;
    }

    fn open(&mut self, opened: &Opened) {
        self.start_dir.clone_from(&opened.cwd);
        self.cwd.clone_from(&opened.cwd);
        // Each run starts with the model it was told to use.
        self.model = None;
        self.additional_dirs.clone_from(&opened.additional_dirs);
    }

    /// Every change of mode comes through here, whoever made it.
    fn set_mode(&mut self, mode: Mode) {
        self.plan = self.plan.after(self.mode, mode);
        self.delegate = self.delegate.after(self.mode, mode);
        self.mode = mode;
    }

    fn permit(&mut self, update: &Update) {
        match update {
            Update::SetMode { mode, .. } => self.set_mode(*mode),
            other => self.permissions.apply(other),
        }
    }

    /// What an entry changes in the conversation goes with the answer that it belongs to, should that become void.
    fn effect_of(&mut self, entry: (EntryId, u64), effect: &Effect) {
        self.keep_before(entry.0, effect);
        match effect {
            Effect::FileSeen(_) | Effect::FileForgotten { .. } => {
                Arc::make_mut(&mut self.files).take_of(entry, effect);
            }
            other => self.effect(other),
        }
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::SetMode { mode } => self.set_mode(*mode),
            Effect::Permissions { updates } => updates.iter().for_each(|update| self.permit(update)),
            Effect::SetModel { model } => self.model = Some(model.clone()),
            Effect::SetTodos { todos } => self.todos.clone_from(todos),
            Effect::FileSeen(_) | Effect::FileForgotten { .. } | Effect::FilesTakenOver { .. } => {
                Arc::make_mut(&mut self.files).take(effect);
            }
            Effect::Snapshot { snapshot, .. } => self.snapshot = Some(snapshot.clone()),
            Effect::WentBack { .. } => self.going_back = None,
            Effect::ChangeDir { path } => self.cwd.clone_from(path),
            Effect::SetPlan { slug } => self.plan_slug = Some(slug.clone()),
            Effect::PlanKept(_) | Effect::PlanApproved { .. } | Effect::NotKept { .. } => {}
            Effect::SkillUsed(used) => self.use_skill(used),
            Effect::RecipeCalled(_) => {}
            Effect::Shaped(shaping) => self.shaping = Some(Arc::new(shaping.clone())),
        }
    }

    fn use_skill(&mut self, used: &SkillUse) {
        self.skills.retain(|known| known.name != used.name);
        self.skills.push(used.clone());
        if self.skills.len() > SKILLS_REMEMBERED {
            self.skills.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::effect::{FileSeen, Fingerprint};
    use crate::entry::{Outcome, UserMessage};

    fn seen(content: &str) -> FileSeen {
        FileSeen { path: "/f".into(), fingerprint: Fingerprint(content.to_owned()), mtime_ms: 0, lines: None }
    }

    fn attached(kind: &str, effects: Vec<Effect>) -> Entry {
        let content = serde_json::json!({"type": kind});
        let attachment = crate::entry::Attachment {
            effects,
            ..crate::entry::Attachment::new(content, "", String::new(), Vec::new())
        };
        let body = Body::Attachment(attachment);
        Entry { seq: 1, id: EntryId::default(), parent: None, at: Default::default(), agent: None, body }
    }

    // PLAN-39 PLAN-41: what was told is not owed any more.
    #[test]
    fn flags_of_plan_mode_are_cleared_by_the_attachment_that_tells_of_them() {
        let owed = PlanFlags { has_exited: true, exit_notice_due: true };
        let mut state = State { plan: owed, ..State::default() };
        state.apply(&attached("plan_mode", Vec::new()));
        assert_eq!(state.plan, owed);
        state.apply(&attached("plan_mode_exit", Vec::new()));
        assert_eq!(state.plan, PlanFlags { has_exited: true, exit_notice_due: false });
        state.apply(&attached("plan_mode_reentry", Vec::new()));
        assert_eq!(state.plan, PlanFlags::default());
    }

    // STEER-25
    #[test]
    fn attachments_carry_what_they_show_of_files() {
        let mut state = State::default();
        state.apply(&attached("file", vec![Effect::FileSeen(seen("a"))]));
        assert_eq!(state.files.get(Path::new("/f")), Some(&seen("a")));
        state.apply(&attached("edited_text_file", vec![Effect::FileForgotten { path: "/f".into() }]));
        assert_eq!(state.files.iter().count(), 0);
    }

    #[test]
    fn a_skill_is_remembered_once_and_the_oldest_is_forgotten() {
        let mut state = State::default();
        let mut used = |name: &str| {
            let used = SkillUse { name: name.to_owned(), ..SkillUse::default() };
            state.apply(&attached("x", vec![Effect::SkillUsed(used)]));
            state.skills.iter().map(|used| used.name.clone()).collect::<Vec<_>>()
        };
        used("a");
        used("b");
        assert_eq!(used("a"), ["b", "a"]);
        let names = (0..SKILLS_REMEMBERED).map(|n| used(&n.to_string())).last().unwrap();
        assert_eq!((names.len(), names[0].as_str()), (SKILLS_REMEMBERED, "0"));
    }

    // LOG-08: a long log leaves a small state.
    #[test]
    fn state_does_not_grow_with_the_log() {
        let size = |turns: u64| {
            let mut state = State::default();
            for seq in 0..turns {
                let body = if seq % 2 == 0 {
                    Body::User(UserMessage::prompt(&"x".repeat(1_000)))
                } else {
                    Body::TurnEnded(TurnEnd { outcome: Outcome::Success, marker: None, steps: 1 })
                };
                let id = EntryId(uuid::Uuid::from_u128(u128::from(seq)));
                state.apply(&Entry { seq, id, parent: None, at: Default::default(), agent: None, body });
            }
            format!("{state:?}").len()
        };
        assert!(size(10_000) < size(10) + 100);
    }
}
