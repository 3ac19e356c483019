//! What stands where something protected could otherwise be made anew.
//!
//! A mount needs something to be mounted on. So that a command cannot make, say, settings where there were none, an
//! empty directory or a file that says nothing is there while commands run. It stays between commands, so that nobody who
//! watches the directory around it is woken by each of them, and is removed by [`tidy_up`](crate::tidy_up), or by [`sweep`](super::record::sweep) if Tiller was
//! killed before.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{CWD, FlockOperation, RenameFlags, XattrFlags, fgetxattr, flock, fsetxattr, renameat_with};

use super::record::{self, is_placeholder};

/// Those that exist because of a Tiller.
static MADE: Mutex<BTreeMap<PathBuf, Placeholder>> = Mutex::new(BTreeMap::new());

/// Tells a placeholder from something of the user's after a Tiller that could not remove it, also to a Tiller that keeps
/// other records.
const MARK: &str = "user.tiller.placeholder";

/// What has to be there for something to be mounted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountPoint {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// What a placeholder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An empty directory.
    Dir,
    /// A file with a text that means the same as no file.
    File(&'static str),
}

impl Kind {
    /// What it says, if it is a file.
    pub(super) fn text(self) -> Option<&'static str> {
        match self {
            Self::Dir => None,
            Self::File(text) => Some(text),
        }
    }
}

impl MountPoint {
    pub(crate) fn dir(path: PathBuf) -> Self {
        Self { path, kind: Kind::Dir }
    }
}

/// Placeholders one command needs.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(Vec<PathBuf>);

/// A file or directory that is locked as long as it may be needed: another Tiller may work in the same place.
struct Placeholder {
    file: fs_err::File,
    kind: Kind,
    /// Where it is on record.
    record: Option<PathBuf>,
    /// How many running commands need it.
    needed_by: usize,
}

impl Placeholders {
    /// Makes those that are missing, in this order. Only the last part of a path is made: where there is no repository,
    /// there are no hooks to protect. They are put on record in a directory, if there is one for that.
    pub(crate) fn make(needed: &[MountPoint], records: Option<&Path>) -> Self {
        let mut made = made();
        let mut held = Self::default();
        for MountPoint { path, kind } in
            needed.iter().filter(|needed| needed.path.parent().is_some_and(Path::is_dir))
        {
            if let Some(placeholder) = made.get_mut(path).filter(|placeholder| placeholder.stands_at(path)) {
                placeholder.needed_by += 1;
            } else if let Some(file) = make(path, *kind, records) {
                let meta = file.metadata().ok();
                let record = records.zip(meta).map(|(records, meta)| record::place(records, &meta));
                made.insert(path.clone(), Placeholder { file, kind: *kind, record, needed_by: 1 });
            } else {
                continue;
            }
            held.0.push(path.clone());
        }
        held
    }
}

/// Makes a placeholder, or joins whoever has made it. Nothing if something else is there already, or if it cannot be
/// made, which the command will find as well.
fn make(path: &Path, kind: Kind, records: Option<&Path>) -> Option<fs_err::File> {
    let is_new = match kind {
        Kind::Dir => fs_err::create_dir(path),
        Kind::File(text) => make_file(path, text),
    };
    let is_new = is_new.is_ok();
    let meta = path.symlink_metadata().ok()?;
    if meta.is_symlink() || meta.is_dir() != (kind == Kind::Dir) {
        return None;
    }
    let file = fs_err::File::open(path).ok()?;
    if is_new {
        // Some file systems have no such attributes.
        _ = fsetxattr(&file, MARK, b"1", XattrFlags::empty());
    }
    let is_marked = || fgetxattr(&file, MARK, &mut [0_u8; 1]).is_ok();
    let is_on_record = || records.is_some_and(|records| is_placeholder(records, path));
    let is_left_over =
        || (is_marked() || is_on_record()) && is_untouched(path, kind.text().map(str::as_bytes));
    let is_somebodys = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
    if is_new || is_left_over() || is_somebodys() {
        flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
        if let Some(records) = records.filter(|_| is_new)
            && let Err(error) = record::write(records, path, kind, &file.metadata().ok()?)
        {
            tracing::debug!("a placeholder is not on record: {error}");
        }
        return Some(file);
    }
    None
}

/// Nobody ever sees the file without its text.
fn make_file(path: &Path, text: &str) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    fs_err::File::create_new(PathBuf::from(&beside))?.write_all(text.as_bytes())?;
    let made = renameat_with(CWD, &beside, CWD, path, RenameFlags::NOREPLACE);
    if made.is_err() {
        fs_err::remove_file(PathBuf::from(beside))?;
    }
    Ok(made?)
}

/// Whether nobody has put anything there meanwhile: a file says this text, a directory is empty.
pub(super) fn is_untouched(path: &Path, text: Option<&[u8]>) -> bool {
    match text {
        None => fs_err::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        Some(text) => fs_err::read(path).is_ok_and(|now| now == text),
    }
}

pub(super) fn remove(path: &Path, is_dir: bool) {
    _ = if is_dir { fs_err::remove_dir(path) } else { fs_err::remove_file(path) };
}

impl Placeholder {
    /// Whether it is still what is found there: others may have replaced it by something of theirs.
    fn stands_at(&self, path: &Path) -> bool {
        let own = self.file.metadata().map(|meta| (meta.dev(), meta.ino()));
        let there = path.symlink_metadata().map(|meta| (meta.dev(), meta.ino()));
        own.is_ok_and(|own| there.is_ok_and(|there| own == there))
    }

