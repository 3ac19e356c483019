//! Appending to a log: one write per entry, each line chained to the one before by a hash.

use std::io::{self, Seek, Write};
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
    unsynced: bool,
    /// Half a line may stand at the end, which could not be taken back.
    is_torn: bool,
}

/// Makes a directory and those above it, for the user alone.
pub(crate) fn make_private(dir: &Path) -> std::io::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", dir.display())))
}

impl LogWriter {
    /// Opens a log for appending, creating it and its directories, readable by the user alone.
    pub(crate) fn open(path: &Path, name: &str) -> Result<Self, StoreError> {
        if let Some(dir) = path.parent() {
            make_private(dir)?;
        }
        let mut options = fs_err::OpenOptions::new();
        fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.create(true).append(true).read(true).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => StoreError::Busy(name.to_owned()),
            other => StoreError::Io(other.into()),
        })?;
        Ok(Self { file: Arc::new(file), hash: String::new(), unsynced: false, is_torn: false })
    }

    /// The log.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Continues after what was loaded: cuts a torn tail off and takes up the chain.
    pub(crate) fn continue_at(&mut self, length: u64, hash: String) -> Result<(), StoreError> {
        self.file.set_len(length)?;
        self.hash = hash;
        Ok(())
    }

    /// Appends one line; the hash is added to it.
    pub(crate) fn append(&mut self, line: &str) -> Result<(), StoreError> {
        self.append_with(line, |mut file, bytes| file.write(bytes))
    }

    fn append_with(
        &mut self,
        line: &str,
        write: impl Fn(&File, &[u8]) -> io::Result<usize>,
    ) -> Result<(), StoreError> {
        let open = line.strip_suffix('}').unwrap_or(line);
        let hash = chain(&self.hash, open);
        let mut bytes = String::with_capacity(line.len() + HASH_LEN + 16);
        if self.is_torn {
            bytes.push('\n');
        }
        bytes.push_str(open);
        bytes.push_str(HASH_FIELD);
        bytes.push_str(&hash);
        bytes.push_str("\"}\n");
        let mut written = 0;
        while written < bytes.len() {
            match write(&self.file, &bytes.as_bytes()[written..]) {
                Ok(count) if count > 0 => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                failed => {
                    self.take_back(written);
                    return Err(failed.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into()).into());
                }
            }
        }
        self.hash = hash;
        self.unsynced = true;
        self.is_torn = false;
        Ok(())
    }

    /// A full disk may have taken half a line, to which nothing must be glued. Others append to the log as well, so only
    /// what was just written is cut off, and only where it is still the end.
    fn take_back(&mut self, written: usize) {
        let mut file = &*self.file;
        let mut cut = || {
            let end = file.stream_position()?;
            if file.metadata()?.len() != end {
                return Err(io::Error::other("somebody has written behind it"));
            }
            file.set_len(end - written as u64)
        };
        if written > 0
            && let Err(error) = cut()
        {
            tracing::warn!("half a line stays in the log: {error}");
            self.is_torn = true;
        }
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

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    /// Writes the first bytes of a line; then the disk is full.
    fn filling(room: usize) -> impl Fn(&File, &[u8]) -> io::Result<usize> {
        let left = std::cell::Cell::new(room);
        move |mut file, bytes| match left.take().min(bytes.len()) {
            0 => Err(Errno::NOSPC.into()),
            room => file.write(&bytes[..room]),
        }
    }

    fn lines(log: &Path) -> Vec<String> {
        fs_err::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
    }

    fn append_elsewhere(log: &Path, text: &str) {
        let mut file = fs_err::OpenOptions::new().append(true).open(log).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    // LOG-03 LOG-04: other programs append names to a log.
    #[test]
    fn a_full_disk_takes_back_its_own_half_line_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log.jsonl");
        let mut writer = LogWriter::open(&log, "test").unwrap();
        writer.append(r#"{"a":1}"#).unwrap();
        append_elsewhere(&log, "{\"type\":\"custom-title\",\"customTitle\":\"a long name of a session\"}\n");
        let before = lines(&log);
        for room in [0, 1, 9] {
            assert!(writer.append_with(r#"{"b":2}"#, filling(room)).is_err());
            assert_eq!(lines(&log), before, "{room} bytes were written");
        }
        writer.append(r#"{"b":2}"#).unwrap();
        assert_eq!((lines(&log).len(), &lines(&log)[..2]), (3, &before[..]));
        assert!(lines(&log)[2].starts_with(r#"{"b":2,"hash":""#));
    }

    #[test]
    fn half_a_line_that_cannot_be_taken_back_stands_alone() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log.jsonl");
        let mut writer = LogWriter::open(&log, "test").unwrap();
        let filling = filling(5);
        let meanwhile = |file: &File, bytes: &[u8]| {
            filling(file, bytes).inspect_err(|_| append_elsewhere(&log, "{\"type\":\"x\"}\n{"))
        };
        assert!(writer.append_with(r#"{"b":2}"#, meanwhile).is_err());
        writer.append(r#"{"c":3}"#).unwrap();
        writer.append(r#"{"d":4}"#).unwrap();
        let lines = lines(&log);
        assert_eq!(lines[..2], [r#"{"b":{"type":"x"}"#, "{"], "what others wrote stays");
        assert!(lines[2].starts_with(r#"{"c":3,"#) && lines[3].starts_with(r#"{"d":4,"#) && lines.len() == 4);
    }
}
