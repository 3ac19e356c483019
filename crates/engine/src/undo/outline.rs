//! What of a log matters for going back: prompts, snapshots, and earlier steps back.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use jiff::Timestamp;
use tiller_protocol::block::RawBlock;
use tiller_protocol::branch::{Left, branches};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Entry, Epoch};
use tiller_protocol::id::{CallId, EntryId, SnapshotId};
use tiller_protocol::rewind::{FilesBack, Rewound, SetAside, Stretch};

use super::RewindError;
use crate::store::{Loaded, StoreError, load_bare};

/// A prompt of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Its entry.
    pub id: EntryId,
    /// The entry's number.
    pub seq: u64,
    /// When it was given.
    pub at: Timestamp,
    /// What it says.
    pub text: String,
    /// Whether the conversation went back behind it.
    pub abandoned: bool,
}

/// A snapshot that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snap {
    /// The number of the entry that tells of it.
    pub seq: u64,
    /// When it was taken.
    pub at: Timestamp,
    /// What it is called.
    pub snapshot: SnapshotId,
    /// The call it was taken for; absent at the end of a turn.
    pub call: Option<CallId>,
}

/// An earlier step back.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The number of its entry.
    pub seq: u64,
    /// When it was made.
    pub at: Timestamp,
    /// What it did.
    pub rewound: Rewound,
    /// What was left behind before it.
    pub before: Vec<Stretch>,
    /// What has got another name.
    pub aside: Vec<SetAside>,
}

impl Step {
    /// Whether it left a part of the conversation behind; that a fold was taken back is no such step.
    fn is_of_conversation(&self) -> bool {
        self.rewound.conversation.is_some() && self.rewound.unfolded.is_none()
    }

    /// Whether it can be undone: something went back.
    fn went_anywhere(&self) -> bool {
        self.is_of_conversation() || self.rewound.files.is_some()
    }
}

/// A conversation that a step back has left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch<'a> {
    /// The step.
    pub step: &'a Step,
    /// Its prompts.
    pub prompts: Vec<&'a Prompt>,
}

/// Calls that may have changed files while nothing was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    first: Timestamp,
    last: Timestamp,
}

impl Missing {
    /// What that means for files that go back.
    #[must_use]
    pub fn explain(self) -> String {
        format!(
            "before the first snapshot since then, calls may have changed files ({self}), and what those were was not \
             kept: files go back only to what they were after these calls"
        )
    }
}

impl Display for Missing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.first.strftime("%F %T"), self.last.strftime("%F %T"));
        match self.first == self.last {
            true => write!(f, "at {first} UTC"),
            false => write!(f, "from {first} to {last} UTC"),
        }
    }
}

/// The outline of a session.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// All prompts, oldest first.
    pub prompts: Vec<Prompt>,
    /// All snapshots, oldest first.
    pub snaps: Vec<Snap>,
    /// All steps back, oldest first.
    pub steps: Vec<Step>,
    /// Entries that tell of a call before which nothing could be kept: their numbers, and when they were written.
    not_kept: Vec<(u64, Timestamp)>,
    /// Stretches that are no part of the conversation.
    pub abandoned: Vec<Stretch>,
    /// The number of the last entry.
    pub seq: u64,
    /// What loading the log told.
    pub loaded: Loaded,
    pub(crate) epoch: Option<Epoch>,
}

