//! What earlier snapshots keep at a path. It stays kept, whatever is ignored by now.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use crate::digest::Digest;
use crate::objects::Objects;
use crate::tree::{Node, Tree};

/// Snapshots that one which is being taken has to be comparable with, and the objects it may refer to.
pub(crate) struct Earlier<'a> {
    objects: &'a mut Objects,
    /// The roots of the snapshot before.
    last: Option<&'a Tree>,
    /// The roots of the one that is about to be brought back.
    other: Option<&'a Tree>,
    /// Directories that were read.
    trees: HashMap<Digest, Tree>,
}

impl<'a> Earlier<'a> {
    pub(crate) fn new(objects: &'a mut Objects, last: Option<&'a Tree>, other: Option<&'a Tree>) -> Self {
        Self { objects, last, other, trees: HashMap::new() }
    }

    /// Whether the store has an object.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.objects.has(digest)
    }

    /// Whether something at a path is kept.
    pub(crate) fn holds(&mut self, path: &Path) -> bool {
        self.in_last(path).or_else(|| self.in_other(path)).is_some()
    }

    /// Whether there is a directory at a path of which something is kept.
    pub(crate) fn holds_directory(&mut self, path: &Path) -> bool {
        [self.in_last(path), self.in_other(path)]
            .iter()
            .any(|node| matches!(node, Some(Node::Directory { .. })))
    }

    /// Whether a file of this size stays kept. One that was short and grows beyond the limit with every step, as a log of
    /// a server does, is kept only to bring something else back.
    pub(crate) fn holds_file(&mut self, path: &Path, size: u64, limit: u64) -> bool {
        let stays = match self.in_last(path) {
            Some(Node::File { size: was, .. }) => size <= limit || was > limit,
            Some(_) => size <= limit,
            None => false,
        };
        stays || self.in_other(path).is_some()
    }

    /// What the snapshot before keeps at a path.
    pub(crate) fn in_last(&mut self, path: &Path) -> Option<Node> {
        self.last.and_then(|roots| self.node(roots, path))
    }

    /// What the other snapshot keeps at a path.
    pub(crate) fn in_other(&mut self, path: &Path) -> Option<Node> {
        self.other.and_then(|roots| self.node(roots, path))
    }

    /// Whether the snapshot before says of a path, or of a directory it is in, that it is not kept.
    pub(crate) fn leaves_out(&mut self, path: &Path) -> bool {
        let last = self.last.and_then(|roots| self.furthest(roots, path));
        matches!(last, Some((Node::Unkept(..), _)))
    }

    /// What a snapshot keeps at a path; nothing as well if a part of it is gone.
    fn node(&mut self, roots: &Tree, path: &Path) -> Option<Node> {
        let (node, is_there) = self.furthest(roots, path)?;
        (is_there && !matches!(node, Node::Unkept(..))).then_some(node)
    }

    /// The last of what a snapshot has on the way to a path, and whether that is at the path itself.
    fn furthest(&mut self, roots: &Tree, path: &Path) -> Option<(Node, bool)> {
        let (root, node) = roots.root_of(path)?;
        let mut node = node.clone();
        for step in path.strip_prefix(root).ok()?.components() {
            let Node::Directory { tree, .. } = node else { return Some((node, false)) };
            node = self.entry(tree, step.as_os_str())?;
        }
        Some((node, true))
    }

    fn entry(&mut self, tree: Digest, name: &OsStr) -> Option<Node> {
        if !self.trees.contains_key(&tree) {
            let read = self.objects.tree(&tree).ok()?;
            self.trees.insert(tree, read);
        }
        let Tree(entries) = self.trees.get(&tree)?;
        let at = entries.binary_search_by(|(one, _)| one.as_os_str().cmp(name)).ok()?;
        Some(entries[at].1.clone())
    }
}
