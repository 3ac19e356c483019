//! Empty directories that stand where something protected could otherwise be made anew.
//!
//! A mount needs something to be mounted on. So that a command cannot make, say, settings where there were none, an
//! empty directory is there while commands run. It stays between commands, so that nobody who watches the directory
//! around it is woken by each of them, and is removed by [`tidy_up`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, XattrFlags, fgetxattr, flock, fsetxattr};

/// Those that exist because of a Tiller.
static MADE: Mutex<BTreeMap<PathBuf, Placeholder>> = Mutex::new(BTreeMap::new());

/// Tells a placeholder from a directory of the user's after a Tiller that could not remove it.
const MARK: &str = "user.tiller.placeholder";

/// Placeholders one command needs.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(Vec<PathBuf>);

/// A directory that is locked as long as it may be needed: another Tiller may work in the same place.
struct Placeholder {
    dir: fs_err::File,
    /// How many running commands need it.
    needed_by: usize,
}

impl Placeholders {
    /// Makes those that are missing. Only the last part of a path is made: where there is no repository, there are no
    /// hooks to protect.
    pub(crate) fn make(needed: &[PathBuf]) -> Self {
        let mut made = made();
        let mut held = Self::default();
        for path in needed.iter().filter(|path| path.parent().is_some_and(Path::is_dir)) {
            if let Some(placeholder) = made.get_mut(path).filter(|_| path.is_dir()) {
                placeholder.needed_by += 1;
            } else if let Some(dir) = make(path) {
                made.insert(path.clone(), Placeholder { dir, needed_by: 1 });
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
fn make(path: &Path) -> Option<fs_err::File> {
    let is_new = fs_err::create_dir(path).is_ok();
    if !is_new && !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let dir = fs_err::File::open(path).ok()?;
    if is_new {
        // Where there are no such attributes, an empty directory may be left after a crash.
        _ = fsetxattr(&dir, MARK, b"1", XattrFlags::empty());
    }
    let is_left_over = || fgetxattr(&dir, MARK, &mut [0_u8; 1]).is_ok();
    let is_somebodys = || flock(&dir, FlockOperation::NonBlockingLockExclusive).is_err();
    if is_new || is_left_over() || is_somebodys() {
        flock(&dir, FlockOperation::NonBlockingLockShared).ok()?;
        return Some(dir);
    }
    None
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

/// Removes the empty directories that were made for commands and that no running command needs. Worth calling when no
/// more commands are expected.
pub fn tidy_up() {
    made().retain(|path, placeholder| {
        if placeholder.needed_by > 0 {
            return true;
        }
        // The last one to need it removes it, unless somebody has put something there meanwhile: then it stays.
        if flock(&placeholder.dir, FlockOperation::NonBlockingLockExclusive).is_ok() {
            _ = fs_err::remove_dir(path);
        }
        false
    });
}

fn made() -> MutexGuard<'static, BTreeMap<PathBuf, Placeholder>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_stay_as_long_as_one_command_needs_them() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir(dir.path().join("there")).unwrap();
        let paths = ["missing", "there", "no/parent"].map(|name| dir.path().join(name));
        let first = Placeholders::make(&paths);
        let second = Placeholders::make(&paths);
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
        let dir = tempfile::tempdir().unwrap();
        let path = [dir.path().join("missing")];
        fs_err::create_dir(&path[0]).unwrap();
        let others = fs_err::File::open(&path[0]).unwrap();
        flock(&others, FlockOperation::NonBlockingLockShared).unwrap();
        let ours = Placeholders::make(&path);
        assert_eq!(ours.0, path);
        drop(ours);
        tidy_up();
        assert!(path[0].is_dir());
        let ours = Placeholders::make(&path);
        drop((others, ours));
        tidy_up();
        assert!(!path[0].exists());
    }

    #[test]
    fn what_a_crash_left_behind_is_removed_and_what_is_in_use_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["left", "filled"].map(|name| dir.path().join(name));
        if fsetxattr(fs_err::File::open(dir.path()).unwrap(), MARK, b"1", XattrFlags::empty()).is_err() {
            return;
        }
        drop(Placeholders::make(&paths));
        made().retain(|path, _| !paths.contains(path));
        fs_err::write(paths[1].join("settings.json"), "{}").unwrap();
        drop(Placeholders::make(&paths));
        tidy_up();
        assert!(!paths[0].exists() && paths[1].join("settings.json").exists());
    }
}