    fn remove(&self, path: &Path) {
        if self.stands_at(path) && is_untouched(path, self.kind.text().map(str::as_bytes)) {
            remove(path, self.kind == Kind::Dir);
        }
        if let Some(record) = &self.record {
            _ = fs_err::remove_file(record);
        }
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut made = made();
        for path in &self.0 {
            if let Some(placeholder) = made.get_mut(path) {
                placeholder.needed_by = placeholder.needed_by.saturating_sub(1);
            }
        }
    }
}

/// Removes what was made to be mounted on and what no running command needs.
pub(crate) fn tidy_up() {
    let mut made = made();
    let idle = made.iter().filter(|(_, placeholder)| placeholder.needed_by == 0);
    let idle: Vec<PathBuf> = idle.map(|(path, _)| path.clone()).collect();
    // The innermost first, so that those around them are empty.
    for path in idle.iter().rev() {
        let Some(placeholder) = made.remove(path) else { continue };
        // The last one to need it removes it, unless somebody has put something there meanwhile: then it stays.
        if flock(&placeholder.file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            placeholder.remove(path);
        }
    }
}

fn made() -> MutexGuard<'static, BTreeMap<PathBuf, Placeholder>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held by each of these tests: whoever tidies up does so for all of this process.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(paths: &[PathBuf]) -> Placeholders {
        let dirs: Vec<_> = paths.iter().cloned().map(MountPoint::dir).collect();
        Placeholders::make(&dirs, None)
    }

    #[test]
    fn they_stay_as_long_as_one_command_needs_them() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir(dir.path().join("there")).unwrap();
        let paths = ["missing", "there", "no/parent"].map(|name| dir.path().join(name));
        let first = make(&paths);
        let second = make(&paths);
        drop(first);
        tidy_up();
        assert!(paths[0].is_dir() && !paths[2].exists());
        drop(second);
        assert!(paths[0].is_dir());
        tidy_up();
        assert!(!paths[0].exists() && paths[1].is_dir());
    }

    #[test]
    fn they_stay_as_long_as_another_tiller_needs_them() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let path = [dir.path().join("missing")];
        fs_err::create_dir(&path[0]).unwrap();
        let others = fs_err::File::open(&path[0]).unwrap();
        flock(&others, FlockOperation::NonBlockingLockShared).unwrap();
        let ours = make(&path);
        assert_eq!(ours.0, path);
        drop(ours);
        tidy_up();
        assert!(path[0].is_dir());
        let ours = make(&path);
        // Not only closed: a process that another test is just starting may have inherited it.
        flock(&others, FlockOperation::Unlock).unwrap();
        drop((others, ours));
        tidy_up();
        assert!(!path[0].exists());
    }

    #[test]
    fn what_a_crash_left_behind_is_removed_and_what_is_in_use_is_not() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let paths = ["left", "filled"].map(|name| dir.path().join(name));
        if fsetxattr(fs_err::File::open(dir.path()).unwrap(), MARK, b"1", XattrFlags::empty()).is_err() {
            return;
        }
        drop(make(&paths));
        for path in &paths {
            let crashed = made().remove(path).unwrap();
            flock(&crashed.file, FlockOperation::Unlock).unwrap();
        }
        fs_err::write(paths[1].join("settings.json"), "{}").unwrap();
        drop(make(&paths));
        tidy_up();
        assert!(!paths[0].exists() && paths[1].join("settings.json").exists());
    }

    #[test]
    fn files_say_what_they_are_to_say_and_go_unless_somebody_replaced_them() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let [alone, theirs, replaced] = ["alone", "theirs", "replaced"].map(|name| dir.path().join(name));
        fs_err::write(&theirs, "own").unwrap();
        let paths = [&alone, &theirs, &replaced];
        let points = paths.map(|path| MountPoint { path: path.clone(), kind: Kind::File(".\n") });
        let held = Placeholders::make(&points, None);
        assert_eq!(fs_err::read_to_string(&alone).unwrap(), ".\n");
        assert_eq!(fs_err::read_dir(dir.path()).unwrap().count(), 3);
        fs_err::remove_file(&replaced).unwrap();
        fs_err::write(&replaced, ".\n").unwrap();
        drop(held);
        tidy_up();
        assert!(!alone.exists());
        assert_eq!(fs_err::read_to_string(&theirs).unwrap(), "own");
        assert!(replaced.exists());
    }

    #[test]
    fn they_are_on_record_as_long_as_they_are_there() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let [records, path, users] = ["records", "missing", "users"].map(|name| dir.path().join(name));
        fs_err::create_dir(&users).unwrap();
        let points = [&path, &users].map(|path| MountPoint::dir(path.clone()));
        let held = Placeholders::make(&points, Some(&records));
        record::sweep(&records);
        assert!(is_placeholder(&records, &path) && !is_placeholder(&records, &users));
        drop(held);
        tidy_up();
        assert!(!path.exists() && users.is_dir());
        assert_eq!(fs_err::read_dir(&records).unwrap().count(), 0);
    }

    #[test]
    fn directories_in_each_other_all_go() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let paths = ["a", "a/b", "a/b/c"].map(|name| dir.path().join(name));
        drop(make(&paths));
        assert!(paths[2].is_dir());
        tidy_up();
        assert!(!paths[0].exists());
    }
}
