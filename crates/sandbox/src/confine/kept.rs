//! Names that must be after a command what they were before, and that no mount can hold: those that do not exist and
//! must not, and links.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names that commands which run now must not make.
static WATCHED: Mutex<BTreeMap<PathBuf, Watched>> = Mutex::new(BTreeMap::new());

/// Names beside the refused one that are tried: a command may have put something there.
const ASIDE: usize = 100;

/// A name that must not be made.
#[derive(Default)]
struct Watched {
    /// By how many commands.
    commands: usize,
    /// What Tiller itself has put there meanwhile, with permission.
    vouched_for: Option<Vec<u8>>,
}

/// Names to look after once the command has ended.
#[derive(Debug, Default)]
pub(crate) struct Kept(Vec<Name>);

#[derive(Debug)]
struct Name {
    path: PathBuf,
    /// Where it leads, if it is a link; otherwise there is nothing.
    link: Option<PathBuf>,
}

/// Says that whoever writes this file now may do so, so that it is not taken for the work of a command that runs meanwhile.
pub fn vouch_for(path: &Path, content: &[u8]) {
    if let Some(watched) = watched().get_mut(path) {
        watched.vouched_for = Some(content.to_vec());
    }
}

impl Kept {
    /// Of these, the names that are links or do not exist.
    pub(crate) fn of(paths: &[PathBuf]) -> Self {
        let names = paths.iter().filter_map(|path| match fs_err::read_link(path) {
            Ok(link) => Some(Name { path: path.clone(), link: Some(link) }),
            Err(_) if path.symlink_metadata().is_err() => Some(Name { path: path.clone(), link: None }),
            Err(_) => None,
        });
        let names: Vec<Name> = names.collect();
        let mut watched = watched();
        for name in names.iter().filter(|name| name.link.is_none()) {
            watched.entry(name.path.clone()).or_default().commands += 1;
        }
        Self(names)
    }

    /// Puts everything back. Says what was made and where it is now.
    pub(crate) fn settle(&mut self) -> Vec<(PathBuf, PathBuf)> {
        std::mem::take(&mut self.0).into_iter().filter_map(Name::settle).collect()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Name {
    fn settle(self) -> Option<(PathBuf, PathBuf)> {
        let Self { path, link } = self;
        let now = fs_err::read_link(&path).ok();
        let is_there = path.symlink_metadata().is_ok();
        let is_right = match &link {
            Some(_) => now == link,
            None => is_vouched_for(&path),
        };
        let aside = if is_there && !is_right { set_aside(&path) } else { None };
        if let Some(link) = link.filter(|link| now.as_ref() != Some(link)) {
            _ = std::os::unix::fs::symlink(link, &path);
        }
        aside.map(|aside| (path, aside))
    }
}

/// Whether a file is just what Tiller has written there. This command does not watch the name any more.
fn is_vouched_for(path: &Path) -> bool {
    let mut watched = watched();
    let Some(one) = watched.get_mut(path) else { return false };
    one.commands = one.commands.saturating_sub(1);
    let content = if one.commands == 0 {
        watched.remove(path).and_then(|one| one.vouched_for)
    } else {
        one.vouched_for.clone()
    };
    // Under another name it could be changed later on.
    let is_plain = path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.nlink() == 1);
    is_plain && content.is_some_and(|content| fs_err::read(path).is_ok_and(|now| now == content))
}

/// It may be the user's after all: it is not removed, but it does not count any more. Says where it is now.
fn set_aside(path: &Path) -> Option<PathBuf> {
    tracing::warn!(path = %path.display(), "a command made what it must not make; it is set aside");
    let moved = move_aside(path).or_else(|_| {
        make_writable(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
        move_aside(path)
    });
    moved.inspect_err(|_| remove(path)).ok()
}

/// Moves it to the first name beside it at which nothing is in the way.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for number in 0..ASIDE {
        let mut aside = path.as_os_str().to_owned();
        aside.push(if number == 0 { ".refused".to_owned() } else { format!(".refused.{number}") });
        let aside = PathBuf::from(aside);
        outcome = fs_err::rename(path, &aside).map(|()| aside);
        let is_in_the_way = |error: &io::Error| {
            use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory};
            matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory)
        };
        if !outcome.as_ref().is_err_and(is_in_the_way) {
            break;
        }
    }
    outcome
}

