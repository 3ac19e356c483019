//! What is different between two snapshots. Costs what differs, not what there is.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::SnapshotError;
use crate::digest::Digest;
use crate::objects::Objects;
use crate::tree::{Node, Tree, Unkept};

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub path: PathBuf,
    /// What was there before.
    pub before: Option<Node>,
    /// What is there afterwards.
    pub after: Option<Node>,
}

/// A path of which one side kept nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Where.
    pub path: PathBuf,
    /// Why nothing was kept.
    pub why: Unkept,
    /// What was there before.
    pub before: Option<Node>,
    /// What is there afterwards.
    pub after: Option<Node>,
}

impl Unknown {
    /// The same where it is known to change.
    pub(crate) fn as_change(&self) -> Change {
        Change { path: self.path.clone(), before: self.before.clone(), after: self.after.clone() }
    }

    /// Whether something that is not kept stands where something that is has to come back, and can get another name.
    #[must_use]
    pub fn is_in_the_way(&self) -> bool {
        let movable = matches!(
            self.before,
            Some(Node::Unkept(Unkept::Large | Unkept::Ignored | Unkept::Special | Unkept::Unreadable, _))
        );
        movable && self.after.as_ref().is_some_and(|after| !matches!(after, Node::Unkept(..)))
    }
}

/// Everything that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Paths that differ, sorted; a directory comes before what is in it.
    pub changes: Vec<Change>,
    /// Paths of which one side kept nothing, so that nobody knows whether they differ.
    pub unknown: Vec<Unknown>,
}

/// A change as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What happened.
    pub kind: Kind,
    /// Where.
    pub path: PathBuf,
    /// What was there before.
    pub before: Option<Node>,
    /// What is there afterwards.
    pub after: Option<Node>,
}

/// What happened to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its content changed.
    Modified,
    /// Only its permission bits changed.
    Mode,
    /// It has the content of a file that is gone.
    Renamed {
        /// Where that was.
        from: PathBuf,
    },
}

impl Diff {
    pub(crate) fn between(objects: &mut Objects, from: &Tree, to: &Tree) -> Result<Self, SnapshotError> {
        let mut diff = Self::default();
        diff.trees(objects, Path::new(""), from, to)?;
        // One of the directories may be inside of another.
        diff.changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(diff)
    }

    /// Counts what is unknown because something stands in its way as if that were not there. Returns where that is.
    pub(crate) fn clear_the_way(&mut self, objects: &mut Objects) -> Result<Vec<Unknown>, SnapshotError> {
        let all = std::mem::take(&mut self.unknown).into_iter();
        let (in_the_way, unknown) = all.partition(Unknown::is_in_the_way);
        self.unknown = unknown;
        for Unknown { path, after, .. } in &in_the_way {
            self.nodes(objects, path.clone(), None, after.as_ref())?;
        }
        self.changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(in_the_way)
    }

    /// Whether nothing is known to differ.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes as people see them: files that went elsewhere are one change, directories count only if they are
    /// empty.
    #[must_use]
    pub fn summary(&self) -> Vec<Summary> {
        let mut gone: HashMap<(Digest, u32), Vec<&Change>> = HashMap::new();
        for change in self.changes.iter().rev() {
            if let (Some(Node::File { content, mode, size: 1.. }), None) = (&change.before, &change.after) {
                gone.entry((*content, *mode)).or_default().push(change);
            }
        }
        let mut moved: HashMap<&Path, &Change> = HashMap::new();
        for change in &self.changes {
            if let (None, Some(Node::File { content, mode, .. })) = (&change.before, &change.after)
                && let Some(from) = gone.get_mut(&(*content, *mode)).and_then(Vec::pop)
            {
                moved.insert(&change.path, from);
            }
        }
        let left: HashSet<&Path> = moved.values().map(|from| from.path.as_path()).collect();
        let shown = self.changes.iter().filter(|change| !left.contains(change.path.as_path()));
        shown
            .filter(|change| !self.is_filled_directory(change))
            .map(|change| Summary {
                kind: match moved.get(change.path.as_path()) {
                    Some(from) => Kind::Renamed { from: from.path.clone() },
                    None => kind(change),
                },
                path: change.path.clone(),
                before: change.before.clone().or_else(|| moved.get(change.path.as_path())?.before.clone()),
                after: change.after.clone(),
            })
            .collect()
    }

    /// A directory that came or went together with something in it.
    fn is_filled_directory(&self, change: &Change) -> bool {
        let came_or_went = matches!(
            (&change.before, &change.after),
            (None, Some(Node::Directory { .. })) | (Some(Node::Directory { .. }), None)
        );
        let at = self.changes.partition_point(|other| other.path <= change.path);
        came_or_went && self.changes.get(at).is_some_and(|next| next.path.starts_with(&change.path))
    }

    fn trees(
        &mut self,
        objects: &mut Objects,
        dir: &Path,
        before: &Tree,
        after: &Tree,
    ) -> Result<(), SnapshotError> {
        let (mut before, mut after) = (before.0.iter().peekable(), after.0.iter().peekable());
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((left, _)), Some((right, _))) => left.cmp(right),
            };
            let left = if order.is_le() { before.next() } else { None };
            let right = if order.is_ge() { after.next() } else { None };
            let Some((name, _)) = left.or(right) else { return Ok(()) };
            self.nodes(objects, dir.join(name), left.map(|(_, node)| node), right.map(|(_, node)| node))?;
        }
    }

    fn nodes(
        &mut self,
        objects: &mut Objects,
        path: PathBuf,
        before: Option<&Node>,
        after: Option<&Node>,
    ) -> Result<(), SnapshotError> {
        if before == after || before.zip(after).is_some_and(|(before, after)| tell_nothing(before, after)) {
            return Ok(());
        }
        if let (Some(Node::Unkept(why, _)), _) | (_, Some(Node::Unkept(why, _))) = (before, after) {
            let (before, after) = (before.cloned(), after.cloned());
            self.unknown.push(Unknown { path, why: *why, before, after });
            return Ok(());
        }
        let tree = |node: Option<&Node>| match node {
            Some(Node::Directory { tree, mode }) => Some((*tree, *mode)),
            _ => None,
        };
        let (old, new) = (tree(before), tree(after));
        let only_inside = matches!((old, new), (Some((_, old)), Some((_, new))) if old == new);
        if !only_inside {
            let change = Change { path: path.clone(), before: before.cloned(), after: after.cloned() };
            self.changes.push(change);
        }
        let mut load = |tree: Option<(Digest, u32)>| match tree {
            Some((digest, _)) => objects.tree(&digest),
            None => Ok(Tree::default()),
        };
        let (old, new) = (load(old)?, load(new)?);
        self.trees(objects, &path, &old, &new)
    }
}

/// Whether neither is kept, and nothing says that they are not the same: older snapshots have no traces of files.
fn tell_nothing(before: &Node, after: &Node) -> bool {
    match (before, after) {
        (Node::Unkept(one, old), Node::Unkept(other, new)) => {
            one == other && (old.is_none() || new.is_none() || old == new)
        }
        _ => false,
    }
}

fn kind(change: &Change) -> Kind {
    match (&change.before, &change.after) {
        (None, _) => Kind::Added,
        (_, None) => Kind::Removed,
        (Some(Node::File { content: old, .. }), Some(Node::File { content: new, .. })) if old == new => {
            Kind::Mode
        }
        (Some(Node::Directory { .. }), Some(Node::Directory { .. })) => Kind::Mode,
        _ => Kind::Modified,
    }
}
