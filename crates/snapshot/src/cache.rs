//! What files held when they were last read, by what the file system says of them. Losing it costs time only.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

use crate::digest::Digest;
use crate::tree::Reader;

/// A file that changed so shortly before it was read may change again without its times telling.
const SETTLED_NANOSECONDS: i128 = 100_000_000;
const MAGIC: &[u8; 8] = b"tlstat01";

/// What tells that a file is the same as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    modified: i128,
    changed: i128,
}

/// Which file it is, whatever its name.
type Inode = (u64, u64);

pub(crate) fn inode(stat: &Stat) -> Inode {
    (stat.st_dev, stat.st_ino)
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanoseconds =
            |seconds: i128, rest: i128| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: nanoseconds(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            changed: nanoseconds(stat.st_ctime.into(), stat.st_ctime_nsec.into()),
        }
    }

    fn is_settled(&self, now: i128) -> bool {
        self.modified.max(self.changed) < now - SETTLED_NANOSECONDS
    }
}

/// Digests of files that were read.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    files: HashMap<Inode, (Stamp, Digest)>,
    is_dirty: bool,
}

impl Cache {
    pub(crate) fn load(path: &Path) -> Self {
        let files = fs_err::read(path).ok().and_then(|bytes| decode(&bytes)).unwrap_or_default();
        Self { files, is_dirty: false }
    }

    /// What a file holds, if it has not changed since it was read.
    pub(crate) fn get(&self, stat: &Stat) -> Option<Digest> {
        let (stamp, digest) = self.files.get(&inode(stat))?;
        (*stamp == Stamp::of(stat)).then_some(*digest)
    }

    /// Remembers what a file held, unless it may still be changing at this moment.
    pub(crate) fn put(&mut self, stat: &Stat, digest: Digest, now: i128) {
        let stamp = Stamp::of(stat);
        if stamp.is_settled(now) {
            self.files.insert(inode(stat), (stamp, digest));
            self.is_dirty = true;
        }
    }

    /// Forgets files whose content nobody keeps any more: they would have to be read again in any case.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Digest) -> bool) {
        let before = self.files.len();
        self.files.retain(|_, (_, digest)| is_kept(digest));
        self.is_dirty |= self.files.len() < before;
    }

    /// Writes what is new since it was loaded.
    pub(crate) fn save(&mut self, path: &Path, temporary: &PathBuf) -> std::io::Result<()> {
        if !self.is_dirty {
            return Ok(());
        }
        let mut options = fs_err::OpenOptions::new();
        fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.create_new(true).write(true).open(temporary)?;
        file.write_all(&encode(&self.files))?;
        fs_err::rename(temporary, path)?;
        self.is_dirty = false;
        Ok(())
    }
}

fn encode(files: &HashMap<Inode, (Stamp, Digest)>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(files.len() * 88 + 48);
    bytes.extend(MAGIC);
    for ((device, file), (stamp, digest)) in files {
        bytes.extend(device.to_le_bytes());
        bytes.extend(file.to_le_bytes());
        bytes.extend(stamp.size.to_le_bytes());
        bytes.extend(stamp.modified.to_le_bytes());
        bytes.extend(stamp.changed.to_le_bytes());
        bytes.extend(digest.0);
    }
    bytes.extend(Digest::of(&bytes).0);
    bytes
}

fn decode(bytes: &[u8]) -> Option<HashMap<Inode, (Stamp, Digest)>> {
    let (bytes, sum) = bytes.split_last_chunk::<{ Digest::LENGTH }>()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    if Digest::of(bytes).0 != *sum {
        return None;
    }
    let mut reader = Reader(rest);
    let mut files = HashMap::new();
    while !reader.0.is_empty() {
        let inode = (reader.u64()?, reader.u64()?);
        let stamp = Stamp { size: reader.u64()?, modified: reader.i128()?, changed: reader.i128()? };
        files.insert(inode, (stamp, reader.digest()?));
    }
    Some(files)
}
