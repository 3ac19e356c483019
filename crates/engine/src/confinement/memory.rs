//! What was found in directories, so that a tree is not read anew for each command.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tiller_policy::Search;
use tiller_protocol::env::Clock;

use super::denied::Deed;

/// A directory that has changed within so many seconds before it is read may change once more without a sign of it: the
/// clocks of file systems are coarse.
const COARSE: i64 = 2;
/// Directories that are remembered.
const MOST: usize = 200_000;

/// By what things are found. Other rules find other things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) rules: Vec<String>,
    pub(super) searches: Vec<Search>,
}

/// What matters of a directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// How many entries there are.
    pub(super) entries: usize,
    /// Entries that a rule forbids, and whether they are links.
    pub(super) forbidden: Vec<(OsString, bool)>,
    /// Directories that have to be looked into.
    pub(super) dirs: Vec<OsString>,
}

/// A directory at a moment. No command can turn back the time of its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    place: (u64, u64),
    changed: (i64, i64),
}

type Found = HashMap<PathBuf, (State, Arc<Listing>)>;

/// What is remembered for each deed.
pub(super) struct Memory {
    clock: Arc<dyn Clock>,
    found: Mutex<BTreeMap<Deed, (Question, Found)>>,
}

/// What is remembered for one question, while it is used.
pub(super) struct Recall<'a> {
    memory: &'a Memory,
    deed: Deed,
    question: Question,
    found: Found,
}

impl Memory {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, found: Mutex::default() }
    }

    /// What was found by the same rules before. Whoever asks at the same time finds nothing, and has to look.
    pub(super) fn recall(&self, deed: Deed, question: Question) -> Recall<'_> {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.remove(&deed).filter(|(before, _)| *before == question);
        let found = before.map(|(_, found)| found).unwrap_or_default();
        Recall { memory: self, deed, question, found }
    }
}

impl Recall<'_> {
    /// What is in a directory; `list` is asked unless that is known.
    pub(super) fn listing(&mut self, dir: &Path, list: impl FnOnce() -> Listing) -> Arc<Listing> {
        // Taken before the look: what changes meanwhile is noticed the next time.
        let state = fs_err::symlink_metadata(dir).ok().map(|meta| State {
            place: (meta.dev(), meta.ino()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        });
        if let Some((_, listing)) = self.found.get(dir).filter(|(before, _)| Some(*before) == state) {
            return Arc::clone(listing);
        }
        let now = self.memory.clock.now().as_second();
        let listing = Arc::new(list());
        let settled = state.filter(|state| state.changed.0.saturating_add(COARSE) < now);
        if let Some(state) = settled.filter(|_| self.found.len() < MOST) {
            self.found.insert(dir.to_owned(), (state, Arc::clone(&listing)));
        } else {
            self.found.remove(dir);
        }
        listing
    }
}

impl Drop for Recall<'_> {
    fn drop(&mut self) {
        let mut all = self.memory.found.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = (self.question.clone(), std::mem::take(&mut self.found));
        all.insert(self.deed, kept);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use jiff::Timestamp;

    use super::*;

    pub(in super::super) struct At(pub(in super::super) Timestamp);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            self.0
        }
    }

    fn question(rule: &str) -> Question {
        Question { rules: vec![rule.to_owned()], searches: Vec::new() }
    }

    /// Whether a directory has to be looked into.
    fn looks(memory: &Memory, rule: &str, dir: &Path) -> bool {
        let mut looked = false;
        memory.recall(Deed::Read, question(rule)).listing(dir, || {
            looked = true;
            Listing::default()
        });
        looked
    }

    // A directory that has not changed is not read again; one that has changed is, however old it pretends to be.
    #[test]
    fn only_what_has_changed_is_looked_into_again() {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::new(Arc::new(At(Timestamp::MAX)));
        assert!(looks(&memory, "Read(*.pem)", dir.path()));
        assert!(!looks(&memory, "Read(*.pem)", dir.path()));
        fs_err::write(dir.path().join("new"), "").unwrap();
        let opened = fs_err::File::open(dir.path()).unwrap();
        opened.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert!(looks(&memory, "Read(*.pem)", dir.path()));
        assert!(looks(&memory, "Read(*.key)", dir.path()), "other rules find other things");
    }

    #[test]
    fn what_has_only_just_changed_is_not_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let changed = fs_err::metadata(dir.path()).unwrap().ctime();
        let memory = Memory::new(Arc::new(At(Timestamp::from_second(changed + COARSE).unwrap())));
        assert!(looks(&memory, "Read(*.pem)", dir.path()) && looks(&memory, "Read(*.pem)", dir.path()));
    }
}
