//! Going back in a session that nobody has open.

use std::path::Path;
use std::sync::Arc;

use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Entry, Epoch};
use tiller_protocol::env::Env;
use tiller_protocol::id::{SessionId, SnapshotId};
use tiller_protocol::rewind::{ConversationBack, FilesBack, Rewound, SetAside, Stretch};
use tiller_protocol::state::State;
use tiller_snapshot::{Aside, Ready, Restored, SnapshotError, Store};
use tiller_steering::Conversation;
use tiller_steering::compaction::Room;
use tiller_steering::past::Past;

use super::outline::{Missing, Outline, Prompt};
use crate::archive::Archive;
use crate::journal::Journal;
use crate::store::{LogWriter, StoreError, load_bare, unpacked};

/// Why it is not possible to go back.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// The log cannot be used.
    #[error(transparent)]
    Store(StoreError),
    /// The files cannot be brought back.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The session keeps nothing of files.
    #[error(
        "files cannot go back, because snapshots are off: {0}; nothing was changed, and the conversation alone can go \
         back"
    )]
    Off(String),
    /// Something may have changed, and nothing of it was kept.
    #[error(
        "files cannot go back, because what they were then was not kept; nothing was changed, and the conversation \
         alone can go back"
    )]
    NotKept,
    /// No step back was made.
    #[error("nothing was rewound in this session, so there is nothing to undo")]
    NothingToUndo,
    /// There are not so many branches.
    #[error("there is no branch {number}: the session has {of}; `tiller sessions show` lists them")]
    NoBranch {
        /// What was asked for.
        number: usize,
        /// How many there are.
        of: usize,
    },
}

/// What a step back has done.
#[derive(Debug, Default)]
pub struct Undone {
    /// The files, if they went back.
    pub files: Option<Restored>,
    /// Whether the conversation went back.
    pub conversation: bool,
    /// What did not go back, because it was not kept.
    pub missing: Option<Missing>,
}

/// A session's log, open for a step back.
pub struct Rewind {
    journal: Journal,
    outline: Outline,
}

impl Rewind {
    /// Opens a log. Nobody else can have it open meanwhile.
    ///
    /// # Errors
    /// When it is in use or cannot be read.
    pub fn open(log: &Path, session: SessionId, env: &Env) -> Result<Self, RewindError> {
        let log = &unpacked(log)?;
        let mut writer = LogWriter::open(log, &session.to_string())?;
        let outline = Outline::read(log)?;
        let mut state = State::default();
        let loaded = load_bare(log, |entry| state.apply(&entry))?;
        writer.continue_at(loaded.length, loaded.hash)?;
        let (events, _nobody) = tokio::sync::mpsc::unbounded_channel();
        let folds = (state, Conversation::default(), Arc::new(Past::default()), Room::default());
        let kept = (Archive::Log(log.to_owned()), Some(writer));
        let journal = Journal::new(env.clone(), session, folds, kept, events);
        Ok(Self { journal, outline })
    }

    /// What the log holds.
    #[must_use]
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Goes back to before a prompt.
    ///
    /// # Errors
    /// When files cannot be brought back or the log cannot be written.
    pub fn to(
        mut self,
        prompt: &Prompt,
        conversation: bool,
        files: Option<&mut Store>,
    ) -> Result<Undone, RewindError> {
        let files = match files {
            Some(store) => Files::found(store, &self.outline, prompt.seq)?,
            None => None,
        };
        let abandoned = self.outline.abandoning(prompt);
        let rewound = Rewound { to: Some(prompt.id), ..Rewound::default() };
        self.go(rewound, conversation.then_some(abandoned), files)
    }

    /// Goes on from a conversation that a step back has left behind; the present one is a branch then.
    ///
    /// # Errors
    /// When there is no such branch, files cannot be brought back, or the log cannot be written.
    pub fn to_branch(
        mut self,
        number: usize,
        conversation: bool,
        files: Option<&mut Store>,
    ) -> Result<Undone, RewindError> {
        let branches = self.outline.branches();
        let branch = number.checked_sub(1).and_then(|at| branches.get(at));
        let branch = branch.ok_or(RewindError::NoBranch { number, of: branches.len() })?;
        let files = match files {
            Some(store) => Files::found(store, &self.outline, branch.step.seq)?,
            None => None,
        };
        let abandoned = self.outline.returning(branch.step);
        let rewound = Rewound { branch: Some(branch.step.seq), ..Rewound::default() };
        self.go(rewound, conversation.then_some(abandoned), files)
    }

