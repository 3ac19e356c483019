//! Paths that lead elsewhere in each process: through its directory, its root, and the files that it has open.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links followed at most.
const LINKS_FOLLOWED: usize = 40;

/// What a process reads if it is told no file. What that is, the script says by itself.
pub(crate) const INPUT: &str = "/dev/stdin";

/// A path that goes through what each process sees in its own way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnView {
    /// Where that begins.
    at: PathBuf,
    /// What follows.
    rest: Vec<OsString>,
}

/// Where such a path leads from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The directory in which the process stands.
    Directory(PathBuf),
    Root(PathBuf),
    /// A file or directory that it has open.
    OpenFile(PathBuf),
    /// Nothing that has another name as well.
    Other,
}

impl OwnView {
    /// Looks where an absolute path leads, link by link. Once it has come to something of a process, nobody but that process
    /// can tell where it goes on.
    pub(crate) fn of(path: &Path, link_target: impl Fn(&Path) -> Option<PathBuf>) -> Option<Self> {
        let mut reached = PathBuf::from("/");
        let mut pending = steps_reversed(path);
        let mut followed = 0;
        while let Some(step) = pending.pop() {
            if step == ".." {
                reached.pop();
                continue;
            }
            reached.push(step);
            if belongs_to_a_process(&reached) {
                pending.reverse();
                return Some(Self { at: reached, rest: pending });
            }
            if let Some(target) = link_target(&reached).filter(|_| followed < LINKS_FOLLOWED) {
                followed += 1;
                reached.pop();
                if target.is_absolute() {
                    reached = PathBuf::from("/");
                }
                pending.extend(steps_reversed(&target));
            }
        }
        None
    }

    /// A name for where it leads, which nothing but such paths have.
    pub(crate) fn named(&self) -> PathBuf {
        if self.at == Path::new(INPUT) && self.rest.is_empty() {
            return INPUT.into();
        }
        let is_below_proc = self.at.starts_with("/proc");
        let mut named = if is_below_proc { self.at.clone() } else { PathBuf::from("/proc/self") };
        named.extend(self.beginning().iter().filter(|_| !is_below_proc));
        named.extend(self.rest.iter().filter(|step| *step != ".."));
        named
    }

    /// Where it leads from, with the path from there.
    pub(crate) fn origin(&self) -> Origin {
        let mut inside = self.beginning();
        for (at, step) in self.rest.iter().map(|step| step.to_string_lossy()).enumerate() {
            match &*step {
                ".." => drop(inside.pop()),
                step => inside.push(step.to_owned()),
            }
            let behind = || self.rest[at + 1..].iter().collect();
            if let Some(origin) = origin_of(&inside, behind) {
                return origin;
            }
        }
        origin_of(&inside, PathBuf::new).unwrap_or(Origin::Other)
    }

    /// Where it begins among what belongs to a process.
    fn beginning(&self) -> Vec<String> {
        let name = self.at.file_name().unwrap_or_default().to_string_lossy();
        let steps: &[&str] = match &*name {
            "fd" => &["fd"],
            "stdin" => &["fd", "0"],
            "stdout" => &["fd", "1"],
            "stderr" => &["fd", "2"],
            "mounts" | "net" => &[&name],
            _ => &[],
        };
        steps.iter().map(|step| (*step).to_owned()).collect()
    }
}

/// The origin that a path among what belongs to a process comes to.
fn origin_of(inside: &[String], behind: impl FnOnce() -> PathBuf) -> Option<Origin> {
    let inside: Vec<&str> = inside.iter().map(String::as_str).collect();
    // Each thread has the same.
    let own = match inside.as_slice() {
        ["task", _, own @ ..] => own,
        own => own,
    };
    match own {
        ["cwd"] => Some(Origin::Directory(behind())),
        ["root"] => Some(Origin::Root(behind())),
        ["fd", _] => Some(Origin::OpenFile(behind())),
        _ => None,
    }
}

/// Whether a path without links and `..` is that of what each process sees in its own way, or of some process.
fn belongs_to_a_process(path: &Path) -> bool {
    let is_of_process = |name: &str| {
        matches!(name, "self" | "thread-self" | "mounts" | "net") || name.bytes().all(|c| c.is_ascii_digit())
    };
    let Some(steps) = path.iter().skip(1).map(|step| step.to_str()).collect::<Option<Vec<_>>>() else {
        return false;
    };
    match steps.as_slice() {
        ["proc", name] => is_of_process(name),
        ["dev", "fd" | "stdin" | "stdout" | "stderr"] => true,
        _ => false,
    }
}

/// The steps of a path, last first.
fn steps_reversed(path: &Path) -> Vec<OsString> {
    let steps = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    steps.collect()
}
