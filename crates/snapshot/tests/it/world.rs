//! A directory, a store for its snapshots, and a way to see whether two directories are the same.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tiller_protocol::env::{Clock, Env, Ids};
use tiller_protocol::id::SnapshotId;
use tiller_snapshot::{Limits, Store};

/// The clock by which files get their times, and as much ahead of it as is said.
struct Ahead(SignedDuration);

impl Clock for Ahead {
    #[expect(clippy::disallowed_methods, reason = "files get their times from the real clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now() + self.0
    }
}

struct Counter(AtomicU64);

impl Ids for Counter {
    fn next(&self) -> uuid::Uuid {
        // Two stores of one process must not use the same names.
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        uuid::Uuid::from_u64_pair(std::ptr::from_ref(self) as usize as u64, count)
    }

    fn random(&self) -> f64 {
        0.5
    }
}

pub(crate) fn env() -> Env {
    env_ahead(SignedDuration::ZERO)
}

fn env_ahead(ahead: SignedDuration) -> Env {
    Env {
        clock: Arc::new(Ahead(ahead)),
        ids: Arc::new(Counter(AtomicU64::new(1))),
        vars: Arc::default(),
        home: PathBuf::from("/"),
        cwd: PathBuf::from("/"),
    }
}

/// A project and the store of its snapshots.
pub(crate) struct World {
    dir: TempDir,
    pub(crate) store: Store,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let dir = TempDir::new().unwrap();
        fs_err::create_dir(dir.path().join("project")).unwrap();
        let store = Store::open(&dir.path().join("store"), &[], limits, &env()).unwrap();
        Self { dir, store }
    }

    /// The same with a store that looks an hour later: files that were written a moment ago are not trusted to stay.
    pub(crate) fn an_hour_later(mut self) -> Self {
        let env = env_ahead(SignedDuration::from_hours(1));
        self.store = Store::open(&self.store_dir(), &[], Limits::default(), &env).unwrap();
        self
    }

    /// The same with a store that is told what changes.
    pub(crate) fn watching(self) -> Self {
        Self { store: self.store.watching(), ..self }
    }

    pub(crate) fn project(&self) -> PathBuf {
        fs_err::canonicalize(self.dir.path()).unwrap().join("project")
    }

    pub(crate) fn store_dir(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub(crate) fn reopen(&mut self) {
        self.store.save().unwrap();
        self.store = Store::open(&self.store_dir(), &[], Limits::default(), &env()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn run(&self, command: &str) {
        let status = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(self.project())
            .status()
            .unwrap();
        assert!(status.success(), "{command}");
    }

    pub(crate) fn take(&mut self) -> SnapshotId {
        let roots = [self.project()];
        self.store.take(&roots).unwrap().id
    }

    /// Everything that is there, exactly; what is in `.git` is not ours.
    pub(crate) fn picture(&self) -> Picture {
        picture(&self.project())
    }
}

/// What is in a directory: kind, permission bits and content by path.
pub(crate) type Picture = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

pub(crate) fn picture(dir: &Path) -> Picture {
    let mut seen = Picture::new();
    add(dir, dir, &mut seen);
    seen
}

fn add(root: &Path, path: &Path, seen: &mut Picture) {
    let metadata = fs_err::symlink_metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o7777;
    let entry = if metadata.is_symlink() {
        let target: OsString = fs_err::read_link(path).unwrap().into();
        ('l', 0, target.into_encoded_bytes())
    } else if metadata.is_dir() {
        ('d', mode, Vec::new())
    } else if metadata.is_file() {
        ('f', mode, fs_err::read(path).unwrap())
    } else {
        ('s', metadata.mode(), Vec::new())
    };
    let is_dir = entry.0 == 'd';
    seen.insert(path.strip_prefix(root).unwrap().to_owned(), entry);
    if is_dir {
        let entries = fs_err::read_dir(path).unwrap().map(Result::unwrap);
        for entry in entries.filter(|entry| entry.file_name() != ".git") {
            add(root, &entry.path(), seen);
        }
    }
}
