//! One snapshot out of several: working directories come and go during a session, and each snapshot is of those there were.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tiller_protocol::id::SnapshotId;

use crate::SnapshotError;
use crate::store::Store;
use crate::tree::{Node, Tree, Unkept};

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

    /// Adds a directory unless it is known. What is known of directories inside of it is earlier and stays.
    fn add_root(&mut self, joined: &mut Tree, root: OsString, mut node: Node) -> Result<bool, SnapshotError> {
        let path = PathBuf::from(&root);
        if joined.0.iter().any(|(known, _)| path.starts_with(known)) {
            return Ok(false);
        }
        let is_inside = |known: &OsString| Path::new(known).starts_with(&path);
        for (inner, was) in joined.0.iter().filter(|(known, _)| is_inside(known)) {
            let below = Path::new(inner).strip_prefix(&path).unwrap_or(Path::new(""));
            let steps: Vec<OsString> = below.iter().map(OsString::from).collect();
            match self.grafted(&node, &steps, was)? {
                Some(whole) => node = whole,
                // What is known of the inner one has no place in it.
                None => return Ok(false),
            }
            self.objects.flush()?;
        }
        joined.0.retain(|(known, _)| !is_inside(known));
        joined.0.push((root, node));
        Ok(true)
    }

    /// A directory with something else at a place in it; nothing if there is no such place.
    fn grafted(
        &mut self,
        node: &Node,
        steps: &[OsString],
        scion: &Node,
    ) -> Result<Option<Node>, SnapshotError> {
        let Some((step, rest)) = steps.split_first() else { return Ok(Some(scion.clone())) };
        let Node::Directory { tree, mode } = node else { return Ok(None) };
        let mut tree = self.objects.tree(tree)?;
        let at = tree.0.binary_search_by(|(name, _)| name.cmp(step));
        let put = match (at, rest) {
            (_, []) => Some(scion.clone()),
            (Ok(at), rest) => self.grafted(&tree.0[at].1, rest, scion)?,
            (Err(_), _) => None,
        };
        let Some(put) = put else { return Ok(None) };
        match (at, put) {
            (Ok(at), Node::Unkept(Unkept::Absent)) => drop(tree.0.remove(at)),
            (Err(_), Node::Unkept(Unkept::Absent)) => {}
            (Ok(at), put) => tree.0[at].1 = put,
            (Err(at), put) => tree.0.insert(at, (step.clone(), put)),
        }
        Ok(Some(Node::Directory { tree: self.objects.put_tree(&tree)?, mode: *mode }))
    }
}
