//! A snapshot laid out somewhere else.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tiller_protocol::id::SnapshotId;

use crate::tree::{Node, Tree};
use crate::{SnapshotError, Store};

impl Store {
    /// Writes what a snapshot holds of one of its directories to another directory, which must not exist yet.
    ///
    /// # Errors
    /// When the snapshot is not there or not of that directory, or the copy cannot be written.
    pub fn lay_out(&mut self, snapshot: &SnapshotId, root: &Path, into: &Path) -> Result<(), SnapshotError> {
        let Tree(roots) = self.roots(snapshot)?;
        let found = roots.into_iter().find(|(name, _)| Path::new(name) == root);
        let (_, node) = found.ok_or_else(|| SnapshotError::Gone(snapshot.to_string()))?;
        self.lay_out_node(&node, into)
    }

    fn lay_out_node(&mut self, node: &Node, at: &Path) -> Result<(), SnapshotError> {
        match node {
            Node::File { content, mode, .. } => {
                fs_err::write(at, self.read(content)?)?;
                fs_err::set_permissions(at, PermissionsExt::from_mode(*mode))?;
            }
            Node::Link { target } => symlink(target, at)?,
            Node::Directory { tree, mode } => {
                fs_err::create_dir(at)?;
                let Tree(entries) = self.objects.tree(tree)?;
                for (name, node) in &entries {
                    self.lay_out_node(node, &at.join(name))?;
                }
                fs_err::set_permissions(at, PermissionsExt::from_mode(*mode))?;
            }
            Node::Unkept(..) => {}
        }
        Ok(())
    }
}
