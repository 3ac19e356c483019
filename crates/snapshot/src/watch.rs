//! What has changed since the last look, as the kernel tells it, so that the rest need not be looked at again.
//!
//! Every directory that a walk enters is watched from before its names are read; a change of anything in it makes it
//! one that has to be looked at again. Whatever the kernel does not tell (too many events, too many directories, files
//! with several names) makes it look at more, never at less. Writes through a memory map raise no event at all, which is
//! why everything is looked at again from time to time: see [`crate::Store::look_at_everything`].

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::cache::{Stamp, inode};
use crate::digest::Digest;
use crate::ignored::IGNORE_FILE;

/// Bytes of events that are read at once.
const BUFFER: usize = 64 * 1024;
/// Directories with files of several names: such a file may be changed under a name that nobody watches. Beyond this
/// many it is cheaper to look at everything.
const MOST_DOUBTFUL: usize = 1_000;

/// What was found in a directory, and is still there unless something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memo {
    inode: (u64, u64),
    /// What is in it.
    pub(crate) tree: Digest,
    /// Files and directories in it and below.
    pub(crate) seen: usize,
}

/// How much of a directory has to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing: it is as it was.
    All(Memo),
    /// Directories in it; its own entries are as they were.
    Entries(Memo),
    /// All of it.
    Nothing,
}

/// Watches directories.
pub(crate) struct Watch {
    /// Absent when nothing can be watched.
    kernel: Option<OwnedFd>,
    directories: HashMap<i32, PathBuf>,
    memos: HashMap<PathBuf, Memo>,
    doubtful: HashSet<PathBuf>,
    /// Directories that changed.
    changed: HashSet<PathBuf>,
    /// Those above them.
    above: HashSet<PathBuf>,
    /// Files outside of watched directories that say what is ignored, as they were when they were read.
    relied_on: HashMap<PathBuf, Option<Stamp>>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        let kernel = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        Self {
            kernel: kernel.inspect_err(|errno| tracing::debug!("nothing is watched: {errno}")).ok(),
            directories: HashMap::new(),
            memos: HashMap::new(),
            doubtful: HashSet::new(),
            changed: HashSet::new(),
            above: HashSet::new(),
            relied_on: HashMap::new(),
        }
    }

    /// Whether anything is told at all.
    pub(crate) fn hears(&self) -> bool {
        self.kernel.is_some()
    }

    /// Hears what has changed since the last time.
    pub(crate) fn listen(&mut self) {
        let Some(kernel) = self.kernel.take() else { return };
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&kernel, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(errno) => {
                    tracing::debug!("nothing is watched any more: {errno}");
                    self.forget();
                    return;
                }
            };
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
            let (events, directory) = (event.events(), event.wd());
            self.hear(events, directory, name.as_deref());
        }
        self.kernel = Some(kernel);
        let has_changed = |(file, stamp): (&PathBuf, &Option<Stamp>)| stamp_of(file) != *stamp;
        if self.doubtful.len() > MOST_DOUBTFUL || self.relied_on.iter().any(has_changed) {
            self.forget();
        }
        self.changed.extend(self.doubtful.iter().cloned());
        self.above =
            self.changed.iter().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned).collect();
    }

    fn hear(&mut self, events: ReadFlags, directory: i32, name: Option<&OsStr>) {
        // What an ignore file says concerns everything below it.
        let is_ignore_file = name.is_some_and(|name| name == IGNORE_FILE);
        if is_ignore_file || events.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            self.forget();
            return;
        }
        let Some(path) = self.directories.get(&directory).cloned() else { return };
        if events.contains(ReadFlags::MOVE_SELF) {
            // Everything below it is elsewhere now.
            self.forget_below(&path);
        }
        let moves_directory = events.contains(ReadFlags::ISDIR)
            && events.intersects(ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO);
        if let Some(name) = name.filter(|_| moves_directory) {
            // It may have been moved before it was watched itself. Of a file, nothing is below it.
            self.forget_below(&path.join(name));
        }
        if events.intersects(ReadFlags::IGNORED | ReadFlags::DELETE_SELF) {
            self.memos.remove(&path);
            self.doubtful.remove(&path);
        }
        if events.contains(ReadFlags::IGNORED) {
            self.directories.remove(&directory);
        }
        self.changed.insert(path);
    }

    /// Nothing is known any more of what is at a path and below it.
    pub(crate) fn forget_below(&mut self, path: &Path) {
        self.memos.retain(|known, _| !known.starts_with(path));
        self.doubtful.retain(|known| !known.starts_with(path));
    }

    /// A file was read that says what is ignored, or would if it were there. Nobody tells if it changes.
    pub(crate) fn rely_on(&mut self, file: PathBuf) {
        let stamp = stamp_of(&file);
        self.relied_on.insert(file, stamp);
    }

    /// Looks at everything the next time.
    pub(crate) fn forget(&mut self) {
        self.relied_on.clear();
        self.memos.clear();
        self.doubtful.clear();
        self.changed.clear();
        self.above.clear();
    }

    /// A directory is about to be looked at. Nothing that happens to it from now on is missed.
    pub(crate) fn enter(&mut self, directory: &OwnedFd, path: &Path) {
        let Some(kernel) = &self.kernel else { return };
        let flags = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MODIFY
            | WatchFlags::MOVE
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        // By what is open and not by its name, at which something else may stand by now.
        let open = format!("/proc/self/fd/{}", directory.as_raw_fd());
        match inotify::add_watch(kernel, open.as_str(), flags) {
            Ok(number) => {
                // What was watched under another name was moved when nobody watched it yet.
                let was = self.directories.insert(number, path.to_owned());
                if let Some(was) = was.filter(|was| was != path) {
                    self.forget_below(&was);
                }
            }
            Err(errno) => {
                tracing::debug!("{} cannot be watched: {errno}", path.display());
                self.kernel = None;
                self.forget();
            }
        }
    }

    /// What is known of a directory.
    pub(crate) fn known(&self, path: &Path, stat: &Stat) -> Known {
        let memo = self.memos.get(path).filter(|memo| memo.inode == inode(stat) && self.kernel.is_some());
        match memo {
            None => Known::Nothing,
            Some(_) if self.changed.contains(path) => Known::Nothing,
            Some(memo) if self.above.contains(path) => Known::Entries(*memo),
            Some(memo) => Known::All(*memo),
        }
    }

    /// Whether something has changed at a directory or below it.
    pub(crate) fn concerns(&self, path: &Path) -> bool {
        self.changed.contains(path) || self.above.contains(path) || !self.memos.contains_key(path)
    }

    /// Whether something has changed at or below a path whose content is not kept, as far as that is watched.
    pub(crate) fn has_heard_of(&self, path: &Path) -> bool {
        self.changed.contains(path) || self.above.contains(path)
    }

    /// Names in a directory at which, or below which, something has changed.
    pub(crate) fn changed_in<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a OsStr> {
        let concerned = self.changed.iter().chain(&self.above);
        concerned.filter(move |one| one.parent() == Some(path)).filter_map(|one| one.file_name())
    }

    /// How much there was below a directory.
    pub(crate) fn seen_below(&self, path: &Path) -> usize {
        self.memos.get(path).map_or(0, |memo| memo.seen)
    }

    /// Directories whose entries are as they were while something below them has changed.
    pub(crate) fn partly_known(&self) -> impl Iterator<Item = (&Path, Digest)> {
        let partly = self.above.iter().filter(|path| !self.changed.contains(*path));
        partly.filter_map(|path| Some((path.as_path(), self.memos.get(path)?.tree)))
    }

    /// A directory that is not remembered has files with several names: it is looked at again.
    pub(crate) fn doubt(&mut self, path: PathBuf) {
        self.doubtful.insert(path);
    }

    /// What was found in a directory.
    pub(crate) fn found(&mut self, path: PathBuf, stat: &Stat, tree: Digest, seen: usize, doubtful: bool) {
        if self.kernel.is_none() {
            return;
        }
        if doubtful {
            self.doubtful.insert(path.clone());
        } else {
            self.doubtful.remove(&path);
        }
        self.memos.insert(path, Memo { inode: inode(stat), tree, seen });
    }

    /// Everything that changed was looked at and found out.
    pub(crate) fn settle(&mut self) {
        self.changed.clear();
        self.above.clear();
    }
}

