//! The files that a server has open.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use indexmap::IndexMap;

/// Files that are open at once. Those that were changed least recently are closed.
const MOST_OPEN: usize = 50;
/// Bytes of a file that a server is told of.
const LONGEST: u64 = 2 * 1024 * 1024;

/// A file as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnDisk {
    pub(crate) text: String,
    pub(crate) stamp: Stamp,
}

/// By what a change of a file is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Stamp {
    /// The stamp of a file now; none if it is gone, or too large to be told.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata =
            fs_err::metadata(path).ok().filter(|found| found.is_file() && found.len() <= LONGEST)?;
        Some(Self { modified: metadata.modified().ok(), length: metadata.len() })
    }
}

impl OnDisk {
    /// Reads a file; nothing if it is gone, too large or not text.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        // The stamp comes first: a change in between is noticed later.
        let stamp = Stamp::of(path)?;
        let text = fs_err::read_to_string(path).ok()?;
        Some(Self { text, stamp })
    }
}

/// A file that a server has open, or will have as soon as it is ready.
#[derive(Debug)]
pub(crate) struct Document {
    /// Counts what the server was told of it.
    pub(crate) version: i64,
    pub(crate) stamp: Stamp,
    /// The server has not reported on this version yet.
    pub(crate) awaited: bool,
}

/// The open files, those changed last at the end.
#[derive(Debug, Default)]
pub(crate) struct Documents(IndexMap<PathBuf, Document>);

impl Documents {
    /// A file was opened or changed. Gives its new version, 1 if it was not open.
    pub(crate) fn changed(&mut self, path: &Path, stamp: Stamp) -> i64 {
        let before = self.0.shift_remove(path);
        let version = before.map_or(1, |document| document.version + 1);
        self.0.insert(path.to_owned(), Document { version, stamp, awaited: true });
        version
    }

    /// Takes out what is too much.
    pub(crate) fn take_surplus(&mut self) -> Option<PathBuf> {
        if self.0.len() <= MOST_OPEN {
            return None;
        }
        self.0.shift_remove_index(0).map(|(path, _)| path)
    }

    pub(crate) fn close(&mut self, path: &Path) -> bool {
        self.0.shift_remove(path).is_some()
    }

    pub(crate) fn get_mut(&mut self, path: &Path) -> Option<&mut Document> {
        self.0.get_mut(path)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PathBuf, &Document)> {
        self.0.iter()
    }

    /// Whether reports are outstanding.
    pub(crate) fn are_awaited(&self) -> bool {
        self.0.values().any(|document| document.awaited)
    }

    /// Nothing is outstanding any more.
    pub(crate) fn give_up(&mut self) {
        self.0.values_mut().for_each(|document| document.awaited = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_gone_too_large_or_no_text_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs_err::write(at("text"), "x = 1").unwrap();
        fs_err::write(at("bytes"), [0xff, 0xfe]).unwrap();
        fs_err::write(at("large"), vec![b'x'; usize::try_from(LONGEST).unwrap() + 1]).unwrap();
        assert_eq!(OnDisk::read(&at("text")).unwrap().text, "x = 1");
        for name in ["bytes", "large", "gone", "."] {
            assert_eq!(OnDisk::read(&at(name)), None, "{name}");
        }
    }

    #[test]
    fn the_file_that_was_changed_least_recently_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let stamp = Stamp { modified: None, length: 0 };
        let at = |number: usize| dir.path().join(number.to_string());
        let mut documents = Documents::default();
        for number in 0..MOST_OPEN {
            assert_eq!(documents.changed(&at(number), stamp), 1);
        }
        assert_eq!(documents.changed(&at(0), stamp), 2);
        assert_eq!(documents.take_surplus(), None);
        documents.changed(&at(MOST_OPEN), stamp);
        assert_eq!(documents.take_surplus(), Some(at(1)));
    }
}
