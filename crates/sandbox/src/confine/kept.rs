//! Names that must be after a command what they were before, and that no mount can hold: those that do not exist and
//! must not, and links.

use std::path::{Path, PathBuf};

/// Names to look after once the command has ended.
#[derive(Debug, Default)]
pub(crate) struct Kept(Vec<Name>);

#[derive(Debug)]
struct Name {
    path: PathBuf,
    /// Where it leads, if it is a link; otherwise there is nothing.
    link: Option<PathBuf>,
}

impl Kept {
    /// Of these, the names that are links or do not exist.
    pub(crate) fn of(paths: &[PathBuf]) -> Self {
        let names = paths.iter().filter_map(|path| match fs_err::read_link(path) {
            Ok(link) => Some(Name { path: path.clone(), link: Some(link) }),
            Err(_) if path.symlink_metadata().is_err() => Some(Name { path: path.clone(), link: None }),
            Err(_) => None,
        });
        Self(names.collect())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for Name { path, link } in &self.0 {
            let now = fs_err::read_link(path).ok();
            let is_there = path.symlink_metadata().is_ok();
            if is_there && (link.is_none() || now != *link) {
                set_aside(path);
            }
            if let Some(link) = link.as_ref().filter(|link| now.as_ref() != Some(*link)) {
                _ = std::os::unix::fs::symlink(link, path);
            }
        }
    }
}

/// It may be the user's after all: it is not removed, but it does not count any more.
fn set_aside(path: &Path) {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".refused");
    tracing::warn!(path = %path.display(), "a command made what it must not make; it is set aside");
    _ = fs_err::rename(path, PathBuf::from(aside));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_there_is_set_aside_and_links_are_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs_err::write(path("file"), "x").unwrap();
        std::os::unix::fs::symlink("elsewhere", path("link")).unwrap();
        std::os::unix::fs::symlink("same", path("steady")).unwrap();
        let names = ["file", "link", "steady", "new", "never", "no/dir", "made/since"].map(path);
        let kept = Kept::of(&names);
        fs_err::create_dir(path("made")).unwrap();
        fs_err::write(path("made/since"), "planted").unwrap();
        fs_err::write(path("file"), "y").unwrap();
        fs_err::remove_file(path("link")).unwrap();
        fs_err::create_dir(path("link")).unwrap();
        fs_err::write(path("new"), "planted").unwrap();
        drop(kept);
        assert_eq!(fs_err::read_to_string(path("file")).unwrap(), "y");
        assert_eq!(fs_err::read_link(path("link")).unwrap(), Path::new("elsewhere"));
        assert_eq!(fs_err::read_link(path("steady")).unwrap(), Path::new("same"));
        assert!(!path("made/since").exists() && path("made/since.refused").exists());
        assert!(!path("new").exists() && path("new.refused").exists() && path("link.refused").is_dir());
    }
}
