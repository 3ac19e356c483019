//! Directories of the user alone, and who may use a store at the same time: many that add to it, or one that tidies up.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::SnapshotError;

/// Creates a directory that only the user may look into.
pub(crate) fn private_dir(dir: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", dir.display())))
}

/// How a store is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Beside others that add to it.
    Shared,
    /// Alone.
    Alone,
}

/// A hold on a store; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Held(fs_err::File);

impl Held {
    pub(crate) fn take(dir: &Path, hold: Hold) -> Result<Self, SnapshotError> {
        let mut options = fs_err::OpenOptions::new();
        fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.create(true).truncate(false).write(true).open(dir.join("lock"))?;
        let mut held = Self(file);
        held.change(hold)?;
        Ok(held)
    }

    pub(crate) fn change(&mut self, hold: Hold) -> Result<(), SnapshotError> {
        let operation = match hold {
            Hold::Shared => FlockOperation::NonBlockingLockShared,
            Hold::Alone => FlockOperation::NonBlockingLockExclusive,
        };
        flock(&self.0, operation).map_err(|errno| match errno {
            Errno::WOULDBLOCK => SnapshotError::Busy,
            other => SnapshotError::Io(other.into()),
        })
    }
}

impl Drop for Held {
    /// Closing the file would not do: a process that is just being started may have inherited it.
    fn drop(&mut self) {
        _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// An error of the system with the path it is about.
pub(crate) fn named(path: &Path, errno: Errno) -> std::io::Error {
    let error = std::io::Error::from(errno);
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
