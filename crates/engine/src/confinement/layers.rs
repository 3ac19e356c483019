//! The directory in which a session keeps layers over caches, and what becomes of it.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

/// Held locked as long as the session lives.
const LOCK: &str = "lock";

/// Made when the first command needs it, removed with the session.
pub(super) struct Layers {
    dir: PathBuf,
    lock: Mutex<Option<fs_err::File>>,
}

impl Layers {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, lock: Mutex::default() }
    }

    /// The directory; none if it cannot be made. What sessions that ended badly have left beside it is removed.
    pub(super) fn dir(&self) -> Option<PathBuf> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = lock.is_none();
        if is_first {
            *lock = make(&self.dir).inspect_err(|error| tracing::warn!("no layers are kept: {error}")).ok();
        }
        let dir = lock.is_some().then(|| self.dir.clone());
        // Gigabytes may have to be removed, and others ask meanwhile where nobody may wait.
        drop(lock);
        if is_first {
            self.dir.parent().into_iter().for_each(|above| sweep(above, &self.dir));
        }
        dir
    }

    /// Whether a command may have written to layers.
    pub(super) fn are_there(&self) -> bool {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(super) fn remove(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        if lock.is_some()
            && let Err(error) = remove(&self.dir)
        {
            tracing::warn!("layers were not removed: {error}");
        }
    }
}

fn make(dir: &Path) -> io::Result<fs_err::File> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let lock = fs_err::OpenOptions::new().create(true).truncate(false).write(true).open(dir.join(LOCK))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(lock)
}

/// Removes layers that no session holds.
fn sweep(above: &Path, own: &Path) {
    for entry in fs_err::read_dir(above).into_iter().flatten().flatten().filter(|entry| entry.path() != own) {
        let dir = entry.path();
        let Ok(lock) = fs_err::File::open(dir.join(LOCK)) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            _ = remove(&dir);
        }
    }
}

/// Removes a tree whose directories may be closed to their own owner, as some package managers leave them.
fn remove(dir: &Path) -> io::Result<()> {
    fs_err::set_permissions(dir, Permissions::from_mode(0o700))?;
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { remove(&entry.path())? } else { fs_err::remove_file(entry.path())? }
    }
    fs_err::remove_dir(dir)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn layers_go_with_their_session_and_after_a_crash_with_the_next_one() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join("layers").join(name);
        let (running, crashed) = (Layers::new(at("running")), at("crashed"));
        running.dir().unwrap();
        fs_err::create_dir_all(crashed.join("0/closed/deep")).unwrap();
        fs_err::write(crashed.join(LOCK), "").unwrap();
        fs_err::set_permissions(crashed.join("0/closed"), Permissions::from_mode(0o000)).unwrap();
        fs_err::create_dir_all(at("strange")).unwrap();
        let next = Layers::new(at("next"));
        assert_eq!(next.dir().unwrap(), at("next"));
        assert!(!crashed.exists() && at("running").is_dir() && at("strange").is_dir());
        running.remove();
        assert!(!at("running").exists());
    }

    #[test]
    fn nobody_waits_until_what_others_have_left_is_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let left = scratch.path().join("layers/left");
        fs_err::create_dir_all(&left).unwrap();
        // To open it takes until somebody writes to it.
        assert!(Command::new("mkfifo").arg(left.join(LOCK)).status().unwrap().success());
        let layers = Arc::new(Layers::new(scratch.path().join("layers/next")));
        let (sweeping, asking) = (Arc::clone(&layers), Arc::clone(&layers));
        let sweeping = thread::spawn(move || sweeping.dir());
        let (tell, told) = channel();
        thread::spawn(move || {
            while !asking.are_there() {
                thread::yield_now();
            }
            tell.send(asking.dir()).unwrap();
        });
        let known = told.recv_timeout(Duration::from_secs(10));
        drop(fs_err::OpenOptions::new().write(true).open(left.join(LOCK)).unwrap());
        assert_eq!(known.unwrap(), sweeping.join().unwrap());
        assert!(!left.exists());
    }
}
