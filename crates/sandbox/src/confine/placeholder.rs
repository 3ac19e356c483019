//! Empty directories that stand where something protected could otherwise be made anew.
//!
//! A mount needs something to be mounted on. So that a command cannot make, say, settings where there were none, an
//! empty directory is there while commands run, and gone afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};

/// Those that exist because of a Tiller, and how many commands of this one need them.
static IN_USE: Mutex<BTreeMap<PathBuf, Placeholder>> = Mutex::new(BTreeMap::new());

/// Placeholders one command needs.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(Vec<PathBuf>);

/// A directory that is locked as long as somebody needs it: another Tiller may work in the same place.
struct Placeholder {
    dir: fs_err::File,
    needed_by: usize,
}

impl Placeholders {
    /// Makes those that are missing. Only the last part of a path is made: where there is no repository, there are no
    /// hooks to protect.
    pub(crate) fn make(needed: &[PathBuf]) -> Self {
        let mut in_use = in_use();
        let mut held = Self::default();
        for path in needed.iter().filter(|path| path.parent().is_some_and(Path::is_dir)) {
            if let Some(placeholder) = in_use.get_mut(path) {
                placeholder.needed_by += 1;
            } else if let Some(dir) = make(path) {
                in_use.insert(path.clone(), Placeholder { dir, needed_by: 1 });
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
    let is_ours = fs_err::create_dir(path).is_ok();
    if !is_ours && !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let dir = fs_err::File::open(path).ok()?;
    let somebody_elses = || flock(&dir, FlockOperation::NonBlockingLockExclusive).is_err();
    if is_ours || somebody_elses() {
        flock(&dir, FlockOperation::NonBlockingLockShared).ok()?;
        return Some(dir);
    }
    None
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut in_use = in_use();
        for path in &self.0 {
            let Some(placeholder) = in_use.get_mut(path) else { continue };
            placeholder.needed_by -= 1;
            if placeholder.needed_by > 0 {
                continue;
            }
            // The last one to need it removes it, unless somebody has put something there meanwhile: then it stays.
            if flock(&placeholder.dir, FlockOperation::NonBlockingLockExclusive).is_ok() {
                _ = fs_err::remove_dir(path);
            }
            in_use.remove(path);
        }
    }
}

fn in_use() -> MutexGuard<'static, BTreeMap<PathBuf, Placeholder>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(paths[0].is_dir() && !paths[2].exists());
        drop(second);
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
        assert!(path[0].is_dir());
        let ours = Placeholders::make(&path);
        drop(others);
        drop(ours);
        assert!(!path[0].exists());
    }
}
