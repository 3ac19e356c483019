//! Bringing a snapshot back. Only what differs is touched, and only what could be brought back itself.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fstat, mkdirat, openat, renameat, renameat_with, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use tiller_protocol::id::SnapshotId;

use crate::aside::{Aside, Returning};
use crate::draft::{fd, link_target, look, mode, open_directory, open_root};
use crate::store::{Store, read_file};
use crate::tree::{Node, Tree};
use crate::{Change, Diff, Digest, SnapshotError, Unknown};

/// Who may enter and change a directory: its owner has to while something in it is brought back.
const OWNER_MAY_CHANGE: u32 = 0o300;
/// What bringing a snapshot back has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// What was there before: bring this back to undo it.
    pub undo: SnapshotId,
    /// What was changed, from how it was to how it is.
    pub changes: Vec<Change>,
    /// What got another name.
    pub aside: Vec<Aside>,
    /// What was left as it is.
    pub left: Vec<Left>,
}

/// A way back that nothing was done about yet.
#[derive(Clone, Debug)]
pub struct Ready {
    /// What will be there.
    pub to: SnapshotId,
    /// What is there now: bring this back to undo it.
    pub undo: SnapshotId,
    roots: Tree,
    pub(crate) diff: Diff,
    /// What has to get another name first.
    pub(crate) in_the_way: Vec<Unknown>,
    /// What gets its name again.
    pub(crate) returning: Vec<Returning>,
}

/// A path that was left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub why: String,
    /// What kept it from changing.
    pub hindrance: Hindrance,
}

/// What keeps a path from being brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// It is not kept, or something is there that is not: it is left alone on purpose.
    Unkept,
    /// The attempt failed: no room, no permission, a damaged snapshot.
    Failure,
}

impl Store {
    /// Makes the directories of a snapshot what they were. Touches only what differs; what no snapshot could bring back
    /// is left alone and named, or gets another name if something that was kept has to come back in its place.
    ///
    /// # Errors
    /// When the snapshot is not there, or the present state cannot be kept first. Nothing has been touched then.
    pub fn restore(&mut self, to: &SnapshotId) -> Result<Restored, SnapshotError> {
        self.make_ready(to).map(|ready| self.carry_out(ready))
    }

    /// Does all of that which can fail as a whole: keeps the present state, and finds out what differs. Touches nothing.
    ///
    /// # Errors
    /// When the snapshot is not there, or the present state cannot be kept.
    pub fn make_ready(&mut self, to: &SnapshotId) -> Result<Ready, SnapshotError> {
        let roots = self.roots(to)?;
        let (undo, mut diff) = self.compare(to)?;
        let in_the_way = diff.clear_the_way(&mut self.objects)?;
        Ok(Ready { to: to.clone(), undo, roots, diff, in_the_way, returning: Vec::new() })
    }

    /// Goes a way back that was made ready.
    pub fn carry_out(&mut self, ready: Ready) -> Restored {
        let Ready { undo, roots, mut diff, in_the_way, returning, .. } = ready;
        let unknown = std::mem::take(&mut diff.unknown);
        let left = |one: &Unknown| Refusal::unkept(one.why.as_str()).at(&one.path);
        let left = unknown.iter().map(left).collect();
        let mut work = Work { store: self, roots, modes: BTreeMap::new(), aside: Vec::new(), left };
        let mut failed = HashSet::new();
        for change in diff.changes.iter().rev().filter(|change| has_to_go_first(change)) {
            failed.extend(work.attempt(change, Work::make_room));
        }
        let returned: Vec<Change> =
            returning.iter().filter_map(|one| work.take_back(&diff, &unknown, one)).collect();
        let blocked: Vec<PathBuf> = in_the_way.iter().filter_map(|one| work.attempt_aside(one)).collect();
        for change in &diff.changes {
            if blocked.iter().any(|path| change.path.starts_with(path)) {
                failed.insert(change.path.clone());
            } else if !failed.contains(&change.path) {
                failed.extend(work.attempt(change, Work::make));
            }
        }
        work.set_modes();
        let (aside, left) = (work.aside, work.left);
        let mut changes = diff.changes;
        changes.retain(|change| !failed.contains(&change.path));
        changes.extend(returned);
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Restored { undo, changes, aside, left }
    }

