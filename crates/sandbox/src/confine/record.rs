//! Placeholders on record: whoever comes after a Tiller that was killed knows by it what was made only to be mounted on,
//! and removes it.
//!
//! A record is written once its placeholder is locked, and a lock ends with the process that holds it. So a placeholder
//! that is on record and that nobody holds is left over.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{FlockOperation, flock};

use super::placeholder::{Kind, is_untouched, remove};

/// What is known of a placeholder apart from its device and its number there, by which the record is found.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    /// When it was made, as far as its file system knows: numbers are given to others in time.
    born: String,
    /// What it says, if it is a file.
    text: Option<Vec<u8>>,
    path: PathBuf,
}

/// Where the record of this file or directory is, if there is one.
pub(super) fn place(records: &Path, meta: &Metadata) -> PathBuf {
    records.join(format!("{:x}-{:x}", meta.dev(), meta.ino()))
}

/// Puts a placeholder on record. Only the last part of the path of the records is made.
pub(super) fn write(records: &Path, path: &Path, kind: Kind, meta: &Metadata) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(records) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let text = kind.text().map(str::as_bytes);
    let record = Record { born: born(meta), text: text.map(<[u8]>::to_vec), path: path.to_owned() };
    fs_err::write(place(records, meta), record.to_bytes())
}

/// Whether what is found at this path was made by a Tiller to be mounted on; somebody may have put something there
/// since.
#[must_use]
pub fn is_placeholder(records: &Path, path: &Path) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    Record::read(&place(records, &meta)).is_some_and(|record| record.path == path && record.is_of(&meta))
}

/// Removes placeholders that were left behind. What somebody has put something into is theirs from now on.
pub fn sweep(records: &Path) {
    let files = fs_err::read_dir(records).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = files.filter_map(|file| Some((Record::read(&file)?, file))).collect();
    // The innermost first, so that those around them are empty.
    found.sort_by(|(one, _), (other, _)| other.path.cmp(&one.path));
    for (record, file) in found {
        if record.settle(&file) {
            _ = fs_err::remove_file(file);
        }
    }
}

impl Record {
    fn read(file: &Path) -> Option<Self> {
        let bytes = fs_err::read(file).ok()?;
        let mut parts = bytes.splitn(4, |byte| *byte == 0);
        let mut part = || parts.next();
        let (born, kind, text, path) = (part()?, part()?, part()?, part()?);
        Some(Self {
            born: String::from_utf8(born.to_vec()).ok()?,
            text: (kind == b"file").then(|| text.to_vec()),
            path: PathBuf::from(OsStr::from_bytes(path)),
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let kind: &[u8] = if self.text.is_some() { b"file" } else { b"dir" };
        let text = self.text.as_deref().unwrap_or_default();
        [self.born.as_bytes(), kind, text, self.path.as_os_str().as_bytes()].join(&0)
    }

    fn is_of(&self, meta: &Metadata) -> bool {
        self.born == born(meta) && meta.is_dir() == self.text.is_none()
    }

    /// Removes the placeholder unless it is in use. Whether the record has served its purpose.
    fn settle(&self, own: &Path) -> bool {
        let is_it = |meta: &Metadata| {
            let is_same = own.parent().is_some_and(|records| place(records, meta) == own);
            is_same && self.is_of(meta)
        };
        let Ok(true) = self.path.symlink_metadata().map(|meta| is_it(&meta)) else { return true };
        let Ok(file) = fs_err::File::open(&self.path) else { return false };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return false;
        }
        let stands = file.metadata().is_ok_and(|meta| is_it(&meta));
        if stands && is_untouched(&self.path, self.text.as_deref()) {
            remove(&self.path, self.text.is_none());
        }
        true
    }
}

fn born(meta: &Metadata) -> String {
    let time = meta.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.unwrap_or_default().as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        dir: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn records(&self) -> PathBuf {
            self.path("records")
        }

        fn dir(&self, name: &str) -> PathBuf {
            let path = self.path(name);
            fs_err::create_dir(&path).unwrap();
            self.note(&path, Kind::Dir);
            path
        }

        fn file(&self, name: &str) -> PathBuf {
            let path = self.path(name);
            fs_err::write(&path, ".\n").unwrap();
            self.note(&path, Kind::File(".\n"));
            path
        }

        fn note(&self, path: &Path, kind: Kind) {
            write(&self.records(), path, kind, &path.symlink_metadata().unwrap()).unwrap();
        }

        fn left(&self) -> usize {
            fs_err::read_dir(self.records()).unwrap().count()
        }
    }

    #[test]
    fn what_nobody_holds_and_nobody_touched_goes() {
        let scene = Scene::new();
        let (outer, inner, file) = (scene.dir("outer"), scene.dir("outer/inner"), scene.file("file"));
        assert!([&outer, &inner, &file].iter().all(|path| is_placeholder(&scene.records(), path)));
        sweep(&scene.records());
        assert!(!outer.exists() && !file.exists());
        assert_eq!(scene.left(), 0);
    }

    #[test]
    fn what_somebody_uses_or_made_stays() {
        let scene = Scene::new();
        let (held, filled, said) = (scene.dir("held"), scene.dir("filled"), scene.file("said"));
        let replaced = scene.dir("replaced");
        let users = scene.path("users");
        let lock = fs_err::File::open(&held).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockShared).unwrap();
        fs_err::write(filled.join("settings.json"), "{}").unwrap();
        fs_err::write(&said, "mine").unwrap();
        fs_err::create_dir(&users).unwrap();
        fs_err::rename(&users, &replaced).unwrap();
        assert!(!is_placeholder(&scene.records(), &replaced));
        sweep(&scene.records());
        assert!(held.is_dir() && filled.join("settings.json").exists() && replaced.is_dir());
        assert_eq!(fs_err::read_to_string(&said).unwrap(), "mine");
        assert_eq!(scene.left(), 1, "only what is in use stays on record");
        // Not only closed: a process that another test is just starting may have inherited it.
        flock(&lock, FlockOperation::Unlock).unwrap();
        sweep(&scene.records());
        assert!(!held.exists());
    }
}
