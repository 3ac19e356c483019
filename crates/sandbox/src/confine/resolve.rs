//! Where paths lead. Before each command some fifty paths are resolved that lie beside each other; what is on the way to
//! them is looked at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use rustix::fs::readlink;
use rustix::io::Errno;

/// Resolves paths for one command. What exists is remembered, what does not may be made meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Resolver(RefCell<HashMap<PathBuf, PathBuf>>);

impl Resolver {
    /// Where a path leads, as [`Path::canonicalize`] would say it. Nothing if it leads nowhere.
    pub(crate) fn resolve(&self, path: &Path) -> Option<PathBuf> {
        if let Some(real) = self.0.borrow().get(path) {
            return Some(real.clone());
        }
        let real = match (path.parent(), path.components().next_back()) {
            (Some(parent), Some(Component::Normal(name))) if path.is_absolute() => {
                let real = self.resolve(parent)?.join(name);
                match readlink(&real, Vec::new()) {
                    // It exists and is no link.
                    Err(Errno::INVAL) => real,
                    Ok(_) => real.canonicalize().ok()?,
                    Err(_) => return None,
                }
            }
            _ => path.canonicalize().ok()?,
        };
        self.0.borrow_mut().insert(path.to_owned(), real.clone());
        Some(real)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_lead_where_the_system_says() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs_err::create_dir_all(root.join("a/b")).unwrap();
        fs_err::write(root.join("a/file"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("../link/b", root.join("a/up")).unwrap();
        symlink("nowhere", root.join("a/dangling")).unwrap();
        let resolver = Resolver::default();
        let names = [
            "a/b",
            "link/b",
            "link/up",
            "a/up/..",
            "link/../a/./b",
            "a/file",
            "a/file/x",
            "a/dangling",
            "loop",
            "loop/x",
            "a/b/",
            "link/file/..",
            "none",
            "none/x",
            "",
        ];
        for path in
            names.map(|name| root.join(name)).iter().chain([&PathBuf::from("/"), &PathBuf::from("relative")])
        {
            // Once as it is, and once as it is remembered.
            for _ in 0..2 {
                assert_eq!(resolver.resolve(path), path.canonicalize().ok(), "{}", path.display());
            }
        }
    }

    #[test]
    fn what_is_made_later_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (resolver, later) = (Resolver::default(), dir.path().canonicalize().unwrap().join("later"));
        assert_eq!(resolver.resolve(&later), None);
        fs_err::create_dir(&later).unwrap();
        assert_eq!(resolver.resolve(&later), Some(later));
    }
}