    /// Whether a name still holds what the snapshot before says.
    pub(crate) fn is_unchanged(
        &self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        before: &Node,
    ) -> Result<(), Refusal> {
        let stat = look(parent, name)?;
        let same = match before {
            Node::File { content, mode: kept, size } => {
                let now: Option<Digest> = self.cache.get(&stat).or_else(|| {
                    let found = read_file(parent, name, *size)?;
                    Some(Digest::of(&found.bytes))
                });
                now == Some(*content) && mode(&stat) == *kept
            }
            Node::Link { target } => link_target(parent, name).is_ok_and(|now| now == *target),
            Node::Directory { .. } => rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir(),
            Node::Unkept(..) => false,
        };
        if same { Ok(()) } else { Err(Refusal::unkept("it changed in the meantime")) }
    }
}

/// Whether something has to make room before anything is made: all that is gone, and what becomes something else.
fn has_to_go_first(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (Some(_), None) => true,
        (Some(Node::Directory { .. }), Some(after)) => !matches!(after, Node::Directory { .. }),
        (Some(_), Some(Node::Directory { .. })) => true,
        _ => false,
    }
}

/// Why a path cannot be brought back.
pub(crate) struct Refusal {
    pub(crate) why: String,
    pub(crate) hindrance: Hindrance,
}

impl Refusal {
    fn unkept(why: &str) -> Self {
        Self { why: why.to_owned(), hindrance: Hindrance::Unkept }
    }

    fn failed(error: &impl std::fmt::Display) -> Self {
        Self { why: error.to_string(), hindrance: Hindrance::Failure }
    }

    pub(crate) fn at(self, path: &Path) -> Left {
        Left { path: path.to_owned(), why: self.why, hindrance: self.hindrance }
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOTEMPTY => Self::unkept("it contains files that are not kept"),
            Errno::EXIST => Self::unkept("something else is there"),
            Errno::LOOP | Errno::NOTDIR => Self::unkept("a parent directory is no longer a directory"),
            other => Self::failed(&std::io::Error::from(other)),
        }
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::failed(&error)
    }
}

impl From<SnapshotError> for Refusal {
    fn from(error: SnapshotError) -> Self {
        Self::failed(&error)
    }
}

pub(crate) struct Work<'a> {
    pub(crate) store: &'a mut Store,
    roots: Tree,
    /// Permission bits that directories get when everything else is done.
    modes: BTreeMap<PathBuf, u32>,
    pub(crate) aside: Vec<Aside>,
    pub(crate) left: Vec<Left>,
}