fn make_writable(dir: &Path) -> io::Result<()> {
    let mut mode = fs_err::symlink_metadata(dir)?.permissions();
    mode.set_mode(mode.mode() | 0o300);
    fs_err::set_permissions(dir, mode)
}

fn remove(path: &Path) {
    let is_dir = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let removed = if is_dir { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
    if let Err(error) = removed {
        tracing::warn!("what a command made could not be taken away: {error}");
    }
}

fn watched() -> MutexGuard<'static, BTreeMap<PathBuf, Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut kept = Kept::of(&names);
        fs_err::create_dir(path("made")).unwrap();
        fs_err::write(path("made/since"), "planted").unwrap();
        fs_err::write(path("file"), "y").unwrap();
        fs_err::remove_file(path("link")).unwrap();
        fs_err::create_dir(path("link")).unwrap();
        fs_err::write(path("new"), "planted").unwrap();
        let aside = kept.settle();
        assert_eq!(fs_err::read_to_string(path("file")).unwrap(), "y");
        assert_eq!(fs_err::read_link(path("link")).unwrap(), Path::new("elsewhere"));
        assert_eq!(fs_err::read_link(path("steady")).unwrap(), Path::new("same"));
        assert!(!path("made/since").exists() && path("made/since.refused").exists());
        assert!(!path("new").exists() && path("new.refused").exists() && path("link.refused").is_dir());
        let moved = ["link", "new", "made/since"].map(|name| (path(name), path(&format!("{name}.refused"))));
        assert_eq!(aside, moved);
    }

    #[test]
    fn nothing_keeps_it_from_being_set_aside() {
        for obstacles in [1, ASIDE] {
            let dir = tempfile::tempdir().unwrap();
            let planted = dir.path().join("planted");
            let mut kept = Kept::of(std::slice::from_ref(&planted));
            for number in 0..obstacles {
                let end = if number == 0 { String::new() } else { format!(".{number}") };
                fs_err::create_dir_all(dir.path().join(format!("planted.refused{end}/full"))).unwrap();
            }
            fs_err::write(&planted, "evil").unwrap();
            fs_err::set_permissions(dir.path(), PermissionsExt::from_mode(0o555)).unwrap();
            assert_eq!(kept.settle().len(), usize::from(obstacles < ASIDE), "{obstacles}");
            assert!(planted.symlink_metadata().is_err(), "{obstacles}");
        }
    }

    #[test]
    fn what_tiller_writes_meanwhile_stays_unless_a_command_changes_it() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["written", "changed", "linked", "unasked"].map(|name| dir.path().join(name));
        let (mut first, mut second) = (Kept::of(&paths), Kept::of(&paths));
        for path in &paths {
            fs_err::write(path, "{}").unwrap();
        }
        for path in &paths[..3] {
            vouch_for(path, b"{}");
        }
        fs_err::write(&paths[1], "evil").unwrap();
        fs_err::hard_link(&paths[2], dir.path().join("other-name")).unwrap();
        let names = |settled: Vec<(PathBuf, PathBuf)>| -> Vec<PathBuf> {
            settled.into_iter().map(|(path, _)| path).collect()
        };
        assert_eq!(names(first.settle()), paths[1..]);
        fs_err::write(&paths[1], "{}").unwrap();
        assert!(names(second.settle()).is_empty(), "what is vouched for is so for every command");
        let mut third = Kept::of(&[dir.path().join("linked")]);
        fs_err::write(&paths[2], "{}").unwrap();
        assert_eq!(names(third.settle()), paths[2..3], "nobody vouches for what comes later");
    }
}
