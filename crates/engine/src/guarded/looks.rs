//! What a file looks like: enough to tell whether it has changed.

use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::fs::OFlags;
use serde_json::Value;

use super::git_settings::deciding_lines;

/// Of a longer file only what its directory says of it counts.
const MOST_BYTES: u64 = 1 << 20;
/// The same for a file in which another program keeps its state beside what counts.
const MOST_BYTES_OF_STATE: u64 = 16 << 20;

/// What of a file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// All of it.
    Whole,
    /// Settings of git, without those that only say what a branch follows.
    GitSettings,
    /// The servers that the file of another agent names.
    Servers,
}

/// What a file looked like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Looks {
    counts: Counts,
    stamp: Stamp,
    /// What a link says, if it is one.
    target: Option<PathBuf>,
    content: Option<blake3::Hash>,
}

/// What a directory says of a file. Its last field changes with every write, and nobody can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    mode: u32,
    size: u64,
    changed: (i64, i64),
}

impl Looks {
    /// What is there now; one that was looked at and has not changed since is not read again.
    pub(super) fn of(path: &Path, counts: Counts, known: Option<&Self>) -> Option<Self> {
        let own = fs_err::symlink_metadata(path).ok()?;
        let target = own.is_symlink().then(|| fs_err::read_link(path).ok()).flatten();
        // A link may lead to what decides; where it leads to no file, the link itself counts.
        let meta = fs_err::metadata(path).ok().filter(|meta| !meta.is_dir()).unwrap_or(own);
        let stamp = Stamp::of(&meta);
        if let Some(known) = known.filter(|known| known.stamp == stamp && known.target == target) {
            return Some(known.clone());
        }
        let content = match meta.is_symlink() {
            true => Some(blake3::hash(b"")),
            false => read(path, counts).map(|content| blake3::hash(&essence(content, counts))),
        };
        Some(Self { counts, stamp, target, content })
    }

    /// What is there now in its place.
    pub(super) fn again(&self, path: &Path) -> Option<Self> {
        Self::of(path, self.counts, Some(self))
    }

    /// Whether nothing has changed but when it was written.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let told_by_content = self.content.is_some() && self.content == other.content;
        let has_same_content = told_by_content && self.stamp.mode == other.stamp.mode;
        self.target == other.target && (self.stamp == other.stamp || has_same_content)
    }
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            inode: meta.ino(),
            mode: meta.mode(),
            size: meta.size(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// What a file holds, unless it is long or no file: somebody may have put a pipe in its place that nobody writes to.
fn read(path: &Path, counts: Counts) -> Option<Vec<u8>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let flags = i32::try_from(flags).ok()?;
    let file = fs_err::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    let most = if counts == Counts::Servers { MOST_BYTES_OF_STATE } else { MOST_BYTES };
    if !meta.is_file() || meta.len() > most {
        return None;
    }
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= most).then_some(content)
}

/// The part of a file that counts; all of it if that cannot be told.
fn essence(content: Vec<u8>, counts: Counts) -> Vec<u8> {
    let part = match counts {
        Counts::Whole => None,
        Counts::GitSettings => std::str::from_utf8(&content).ok().and_then(deciding_lines),
        Counts::Servers => serde_json::from_slice(&content).ok().map(|state| servers(&state).to_string()),
    };
    part.map_or(content, String::into_bytes)
}

/// All that the state of another agent says about servers, for the user and for each project.
fn servers(state: &Value) -> Value {
    let of = |value: &Value| -> Value {
        let fields = value.as_object().into_iter().flatten();
        let named = fields.filter(|(key, _)| key.to_ascii_lowercase().contains("mcp"));
        named.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let projects = state["projects"].as_object().into_iter().flatten();
    let projects = projects.map(|(dir, project)| (dir.clone(), of(project)));
    let projects = projects.filter(|(_, servers)| *servers != serde_json::json!({}));
    Value::Array(vec![of(state), projects.collect()])
}
