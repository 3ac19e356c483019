//! What ignore files name, and what is build output by convention.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::Stat;

use crate::cache::{Stamp, inode};

/// Directories of version control: the user's own record, which is not ours to turn back.
const REPOSITORIES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
/// Files by which programs mark a directory that can be made anew.
pub(crate) const MARKERS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];
/// Directories of installed packages.
const PACKAGES: &str = "node_modules";

pub(crate) const IGNORE_FILE: &str = ".gitignore";

pub(crate) fn is_repository(name: &OsStr) -> bool {
    REPOSITORIES.iter().any(|repository| name == *repository)
}

pub(crate) fn is_package_directory(name: &OsStr) -> bool {
    name == PACKAGES
}

/// Ignore files that were read, so that an unchanged one is read once.
#[derive(Debug, Default)]
pub(crate) struct IgnoreFiles(HashMap<(u64, u64), (Stamp, Arc<Gitignore>)>);

impl IgnoreFiles {
    /// The rules of an ignore file, which count below `dir`.
    pub(crate) fn read(&mut self, dir: &Path, file: &Path, stat: &Stat) -> Arc<Gitignore> {
        let stamp = Stamp::of(stat);
        if let Some((known, rules)) = self.0.get(&inode(stat))
            && *known == stamp
            && rules.path() == dir
        {
            return Arc::clone(rules);
        }
        let rules = Arc::new(parse(dir, file));
        self.0.insert(inode(stat), (stamp, Arc::clone(&rules)));
        rules
    }
}

/// A line that is no pattern counts for nothing; the others do.
fn parse(dir: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(dir);
    if let Some(problem) = builder.add(file) {
        tracing::debug!("{}: {problem}", file.display());
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The rules that count in a directory: its own, then those further up.
#[derive(Clone, Default)]
pub(crate) struct Rules(Vec<Arc<Gitignore>>);

impl Rules {
    /// Rules from above a root, as far as its repository reaches, and the files that they stand in.
    pub(crate) fn above(root: &Path) -> (Self, Vec<PathBuf>) {
        let mut dirs: Vec<PathBuf> = Vec::new();
        for dir in root.ancestors() {
            dirs.push(dir.to_owned());
            if dir.join(".git").exists() {
                let own = dirs.iter().rev().filter(|dir| *dir != root);
                let (rules, files) = own
                    .map(|dir| {
                        let file = dir.join(IGNORE_FILE);
                        (Arc::new(parse(dir, &file)), file)
                    })
                    .unzip();
                return (Self(rules), files);
            }
        }
        <(Self, Vec<PathBuf>)>::default()
    }

    pub(crate) fn and(&self, rules: Arc<Gitignore>) -> Self {
        let mut all = self.0.clone();
        all.push(rules);
        Self(all)
    }

    /// Whether a path is ignored. The nearest file that says something about it counts.
    pub(crate) fn ignore(&self, path: &Path, is_dir: bool) -> bool {
        for rules in self.0.iter().rev() {
            match rules.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}
