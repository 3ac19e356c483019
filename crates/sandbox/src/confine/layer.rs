//! Layers that outlive a command: what one command puts into a cache, the next ones of the session find there.
//!
//! Two running commands must not share an upper layer, so each takes the first set of layers that is free. Commands
//! that run one after the other get the same one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static TAKEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A set of layers that belongs to one running command.
#[derive(Debug)]
pub(crate) struct Lease(PathBuf);

impl Lease {
    /// Takes a free set below a directory.
    pub(crate) fn take(dir: &Path) -> io::Result<Self> {
        let mut taken = taken();
        let set = dir.join(first_free(dir, &taken).to_string());
        private_dirs(&set)?;
        taken.insert(set.clone());
        Ok(Self(set))
    }

    /// The number of the set below a directory that would be taken next.
    pub(crate) fn next(dir: &Path) -> usize {
        first_free(dir, &taken())
    }

    /// Never gives the set back: somebody may still have it mounted, and two must not.
    pub(crate) fn abandon(self) {
        tracing::warn!("layers may still be mounted and are not used any more: {}", self.0.display());
        std::mem::forget(self);
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.0
    }

    /// Whether it is one of the sets below this directory.
    pub(crate) fn is_below(&self, dir: &Path) -> bool {
        self.0.parent() == Some(dir)
    }

    /// The name of the layer for a directory within the set, to which `u` is added for what was written and `w` for the
    /// kernel's own use.
    pub(crate) fn name_for(target: &Path) -> String {
        label(target)
    }

    /// Makes sure that there are layers for these directories which can be mounted. Nothing of the set may be mounted.
    pub(crate) fn make_ready(&self, targets: &[PathBuf]) {
        for target in targets {
            if let Err(error) = self.make_layer(target) {
                tracing::debug!("no layer is kept for {}: {error}", target.display());
            }
        }
    }

    fn make_layer(&self, target: &Path) -> io::Result<()> {
        let name = Self::name_for(target);
        let mode = fs_err::metadata(target)?.mode() & 0o7777;
        let dir = |end: &str| self.0.join(format!("{name}{end}"));
        make(&dir("u"), mode)?;
        clear(&dir("w"))?;
        make(&dir("w"), 0o700)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        taken().remove(&self.0);
    }
}

/// There are never more than all taken sets before it.
fn first_free(dir: &Path, taken: &BTreeSet<PathBuf>) -> usize {
    let is_free = |number: &usize| !taken.contains(&dir.join(number.to_string()));
    (0..=taken.len()).find(is_free).unwrap_or(taken.len())
}

/// The number of a set, by its directory.
pub(crate) fn number(set: &Path) -> Option<usize> {
    set.file_name()?.to_str()?.parse().ok()
}

fn make(dir: &Path, mode: u32) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(mode).create(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Removes what the kernel has left for its own use: a mark that the layer was not flushed to disk, in a directory
/// that is closed to everybody.
fn clear(dir: &Path) -> io::Result<()> {
    let inner = dir.join("work");
    if inner.is_dir() {
        fs_err::set_permissions(&inner, Permissions::from_mode(0o700))?;
        fs_err::remove_dir_all(&inner)?;
    }
    Ok(())
}

fn taken() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn private_dirs(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// A path as one name, without characters that mean something in the options of a mount.
fn label(path: &Path) -> String {
    let mut label = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => label.push(char::from(*byte)),
            b'/' => label.push('_'),
            other => _ = write!(label, "%{other:02x}"),
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_commands_have_layers_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lease::take(dir.path()).unwrap();
        let second = Lease::take(dir.path()).unwrap();
        assert_ne!(first.dir(), second.dir());
        let before = first.dir().to_owned();
        assert_eq!((number(&before), Lease::next(dir.path())), (Some(0), 2));
        drop(first);
        let again = Lease::take(dir.path()).unwrap();
        assert_eq!(again.dir(), before);
        again.abandon();
        assert_eq!(Lease::next(dir.path()), 2, "it may still be mounted");
    }

    #[test]
    fn a_layer_has_the_mode_of_what_it_covers() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a:b,c_d");
        std::fs::DirBuilder::new().mode(0o750).create(&target).unwrap();
        let lease = Lease::take(&dir.path().join("layers")).unwrap();
        let name = Lease::name_for(&target);
        (0..2).for_each(|_| lease.make_ready(std::slice::from_ref(&target)));
        assert!(name.ends_with("a%3ab%2cc%5fd"), "{name}");
        let upper = fs_err::metadata(lease.dir().join(format!("{name}u"))).unwrap();
        assert_eq!(upper.mode() & 0o777, 0o750);
    }
}
