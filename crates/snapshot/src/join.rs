//! One snapshot out of several: working directories come and go during a session, and each snapshot is of those there were.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tiller_protocol::id::SnapshotId;

use crate::SnapshotError;
use crate::store::Store;
use crate::tree::{Node, Tree, Unkept};

/// What is known not to be there.
const ABSENT: Node = Node::Unkept(Unkept::Absent, None);
/// Permission bits of a directory of which it is known only that it was there.
const MADE: u32 = 0o755;

impl Store {
    /// A snapshot of all directories that these are of: each as the first of them that looked at it found it. Nothing if
    /// there is none. The first one has to be there; later ones may be gone.
    ///
    /// # Errors
    /// When the first one is not there, or the store cannot be used.
    pub fn join(&mut self, snapshots: &[SnapshotId]) -> Result<Option<SnapshotId>, SnapshotError> {
        let Some((first, later)) = snapshots.split_first() else { return Ok(None) };
        let mut joined = self.marked_roots(first)?;
        let mut is_another = false;
        let mut before = first;
        for one in later.iter().filter(|one| *one != std::mem::replace(&mut before, one)) {
            let Tree(roots) = match self.marked_roots(one) {
                Ok(roots) => roots,
                Err(SnapshotError::Gone(_)) => continue,
                Err(error) => return Err(error),
            };
            for (root, node) in roots {
                is_another |= self.add_root(&mut joined, root, node)?;
            }
        }
        if !is_another {
            return Ok(Some(first.clone()));
        }
        joined.0.sort_by(|(one, _), (other, _)| one.cmp(other));
        let id = self.objects.put_tree(&joined)?;
        self.objects.flush()?;
        Ok(Some(SnapshotId(id.to_string())))
    }

    /// Adds a directory unless it is known. What is known of directories inside of it is earlier and stays: in it, or
    /// beside it where it tells nothing of their place.
    fn add_root(&mut self, joined: &mut Tree, root: OsString, mut node: Node) -> Result<bool, SnapshotError> {
        let path = PathBuf::from(&root);
        for (known, was) in joined.0.iter().filter(|(known, _)| path.starts_with(known)) {
            if self.tells_of(was, &steps_to(&path, known))? {
                return Ok(false);
            }
        }
        let is_inside = |known: &OsString| Path::new(known).starts_with(&path) && *known != root;
        let (inside, mut others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut joined.0).into_iter().partition(|(known, _)| is_inside(known));
        for (inner, was) in inside {
            match self.grafted(&node, &steps_to(Path::new(&inner), &root), &was)? {
                Some(whole) => node = whole,
                None => others.push((inner, was)),
            }
            self.objects.flush()?;
        }
        others.push((root, node));
        joined.0 = others;
        Ok(true)
    }

    /// Whether a snapshot of a directory tells what is at a place in it, be it nothing.
    fn tells_of(&mut self, node: &Node, steps: &[OsString]) -> Result<bool, SnapshotError> {
        let (Node::Directory { tree, .. }, Some((step, rest))) = (node, steps.split_first()) else {
            return Ok(!matches!(node, Node::Unkept(why, _) if *why != Unkept::Absent));
        };
        let tree = self.objects.tree(tree)?;
        match tree.0.binary_search_by(|(name, _)| name.cmp(step)) {
            Ok(at) => self.tells_of(&tree.0[at].1, rest),
            Err(_) => Ok(true),
        }
    }

    /// A directory with something else at a place in it, which is made if it was not there; nothing if it is inside of
    /// what is not kept.
    fn grafted(
        &mut self,
        node: &Node,
        steps: &[OsString],
        scion: &Node,
    ) -> Result<Option<Node>, SnapshotError> {
        let Some((step, rest)) = steps.split_first() else { return Ok(Some(scion.clone())) };
        let (mut tree, mode) = match node {
            Node::Directory { tree, mode } => (self.objects.tree(tree)?, *mode),
            Node::Unkept(why, _) if *why != Unkept::Absent => return Ok(None),
            _ if *scion == ABSENT => return Ok(Some(node.clone())),
            _ => (Tree::default(), MADE),
        };
        let at = tree.0.binary_search_by(|(name, _)| name.cmp(step));
        let was = at.map_or(ABSENT, |at| tree.0[at].1.clone());
        let Some(put) = self.grafted(&was, rest, scion)? else { return Ok(None) };
        match (at, put) {
            (Ok(at), ABSENT) => drop(tree.0.remove(at)),
            (Err(_), ABSENT) => {}
            (Ok(at), put) => tree.0[at].1 = put,
            (Err(at), put) => tree.0.insert(at, (step.clone(), put)),
        }
        Ok(Some(Node::Directory { tree: self.objects.put_tree(&tree)?, mode }))
    }
}

fn steps_to(path: &Path, root: &OsString) -> Vec<OsString> {
    path.strip_prefix(root).unwrap_or(Path::new("")).iter().map(OsString::from).collect()
}
