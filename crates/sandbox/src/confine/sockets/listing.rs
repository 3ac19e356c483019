//! Sockets that lie in directories. A directory tells when its entries changed last, so most are read once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustix::time::{ClockId, clock_gettime};

use crate::confine::mounts::Mount;

/// How deep and how much is looked for.
const DEPTH: usize = 5;
const MOST_ENTRIES: usize = 20_000;

/// Seconds without a change after which the next one is sure to be seen: some file systems keep time coarsely.
const SETTLED: i64 = 2;

/// What the last look has found.
static KNOWN: LazyLock<Mutex<Listings>> = LazyLock::new(Mutex::default);

/// By the letters of their paths.
#[derive(Default)]
struct Listings(HashMap<OsString, Arc<Listing>>);

/// What of a directory's entries matters.
struct Listing {
    stamp: Stamp,
    sockets: Vec<PathBuf>,
    dirs: Vec<PathBuf>,
    entries: usize,
}

/// Which directory it is, and when an entry of it or the directory itself changed last, to the nanosecond.
#[derive(PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    entries: (i64, i64),
    itself: (i64, i64),
}

/// The sockets in these directories and below them.
pub(super) fn sockets_in(dirs: &[PathBuf], mounts: &[Mount]) -> Vec<PathBuf> {
    let now = clock_gettime(ClockId::Realtime).tv_sec;
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).look(dirs, mounts, now)
}

impl Listings {
    /// Looks again where something may have changed.
    fn look(&mut self, dirs: &[PathBuf], mounts: &[Mount], now: i64) -> Vec<PathBuf> {
        let before = std::mem::take(&mut self.0);
        let known = &mut self.0;
        let mut search = Search { mounts, now, before, known, left: MOST_ENTRIES, found: Vec::new() };
        dirs.iter().for_each(|dir| search.look_into(dir, DEPTH));
        search.found
    }
}

struct Search<'a> {
    mounts: &'a [Mount],
    now: i64,
    before: HashMap<OsString, Arc<Listing>>,
    known: &'a mut HashMap<OsString, Arc<Listing>>,
    left: usize,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    fn look_into(&mut self, dir: &Path, depth: usize) {
        let Some(listing) = self.list(dir) else { return };
        self.found.extend(listing.sockets.iter().cloned());
        self.left = self.left.saturating_sub(listing.entries);
        for inner in listing.dirs.iter().filter(|_| depth > 0) {
            if self.left > 0 && !self.is_elsewhere(inner) {
                self.look_into(inner, depth - 1);
            }
        }
    }

    fn list(&mut self, dir: &Path) -> Option<Arc<Listing>> {
        let stamp = Stamp::of(dir)?;
        let listing = match self.before.remove(dir.as_os_str()).filter(|listing| listing.stamp == stamp) {
            Some(listing) => listing,
            None => Arc::new(Listing::read(dir, stamp, self.left)),
        };
        if listing.stamp.is_settled(self.now) {
            self.known.insert(dir.as_os_str().to_owned(), Arc::clone(&listing));
        }
        Some(listing)
    }

    /// Whether something is mounted there that is no place for sockets: a container's files, or another machine's.
    fn is_elsewhere(&self, dir: &Path) -> bool {
        self.mounts.iter().any(|mount| mount.at.as_os_str() == dir.as_os_str() && mount.kind != b"tmpfs")
    }
}

impl Listing {
    fn read(dir: &Path, stamp: Stamp, most: usize) -> Self {
        let mut listing = Self { stamp, sockets: Vec::new(), dirs: Vec::new(), entries: 0 };
        for entry in fs_err::read_dir(dir).into_iter().flatten().flatten().take(most) {
            listing.entries += 1;
            match entry.file_type() {
                Ok(kind) if kind.is_socket() => listing.sockets.push(entry.path()),
                Ok(kind) if kind.is_dir() => listing.dirs.push(entry.path()),
                _ => {}
            }
        }
        listing
    }
}

impl Stamp {
    fn of(dir: &Path) -> Option<Self> {
        let meta = fs_err::metadata(dir).ok()?;
        Some(Self {
            place: (meta.dev(), meta.ino()),
            entries: (meta.mtime(), meta.mtime_nsec()),
            itself: (meta.ctime(), meta.ctime_nsec()),
        })
    }

    fn is_settled(&self, now: i64) -> bool {
        self.entries.0.max(self.itself.0) < now - SETTLED
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_directory_is_read_again_when_it_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        fs_err::create_dir(&inner).unwrap();
        let (dirs, later) = ([dir.path().to_owned()], i64::MAX);
        let mut listings = Listings::default();
        assert!(listings.look(&dirs, &[], later).is_empty());
        let first = Arc::clone(&listings.0[inner.as_os_str()]);
        assert!(listings.look(&dirs, &[], later).is_empty());
        assert!(Arc::ptr_eq(&first, &listings.0[inner.as_os_str()]), "nothing has changed");
        let _listener = UnixListener::bind(inner.join("a")).unwrap();
        assert_eq!(listings.look(&dirs, &[], later), [inner.join("a")]);
        fs_err::remove_file(inner.join("a")).unwrap();
        assert!(listings.look(&dirs, &[], later).is_empty());
    }

    #[test]
    fn what_has_just_changed_is_read_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let changed = Stamp::of(dir.path()).unwrap().entries.0;
        let mut listings = Listings::default();
        for (now, is_known) in [(changed, false), (changed + SETTLED, false), (changed + SETTLED + 1, true)] {
            listings.look(&[dir.path().to_owned()], &[], now);
            assert_eq!(listings.0.contains_key(dir.path().as_os_str()), is_known);
        }
    }
}
