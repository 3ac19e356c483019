//! Where the entries of a session can be read again, long after the conversation has let go of them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tiller_protocol::entry::Entry;

use crate::store::{StoreError, load_from};

/// All entries of one agent's log.
#[derive(Clone, Debug)]
pub(crate) enum Archive {
    /// On disk.
    Log(PathBuf),
    /// In memory: the session is not kept.
    Memory(Arc<Memory>),
}

/// What a session that is not kept has said, and where it found what was said before.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// A log that stays as it is, and the number of the last entry that was read there.
    before: Option<(PathBuf, u64)>,
    entries: Mutex<Vec<Arc<Entry>>>,
}

impl Archive {
    /// The log, or memory if there is none.
    pub(crate) fn new(log: Option<PathBuf>) -> Self {
        log.map_or_else(|| Self::Memory(Arc::default()), Self::Log)
    }

    /// In memory, behind what a log holds up to an entry.
    pub(crate) fn behind(log: PathBuf, last: u64) -> Self {
        Self::Memory(Arc::new(Memory { before: Some((log, last)), entries: Mutex::default() }))
    }

    /// Remembers an entry that no log has.
    pub(crate) fn keep(&self, entry: &Arc<Entry>) {
        if let Self::Memory(memory) = self {
            memory.entries.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(entry));
        }
    }

    /// Gives each entry to `take`, in order.
    pub(crate) fn read(&self, take: impl FnMut(Entry)) -> Result<(), StoreError> {
        self.read_from(0, take)
    }

    /// The same, perhaps without what calls have returned.
    pub(crate) fn read_bare(&self, take: impl FnMut(Entry)) -> Result<(), StoreError> {
        self.read_from(u64::MAX, take)
    }

    /// The same, perhaps without what calls have returned before an entry.
    pub(crate) fn read_from(&self, whole: u64, mut take: impl FnMut(Entry)) -> Result<(), StoreError> {
        match self {
            Self::Log(path) => load_from(path, whole, take).map(drop),
            Self::Memory(memory) => {
                if let Some((log, last)) = &memory.before {
                    load_from(log, whole, |entry| {
                        if entry.seq <= *last {
                            take(entry);
                        }
                    })?;
                }
                let entries = memory.entries.lock().unwrap_or_else(PoisonError::into_inner).clone();
                entries.iter().for_each(|entry| take(Entry::clone(entry)));
                Ok(())
            }
        }
    }
}
