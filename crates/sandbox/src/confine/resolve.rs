//! Where paths lead. Before each command some fifty paths are resolved that lie beside each other; what is on the way to
//! them is looked at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::readlink;
use rustix::io::Errno;

/// Resolves paths for one command. What was found is remembered, and so is what was not, until that may have changed.
/// By their letters: taking paths apart again and again costs more than looking.
#[derive(Debug, Default)]
pub(crate) struct Resolver(RefCell<HashMap<OsString, Lead>>);

/// Where a path leads.
#[derive(Clone, Debug)]
enum Lead {
    To(PathBuf),
    /// To a link that leads nowhere.
    DeadEnd,
    Nowhere,
}

impl Resolver {
    /// Where a path leads, as [`Path::canonicalize`] would say it. Nothing if it leads nowhere.
    pub(crate) fn resolve(&self, path: &Path) -> Option<PathBuf> {
        match self.lead(path.as_os_str()) {
            Lead::To(real) => Some(real),
            Lead::DeadEnd | Lead::Nowhere => None,
        }
    }

    /// Whether something has this name, if only a link that leads nowhere.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        !matches!(self.lead(path.as_os_str()), Lead::Nowhere)
    }

    /// Looks again for what was not there.
    pub(crate) fn forget_missing(&mut self) {
        self.0.get_mut().retain(|_, lead| matches!(lead, Lead::To(_)));
    }

    fn lead(&self, path: &OsStr) -> Lead {
        if let Some(lead) = self.0.borrow().get(path) {
            return lead.clone();
        }
        let lead = match apart(path) {
            Some((parent, name)) => match self.lead(parent) {
                Lead::To(parent) => lead_of(parent.join(name)),
                Lead::DeadEnd | Lead::Nowhere => Lead::Nowhere,
            },
            None => Path::new(path).canonicalize().map_or(Lead::Nowhere, Lead::To),
        };
        self.0.borrow_mut().insert(path.to_owned(), lead.clone());
        lead
    }
}

/// The directory that a path names, and the name in it; nothing if it does not end in a plain name.
fn apart(path: &OsStr) -> Option<(&OsStr, &OsStr)> {
    let bytes = path.as_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/').filter(|_| bytes.starts_with(b"/"))?;
    let (parent, name) = (&bytes[..slash.max(1)], &bytes[slash + 1..]);
    let is_plain = !matches!(name, b"" | b"." | b"..");
    is_plain.then(|| (OsStr::from_bytes(parent), OsStr::from_bytes(name)))
}

/// Where a name in a directory that is no link leads.
fn lead_of(name: PathBuf) -> Lead {
    match readlink(&name, Vec::new()) {
        // It exists and is no link.
        Err(Errno::INVAL) => Lead::To(name),
        Ok(_) => name.canonicalize().map_or(Lead::DeadEnd, Lead::To),
        Err(_) => Lead::Nowhere,
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
                let exists = path.symlink_metadata().is_ok();
                assert_eq!(resolver.exists(path), exists, "{}", path.display());
            }
        }
    }

    #[test]
    fn what_is_made_later_is_found_when_looked_for_again() {
        let dir = tempfile::tempdir().unwrap();
        let (mut resolver, later) = (Resolver::default(), dir.path().canonicalize().unwrap().join("later"));
        assert_eq!(resolver.resolve(&later), None);
        fs_err::create_dir(&later).unwrap();
        resolver.forget_missing();
        assert_eq!(resolver.resolve(&later), Some(later));
    }
}