fn stamp_of(file: &Path) -> Option<Stamp> {
    rustix::fs::lstat(file).ok().map(|stat| Stamp::of(&stat))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags};

    use super::*;

    // UNDO-01: a directory that is moved after it was opened and before it is watched tells nobody that it was moved.
    #[test]
    fn a_directory_that_turns_up_under_another_name_is_not_known_under_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let open = rustix::fs::open(dir.path(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
        let stat = rustix::fs::fstat(&open).unwrap();
        let mut watch = Watch::new();
        let (first, second) = (PathBuf::from("/w/first"), PathBuf::from("/w/second"));
        watch.enter(&open, &first);
        watch.found(first.clone(), &stat, Digest::of(b""), 0, false);
        assert!(matches!(watch.known(&first, &stat), Known::All(_)));
        watch.enter(&open, &second);
        assert_eq!(watch.known(&first, &stat), Known::Nothing);
    }

    // UNDO-01: programs save files by renaming them, and everything that is known is not gone through for each.
    #[test]
    fn only_the_rename_of_a_directory_makes_what_is_below_it_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let open = rustix::fs::open(dir.path(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
        let stat = rustix::fs::fstat(&open).unwrap();
        let mut watch = Watch::new();
        watch.enter(&open, Path::new("/w"));
        let number = *watch.directories.keys().next().unwrap();
        watch.found(PathBuf::from("/w/name/below"), &stat, Digest::of(b""), 0, false);
        let name = Some(OsStr::new("name"));
        watch.hear(ReadFlags::MOVED_TO, number, name);
        assert!(watch.memos.contains_key(Path::new("/w/name/below")));
        watch.hear(ReadFlags::MOVED_TO | ReadFlags::ISDIR, number, name);
        assert!(!watch.memos.contains_key(Path::new("/w/name/below")));
    }
}
