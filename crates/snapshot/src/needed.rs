//! Files that are kept although an ignore file names them or their directory: somebody is about to change them by name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The paths of such files.
#[derive(Debug, Default)]
pub(crate) struct Needed(BTreeSet<PathBuf>);

impl Needed {
    /// Adds a path; says whether it is new.
    pub(crate) fn add(&mut self, path: &Path) -> bool {
        !self.0.contains(path) && self.0.insert(path.to_owned())
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.0.contains(path)
    }

    /// Whether there is such a file below a directory.
    pub(crate) fn is_below(&self, directory: &Path) -> bool {
        self.0.range(directory.to_owned()..).next().is_some_and(|path| path.starts_with(directory))
    }
}
