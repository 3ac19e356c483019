//! What no snapshot holds and stands in the way of something that is brought back gets another name, and its own again when
//! that is undone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use tiller_protocol::id::SnapshotId;

use crate::draft::{fd, look};
use crate::earlier::Earlier;
use crate::restore::{Left, Refusal, Work, place};
use crate::store::Store;
use crate::tree::Node;
use crate::{Change, Diff, Ready, SnapshotError, Unknown};

/// What is added to the name of something that stands in the way.
const SET_ASIDE: &str = "set-aside";
/// How often that may have happened to a name.
const MOST_ASIDE: u32 = 1_000;

/// Something that no snapshot could bring back, and that stood where something else was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// Where it was.
    pub path: PathBuf,
    /// Where it is.
    pub to: PathBuf,
    /// Why it is not kept.
    pub why: String,
}

/// Something that gets its name again.
#[derive(Clone, Debug)]
pub(crate) struct Returning {
    path: PathBuf,
    from: PathBuf,
}

impl Returning {
    /// What goes when it gets its name again: what was brought back in its place, and is not kept any more.
    fn replaced<'a>(&self, unknown: &'a [Unknown]) -> Option<&'a Unknown> {
        unknown.iter().find(|one| one.path == self.path && matches!(one.after, Some(Node::Unkept(..))))
    }

    /// Whether its name is free then: because that goes, or because a directory comes back, which is made in this one.
    fn has_a_place(&self, changes: &[Change], unknown: &[Unknown]) -> bool {
        let is_made =
            |one: &Change| one.path == self.path && matches!(one.after, Some(Node::Directory { .. }));
        self.replaced(unknown).is_some() || changes.iter().any(is_made)
    }

    /// Whether a path is where it was, where it is, or below: with its name, all of that is as it was.
    fn explains(&self, path: &Path) -> bool {
        path.starts_with(&self.path) || path.starts_with(&self.from)
    }
}

impl Ready {
    /// What carrying it out would change, and what would get another name for that.
    pub(crate) fn foreseen(self) -> (Diff, Vec<Unknown>) {
        let Self { diff: Diff { mut changes, mut unknown }, in_the_way, returning, .. } = self;
        let returning: Vec<&Returning> =
            returning.iter().filter(|one| one.has_a_place(&changes, &unknown)).collect();
        let returned: Vec<Change> =
            returning.iter().filter_map(|one| one.replaced(&unknown)).map(Unknown::as_change).collect();
        unknown.retain(|left| !returning.iter().any(|one| one.explains(&left.path)));
        changes.extend(returned);
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        (Diff { changes, unknown }, in_the_way)
    }
}

impl Store {
    /// Makes ready that what an earlier step back, to `placed`, has set aside gets its name again: only where what that
    /// step has put there is still as it was. Each is where it was and where it is.
    ///
    /// # Errors
    /// When a snapshot is not there.
    pub fn make_ready_to_return(
        &mut self,
        ready: &mut Ready,
        placed: &SnapshotId,
        aside: impl IntoIterator<Item = (PathBuf, PathBuf)>,
    ) -> Result<(), SnapshotError> {
        let (placed, now) = (self.roots(placed)?, self.roots(&ready.undo)?);
        let mut earlier = Earlier::new(&mut self.objects, Some(&placed), Some(&now));
        let mut is_as_placed = |path: &Path| {
            let (was, now) = (earlier.in_last(path), earlier.in_other(path));
            was == now && matches!(now, Some(Node::File { .. } | Node::Link { .. }))
        };
        for (path, from) in aside {
            // It may be kept under its other name, and must not be removed there before it gets its own.
            ready.diff.changes.retain(|change| !change.path.starts_with(&from));
            if fs_err::symlink_metadata(&from).is_ok() && is_as_placed(&path) {
                ready.returning.push(Returning { path, from });
            }
        }
        Ok(())
    }
}

impl Work<'_> {
    /// Gives something that stands in the way another name; returns where that was not possible.
    pub(crate) fn attempt_aside(&mut self, Unknown { path, why, .. }: &Unknown) -> Option<PathBuf> {
        match self.set_aside(path) {
            Ok(to) => {
                self.aside.push(Aside { path: path.clone(), to, why: why.as_str().to_owned() });
                None
            }
            Err(Refusal { why: refusal, hindrance }) => {
                let why = format!("{}, and it cannot be moved away: {refusal}", why.as_str());
                self.left.push(Left { path: path.clone(), why, hindrance });
                Some(path.clone())
            }
        }
    }

    pub(crate) fn set_aside(&mut self, path: &Path) -> Result<PathBuf, Refusal> {
        let (parent, name) = self.parent(path)?;
        for number in 1..MOST_ASIDE {
            let mut free = name.clone();
            free.push(format!(".{SET_ASIDE}"));
            if number > 1 {
                free.push(format!("-{number}"));
            }
            match place(fd(&parent), &name, &free, false) {
                Ok(()) => return Ok(path.with_file_name(free)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Gives something that was set aside its name again. Returns what that has changed, which the difference between
    /// snapshots does not tell.
    pub(crate) fn take_back(&mut self, diff: &Diff, unknown: &[Unknown], one: &Returning) -> Option<Change> {
        if !one.has_a_place(&diff.changes, unknown) {
            return None;
        }
        let replaced = one.replaced(unknown);
        if let Err(Refusal { why, .. }) =
            self.put_back(one, replaced.and_then(|unknown| unknown.before.as_ref()))
        {
            tracing::debug!("{} stays as it is: {why}", one.from.display());
            return None;
        }
        self.left.retain(|left| !one.explains(&left.path));
        replaced.map(Unknown::as_change)
    }

    fn put_back(&mut self, one: &Returning, replaced: Option<&Node>) -> Result<(), Refusal> {
        let (parent, name) = self.parent(&one.path)?;
        let parent = fd(&parent);
        let from = one.from.file_name().unwrap_or_default();
        look(parent, from)?;
        let Some(replaced) = replaced else { return Ok(place(parent, from, &name, false)?) };
        self.store.is_unchanged(parent, &name, replaced)?;
        let temporary = OsString::from(format!(".tiller-{}", self.store.env.fresh().simple()));
        place(parent, &name, &temporary, false)?;
        if let Err(errno) = place(parent, from, &name, false) {
            place(parent, &temporary, &name, false)?;
            return Err(errno.into());
        }
        if let Err(errno) = unlinkat(parent, &temporary, AtFlags::empty()) {
            // It has its name; only what was there stays beside it.
            self.left.push(Refusal::from(errno).at(&one.path.with_file_name(temporary)));
        }
        Ok(())
    }
}