impl Outline {
    /// Reads a log.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(log: &Path) -> Result<Self, StoreError> {
        let mut outline = Self::default();
        outline.loaded = load_bare(log, |entry| outline.take(entry))?;
        for prompt in &mut outline.prompts {
            prompt.abandoned = outline.abandoned.iter().any(|stretch| stretch.holds(prompt.seq));
        }
        Ok(outline)
    }

    /// The prompts of the conversation as it stands; their position, from 1, is what the user calls them by.
    pub fn current(&self) -> impl Iterator<Item = &Prompt> {
        self.prompts.iter().filter(|prompt| !prompt.abandoned)
    }

    /// The prompt that the user means: its number, or the beginning of its id.
    #[must_use]
    pub fn find(&self, wanted: &str) -> Option<&Prompt> {
        if let Ok(number) = wanted.parse::<usize>()
            && let Some(prompt) = number.checked_sub(1).and_then(|at| self.current().nth(at))
        {
            return Some(prompt);
        }
        let mut found = self.current().filter(|prompt| prompt.id.to_string().starts_with(wanted));
        found.next().filter(|_| wanted.len() >= 4 && found.next().is_none())
    }

    /// What the files were when a prompt was given: see [`Outline::files_from`].
    ///
    /// # Errors
    /// When something may have changed since, and nothing of it was kept.
    pub fn files_at(&self, prompt: &Prompt) -> Result<Vec<SnapshotId>, RewindError> {
        self.files_from(prompt.seq)
    }

    /// What the files were when a branch was left: see [`Outline::files_from`].
    ///
    /// # Errors
    /// When something may have changed since, and nothing of it was kept.
    pub fn files_of(&self, branch: &Branch<'_>) -> Result<Vec<SnapshotId>, RewindError> {
        self.files_from(branch.step.seq)
    }

    /// What the files were before the entry with a number: as they were kept before the first change since, by a call or
    /// by a step back. Not every snapshot is of every directory: the first one that is of a directory counts for it.
    /// Nothing if nothing was changed since.
    ///
    /// # Errors
    /// When something may have changed since, and nothing of it was kept.
    pub fn files_from(&self, seq: u64) -> Result<Vec<SnapshotId>, RewindError> {
        let undo = |files: &FilesBack| files.undo.clone();
        let kept = self.kept_from(seq, undo);
        if kept.is_empty() && self.not_kept.iter().any(|(at, _)| *at >= seq) {
            return Err(RewindError::NotKept);
        }
        Ok(kept)
    }

    /// What of the changes since the entry with a number is missing in [`Outline::files_from`]: calls may have changed
    /// something before anything was kept.
    #[must_use]
    pub fn missing_from(&self, seq: u64) -> Option<Missing> {
        let first = self.kept_seqs().filter(|at| *at >= seq).min()?;
        self.missing(|at| (seq..first).contains(&at))
    }

    /// The same of [`Outline::files_since`]: they may have changed something when nothing was kept any more.
    #[must_use]
    pub fn missing_since(&self, seq: u64) -> Option<Missing> {
        let last = self.kept_seqs().filter(|at| *at >= seq).max()?;
        self.missing(|at| at > last)
    }

    fn missing(&self, is_it: impl Fn(u64) -> bool) -> Option<Missing> {
        let mut calls = self.not_kept.iter().filter(|(at, _)| is_it(*at)).map(|(_, at)| *at);
        let first = calls.next()?;
        Some(Missing { first, last: calls.next_back().unwrap_or(first) })
    }

    fn kept_seqs(&self) -> impl Iterator<Item = u64> {
        let steps = self.steps.iter().filter(|step| step.rewound.files.is_some()).map(|step| step.seq);
        self.snaps.iter().map(|snap| snap.seq).chain(steps)
    }

    /// What has become of files since the entry with a number, as far as the session goes. The first snapshot that is of a
    /// directory counts for it.
    #[must_use]
    pub fn files_since(&self, seq: u64) -> Vec<SnapshotId> {
        let mut kept = self.kept_from(seq, |files| files.to.clone());
        kept.reverse();
        kept
    }

    fn kept_from(&self, seq: u64, of_step: impl Fn(&FilesBack) -> SnapshotId) -> Vec<SnapshotId> {
        let taken = self.snaps.iter().map(|snap| (snap.seq, snap.snapshot.clone()));
        let steps = self.steps.iter();
        let stepped = steps.filter_map(|step| Some((step.seq, of_step(step.rewound.files.as_ref()?))));
        let mut kept: Vec<(u64, SnapshotId)> = taken.chain(stepped).filter(|(at, _)| *at >= seq).collect();
        kept.sort_by_key(|(at, _)| *at);
        kept.into_iter().map(|(_, snapshot)| snapshot).collect()
    }

    /// What is no part of the conversation any more when it goes back to before a prompt.
    #[must_use]
    pub(crate) fn abandoning(&self, prompt: &Prompt) -> Vec<Stretch> {
        let since = Stretch { from: prompt.seq, until: self.seq.saturating_add(1) };
        self.abandoned.iter().copied().chain([since]).collect()
    }

    /// The same when a step back is undone: what was left behind before it, and everything since.
    #[must_use]
    pub(crate) fn returning(&self, step: &Step) -> Vec<Stretch> {
        let since = Stretch { from: step.seq, until: self.seq.saturating_add(1) };
        step.before.iter().copied().chain([since]).collect()
    }

    /// Conversations that steps back have left behind, oldest first, but for those that another goes on from.
    #[must_use]
    pub fn branches(&self) -> Vec<Branch<'_>> {
        let prompts: Vec<u64> = self.prompts.iter().map(|prompt| prompt.seq).collect();
        let steps = self.steps.iter().filter(|step| step.is_of_conversation());
        let left: Vec<Left> = steps.map(|step| Left { seq: step.seq, before: step.before.clone() }).collect();
        let found = branches(&prompts, &left, &self.abandoned).into_iter();
        found.filter_map(|branch| self.branch(&branch)).collect()
    }

    fn branch(&self, found: &tiller_protocol::branch::Branch) -> Option<Branch<'_>> {
        let step = self.steps.iter().find(|step| step.seq == found.step)?;
        let prompts = self.prompts.iter().filter(|prompt| found.prompts.contains(&prompt.seq));
        Some(Branch { step, prompts: prompts.collect() })
    }

    /// The last step back that can be undone; that a fold was taken back is none.
    #[must_use]
    pub fn last_step(&self) -> Option<&Step> {
        self.steps.iter().rfind(|step| step.went_anywhere())
    }

    /// Every snapshot that the log refers to.
    pub fn snapshots(&self) -> impl Iterator<Item = SnapshotId> {
        self.snapshots_since(Timestamp::MIN)
    }

    /// Every snapshot that the log has referred to since a moment.
    pub(crate) fn snapshots_since(&self, since: Timestamp) -> impl Iterator<Item = SnapshotId> {
        let taken = self.snaps.iter().filter(move |snap| snap.at >= since).map(|snap| snap.snapshot.clone());
        let steps = self.steps.iter().filter(move |step| step.at >= since);
        let back = steps.filter_map(|step| step.rewound.files.as_ref());
        taken.chain(back.flat_map(|files| [files.to.clone(), files.undo.clone()]))
    }

    fn take(&mut self, entry: Entry) {
        self.seq = entry.seq;
        match entry.body {
            Body::User(message) if !message.is_hidden() => {
                let text: Vec<String> = message.content.iter().filter_map(RawBlock::as_text).collect();
                let text = text.join("\n");
                self.prompts.push(Prompt {
                    id: entry.id,
                    seq: entry.seq,
                    at: entry.at,
                    text,
                    abandoned: false,
                });
            }
            Body::Effect(Effect::Snapshot { snapshot, call }) => {
                self.snaps.push(Snap { seq: entry.seq, at: entry.at, snapshot, call });
            }
            Body::Epoch(epoch) => self.epoch = Some(epoch),
            Body::Rewound(rewound) => {
                let before = self.abandoned.clone();
                if let Some(back) = &rewound.conversation {
                    self.abandoned.clone_from(&back.abandoned);
                }
                let aside = Vec::new();
                self.steps.push(Step { seq: entry.seq, at: entry.at, rewound, before, aside });
            }
            Body::Effect(Effect::NotKept { .. }) => self.not_kept.push((entry.seq, entry.at)),
            Body::Effect(Effect::WentBack { aside, .. }) => {
                self.steps.last_mut().into_iter().for_each(|step| step.aside.clone_from(&aside));
            }
            _ => {}
        }
    }
}
