//! Empty directories that stand where something protected could otherwise be made anew.
//!
//! A mount needs something to be mounted on. So that a command cannot make, say, settings where there were none, an
//! empty directory is there while commands run, and gone afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Those that exist because of us, and how many commands need them.
static IN_USE: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// Placeholders one command needs.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(Vec<PathBuf>);

impl Placeholders {
    /// Makes those that are missing. Only the last part of a path is made: where there is no repository, there are no
    /// hooks to protect.
    pub(crate) fn make(protected: &[PathBuf]) -> Self {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut needed = Self::default();
        for path in protected.iter().filter(|path| path.parent().is_some_and(Path::is_dir)) {
            if let Some(count) = in_use.get_mut(path) {
                *count += 1;
            } else if fs_err::create_dir(path).is_ok() {
                in_use.insert(path.clone(), 1);
            } else {
                // It is there already, or it cannot be made, which the command will find as well.
                continue;
            }
            needed.0.push(path.clone());
        }
        needed
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.0 {
            let Some(count) = in_use.get_mut(path) else { continue };
            *count -= 1;
            if *count == 0 {
                in_use.remove(path);
                // Somebody else may have put something there meanwhile: then it stays.
                _ = fs_err::remove_dir(path);
            }
        }
    }
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
}
