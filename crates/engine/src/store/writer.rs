//! Appending to a log: one write per entry, each line chained to the one before by a hash.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use fs_err::File;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::StoreError;

/// Characters of a line's hash.
pub(super) const HASH_LEN: usize = 32;
/// What precedes the hash in a line.
pub(super) const HASH_FIELD: &str = r#","hash":""#;

/// The hash of a line, given without the brace that closes it, and the hash of the line before.
pub(super) fn chain(previous: &str, open: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(open.as_bytes());
    hasher.update(b"}");
    hasher.finalize().to_hex()[..HASH_LEN].to_owned()
}

/// The end of a session's log. Holds the lock that keeps a second writer out.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Arc<File>,
    hash: String,
    length: u64,
    unsynced: bool,
}

impl LogWriter {
    /// Opens a log for appending, creating it and its directories, readable by the user alone.
    pub(crate) fn open(path: &Path, name: &str) -> Result<Self, StoreError> {
        if let Some(dir) = path.parent() {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", dir.display())))?;
        }
        let mut options = fs_err::OpenOptions::new();
        fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.create(true).append(true).read(true).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => StoreError::Busy(name.to_owned()),
            other => StoreError::Io(other.into()),
        })?;
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), hash: String::new(), length, unsynced: false })
    }

    /// The log.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Continues after what was loaded: cuts a torn tail off and takes up the chain.
    pub(crate) fn continue_at(&mut self, length: u64, hash: String) -> Result<(), StoreError> {
        self.file.set_len(length)?;
        self.length = length;
        self.hash = hash;
        Ok(())
    }

    /// Appends one line; the hash is added to it.
    pub(crate) fn append(&mut self, line: &str) -> Result<(), StoreError> {
        let open = line.strip_suffix('}').unwrap_or(line);
        let hash = chain(&self.hash, open);
        let mut bytes = String::with_capacity(line.len() + HASH_LEN + 16);
        bytes.push_str(open);
        bytes.push_str(HASH_FIELD);
        bytes.push_str(&hash);
        bytes.push_str("\"}\n");
        if let Err(error) = (&*self.file).write_all(bytes.as_bytes()) {
            // A full disk may have taken half a line; what follows must not be glued to it.
            let _ = self.file.set_len(self.length);
            return Err(error.into());
        }
        self.length += bytes.len() as u64;
        self.hash = hash;
        self.unsynced = true;
        Ok(())
    }

    /// Has everything appended on disk, in a process that has nothing else to do meanwhile.
    pub(crate) fn sync_now(&mut self) -> Result<(), StoreError> {
        self.file.sync_data()?;
        self.unsynced = false;
        Ok(())
    }

    /// Waits until everything appended is on disk.
    pub(crate) async fn sync(&mut self) -> Result<(), StoreError> {
        if !self.unsynced {
            return Ok(());
        }
        let file = Arc::clone(&self.file);
        let synced = tokio::task::spawn_blocking(move || file.sync_data()).await;
        synced.map_err(std::io::Error::other)??;
        self.unsynced = false;
        Ok(())
    }
}

impl Drop for LogWriter {
    /// Closing the file would not do: a process that is just being started may have inherited it.
    fn drop(&mut self) {
        _ = flock(&*self.file, FlockOperation::Unlock);
    }
}