impl Work<'_> {
    fn attempt(
        &mut self,
        change: &Change,
        act: fn(&mut Self, &Change) -> Result<(), Refusal>,
    ) -> Option<PathBuf> {
        let refusal = act(self, change).err()?;
        self.left.push(refusal.at(&change.path));
        Some(change.path.clone())
    }

    /// Removes something. If that is not possible while something else has to come back in its place, for example because
    /// a directory holds what is not kept, it gets another name.
    fn make_room(&mut self, change: &Change) -> Result<(), Refusal> {
        let Err(refusal) = self.remove(change) else { return Ok(()) };
        if change.after.is_none() {
            return Err(refusal);
        }
        let to = self.set_aside(&change.path)?;
        self.aside.push(Aside { path: change.path.clone(), to, why: refusal.why });
        Ok(())
    }

    fn remove(&mut self, change: &Change) -> Result<(), Refusal> {
        let Some(before) = &change.before else { return Ok(()) };
        let (parent, name) = self.parent(&change.path)?;
        self.store.is_unchanged(fd(&parent), &name, before)?;
        let flags = match before {
            Node::Directory { .. } => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        self.modes.remove(&change.path);
        Ok(unlinkat(&parent, &name, flags)?)
    }

    fn make(&mut self, change: &Change) -> Result<(), Refusal> {
        let Some(after) = &change.after else { return Ok(()) };
        if let Node::Directory { mode, .. } = after {
            return self.make_directory(&change.path, *mode);
        }
        let (parent, name) = self.parent(&change.path)?;
        let replaced = change.before.as_ref().filter(|_| !has_to_go_first(change));
        if let Some(before) = replaced {
            self.store.is_unchanged(fd(&parent), &name, before)?;
        }
        let temporary = OsString::from(format!(".tiller-{}", self.store.env.fresh().simple()));
        let placed = self
            .write(fd(&parent), &temporary, after)
            .and_then(|()| place(fd(&parent), &temporary, &name, replaced.is_some()).map_err(Refusal::from));
        if placed.is_err() {
            // It may not even have come to be.
            let _ = unlinkat(&parent, &temporary, AtFlags::empty());
        }
        placed
    }

    fn make_directory(&mut self, path: &Path, mode: u32) -> Result<(), Refusal> {
        if self.is_root(path) {
            fs_err::create_dir_all(path)?;
        } else {
            let (parent, name) = self.parent(path)?;
            match mkdirat(&parent, &name, Mode::RWXU) {
                Ok(()) => {}
                Err(Errno::EXIST) if look(fd(&parent), &name).is_ok_and(|stat| is_directory(&stat)) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        self.modes.insert(path.to_owned(), mode);
        Ok(())
    }

    fn write(&mut self, parent: BorrowedFd<'_>, name: &OsStr, node: &Node) -> Result<(), Refusal> {
        match node {
            Node::File { content, mode, .. } => {
                let bytes = self.store.read(content)?;
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = std::fs::File::from(openat(parent, name, flags, Mode::RUSR | Mode::WUSR)?);
                file.write_all(&bytes)?;
                Ok(fchmod(&file, Mode::from_raw_mode(*mode))?)
            }
            Node::Link { target } => Ok(symlinkat(target, parent, name)?),
            Node::Directory { .. } | Node::Unkept(..) => Ok(()),
        }
    }

    /// Opens the directory a path is in, step by step from its root, and makes sure that it can be changed.
    pub(crate) fn parent(&mut self, path: &Path) -> Result<(OwnedFd, OsString), Refusal> {
        let root = self.root_of(path).ok_or_else(|| Refusal::unkept("it is not in a working directory"))?;
        let below = path.strip_prefix(&root).unwrap_or(path);
        let missing = || Refusal::unkept("its directory does not exist");
        let name = below.file_name().ok_or_else(missing)?.to_owned();
        let mut here = root.clone();
        let mut directory = open_root(&root)?.ok_or_else(missing)?;
        for step in below.parent().into_iter().flat_map(Path::components) {
            directory = open_directory(fd(&directory), step.as_os_str())?;
            here.push(step);
        }
        let now = mode(&fstat(&directory)?);
        if now & OWNER_MAY_CHANGE != OWNER_MAY_CHANGE {
            fchmod(&directory, Mode::from_raw_mode(now | OWNER_MAY_CHANGE))?;
            self.modes.entry(here).or_insert(now);
        }
        Ok((directory, name))
    }

    fn is_root(&self, path: &Path) -> bool {
        self.roots.0.iter().any(|(root, _)| Path::new(root) == path)
    }

    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        self.roots.root_of(path.parent()?).map(|(root, _)| PathBuf::from(root))
    }

    /// Directories get their permission bits last, innermost first, so that none locks out what is still to do.
    fn set_modes(&mut self) {
        for (path, mode) in std::mem::take(&mut self.modes).into_iter().rev() {
            let set = self
                .directory(&path)
                .and_then(|directory| fchmod(&directory, Mode::from_raw_mode(mode)).map_err(Refusal::from));
            if let Err(refusal) = set {
                self.left.push(refusal.at(&path));
            }
        }
    }

    fn directory(&mut self, path: &Path) -> Result<OwnedFd, Refusal> {
        if self.is_root(path) {
            return open_root(path)?.ok_or_else(|| Refusal::unkept("it does not exist"));
        }
        let modes = std::mem::take(&mut self.modes);
        let opened = self.parent(path);
        self.modes = modes;
        let (parent, name) = opened?;
        Ok(open_directory(fd(&parent), &name)?)
    }
}

fn is_directory(stat: &rustix::fs::Stat) -> bool {
    rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir()
}

/// Gives a finished file its name. What appeared under that name meanwhile is not replaced.
pub(crate) fn place(
    parent: BorrowedFd<'_>,
    from: &OsStr,
    to: &OsStr,
    replaces: bool,
) -> rustix::io::Result<()> {
    if replaces {
        return renameat(parent, from, parent, to);
    }
    match renameat_with(parent, from, parent, to, RenameFlags::NOREPLACE) {
        // Not every file system knows how.
        Err(Errno::INVAL | Errno::NOSYS) => match look(parent, to) {
            Err(Errno::NOENT) => renameat(parent, from, parent, to),
            Ok(_) => Err(Errno::EXIST),
            Err(errno) => Err(errno),
        },
        placed => placed,
    }
}