    /// Takes the last step back again.
    ///
    /// # Errors
    /// When there was none, files cannot be brought back, or the log cannot be written.
    pub fn undo(mut self, store: &mut Store) -> Result<Undone, RewindError> {
        let step = self.outline.last_step().cloned().ok_or(RewindError::NothingToUndo)?;
        let files = step.rewound.files.as_ref().map(|files| Files {
            store,
            to: files.undo.clone(),
            returning: Some((files.to.clone(), step.aside.clone())),
            missing: None,
        });
        let abandoned = step.rewound.conversation.as_ref().map(|_| self.outline.returning(&step));
        self.go(Rewound::default(), abandoned, files)
    }

    /// Goes back. What is about to happen to files is on disk before it happens, with the way to undo it.
    fn go(
        &mut self,
        rewound: Rewound,
        abandoned: Option<Vec<Stretch>>,
        files: Option<Files<'_>>,
    ) -> Result<Undone, RewindError> {
        let conversation = abandoned.is_some();
        let Some(Files { store, to, returning, missing }) = files else {
            // A step that goes nowhere is none: it would stand in the way of undoing the one before.
            if conversation {
                self.record(rewound, abandoned)?;
                self.journal.sync_now()?;
            }
            return Ok(Undone { files: None, conversation, missing: None });
        };
        let ready = make_ready(store, &to, returning)?;
        let undo = ready.undo.clone();
        let files = Some(FilesBack { to, undo: undo.clone(), announced: true });
        self.record(Rewound { files, ..rewound }, abandoned)?;
        self.journal.sync_now()?;
        let restored = store.carry_out(ready);
        let aside = noted(&restored.aside);
        self.journal.append(Body::Effect(Effect::WentBack { undo, aside }))?;
        self.journal.sync_now()?;
        Ok(Undone { files: Some(restored), conversation, missing })
    }

    fn record(&mut self, rewound: Rewound, abandoned: Option<Vec<Stretch>>) -> Result<(), RewindError> {
        let conversation = match abandoned {
            Some(abandoned) => Some(conversation(&self.journal.archive, abandoned)?),
            None => None,
        };
        let went_back = conversation.is_some();
        self.journal.append(Body::Rewound(Rewound { conversation, ..rewound }))?;
        // What the model thought was bound to the conversation as it was.
        if let Some(epoch) = self.outline.epoch.take().filter(|_| went_back) {
            self.journal.append(Body::Epoch(Epoch { reason: "rewind".to_owned(), ..epoch }))?;
        }
        Ok(())
    }
}

/// Files that go back.
struct Files<'a> {
    store: &'a mut Store,
    to: SnapshotId,
    returning: Option<Returning>,
    missing: Option<Missing>,
}

impl<'a> Files<'a> {
    /// The files as they were before the entry with a number; nothing if nothing was changed since.
    fn found(store: &'a mut Store, outline: &Outline, seq: u64) -> Result<Option<Self>, RewindError> {
        let to = store.join(&outline.files_from(seq)?)?;
        Ok(to.map(|to| Self { store, to, returning: None, missing: outline.missing_from(seq) }))
    }
}

/// What the step that is undone has brought back, and what it has set aside for that.
pub(crate) type Returning = (SnapshotId, Vec<SetAside>);

/// Finds the way back to a snapshot, with what gets its name again.
pub(super) fn make_ready(
    store: &mut Store,
    to: &SnapshotId,
    returning: Option<Returning>,
) -> Result<Ready, SnapshotError> {
    let mut ready = store.make_ready(to)?;
    if let Some((placed, aside)) = returning.filter(|(_, aside)| !aside.is_empty()) {
        let aside = aside.into_iter().map(|SetAside { path, to }| (path, to));
        store.make_ready_to_return(&mut ready, &placed, aside)?;
    }
    Ok(ready)
}

/// What was set aside, for the log; what has a name that the log cannot hold keeps its other name.
pub(crate) fn noted(aside: &[Aside]) -> Vec<SetAside> {
    let named = aside.iter().filter(|one| one.path.to_str().is_some());
    named.map(|Aside { path, to, .. }| SetAside { path: path.clone(), to: to.clone() }).collect()
}

/// The conversation of a log without some stretches of it.
pub(crate) fn conversation(
    archive: &Archive,
    abandoned: Vec<Stretch>,
) -> Result<ConversationBack, StoreError> {
    let view = ConversationBack { abandoned, ..ConversationBack::default() };
    let mut state = State::default();
    archive.read_bare(|entry: Entry| {
        // What an earlier step back has noted of its own view need not hold for this one.
        if view.holds(entry.seq) && !matches!(entry.body, Body::Rewound(_)) {
            state.apply(&entry);
        }
    })?;
    Ok(ConversationBack::new(view.abandoned, &state))
}
