//! Letting go of what no snapshot that is still wanted holds.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use tiller_protocol::id::SnapshotId;

use crate::SnapshotError;
use crate::digest::Digest;
use crate::hold::Hold;
use crate::objects::{Objects, is_unfinished};
use crate::pack::Place;
use crate::store::Store;
use crate::tree::{Node, Tree};

/// Packs from which on small ones are joined.
const MANY: usize = 32;
/// A pack below this length is small.
const SMALL: u64 = 1 << 20;

impl Store {
    /// Removes everything that no wanted snapshot holds, and joins small files. Returns the bytes that were freed. What is
    /// wanted is asked when nobody else can take a snapshot.
    ///
    /// # Errors
    /// [`SnapshotError::Busy`] while another process uses the store; nothing is lost when it fails half way.
    pub fn collect<E: From<SnapshotError>>(
        &mut self,
        wanted: impl FnOnce() -> Result<Vec<SnapshotId>, E>,
    ) -> Result<u64, E> {
        let alone = self.held.change(Hold::Alone);
        let freed = match alone {
            Ok(()) => wanted().and_then(|wanted| Ok(self.collect_alone(&wanted)?)),
            Err(error) => Err(error.into()),
        };
        // An attempt that fails has given up the hold there was, and others may have tidied up meanwhile.
        self.held.change(Hold::Shared)?;
        self.objects = Objects::open(self.dir.join("packs"), self.env.clone())?;
        freed
    }

    fn collect_alone(&mut self, wanted: &[SnapshotId]) -> Result<u64, SnapshotError> {
        self.objects.look()?;
        let live = self.live(wanted)?;
        let dir = self.dir.join("packs");
        let before = size_of(&dir)?;
        self.remove_unfinished(&dir);
        let mut by_pack: BTreeMap<usize, Vec<(Digest, Place)>> = BTreeMap::new();
        for (digest, pack, place) in self.objects.placed().filter(|(digest, ..)| live.contains(digest)) {
            by_pack.entry(pack).or_default().push((digest, place));
        }
        let packs = self.objects.packs().to_vec();
        let many = packs.len() > MANY;
        let mut fresh = Objects::open(dir.clone(), self.env.clone())?;
        let mut kept = Objects::empty(dir.clone(), self.env.clone());
        let mut emptied = Vec::new();
        for (number, path) in packs.into_iter().enumerate() {
            let length = fs_err::metadata(&path)?.len();
            let rows = by_pack.remove(&number).unwrap_or_default();
            let used: u64 = rows.iter().map(|(_, place)| place.length).sum();
            if used * 2 >= length && !(many && length < SMALL) {
                continue;
            }
            for (digest, _) in rows {
                match fresh.get(&digest) {
                    Ok(bytes) => drop(kept.put(&bytes)?),
                    // It is lost in any case, and must not keep everything else from being let go of.
                    Err(SnapshotError::Gone(_)) => {
                        tracing::warn!("{digest} in {} is damaged", path.display());
                    }
                    Err(error) => return Err(error),
                }
            }
            emptied.push(path);
        }
        kept.flush()?;
        for path in emptied {
            fs_err::remove_file(path)?;
        }
        self.cache.retain(|digest| live.contains(digest));
        self.save()?;
        Ok(before.saturating_sub(size_of(&dir)?))
    }

    /// Every object that one of the snapshots holds, as far as they are there.
    fn live(&mut self, wanted: &[SnapshotId]) -> Result<HashSet<Digest>, SnapshotError> {
        let mut live = HashSet::new();
        let mut trees: Vec<Digest> = wanted.iter().filter_map(|id| Digest::named(id.as_str())).collect();
        while let Some(tree) = trees.pop() {
            if !live.insert(tree) {
                continue;
            }
            let Tree(entries) = match self.objects.tree(&tree) {
                Ok(tree) => tree,
                Err(SnapshotError::Gone(_)) => continue,
                Err(error) => return Err(error),
            };
            for (_, node) in entries {
                match node {
                    Node::File { content, .. } => {
                        live.insert(content);
                    }
                    Node::Directory { tree, .. } => trees.push(tree),
                    Node::Link { .. } | Node::Unkept(..) => {}
                }
            }
        }
        Ok(live)
    }

    fn remove_unfinished(&self, dir: &PathBuf) {
        let Ok(entries) = fs_err::read_dir(dir) else { return };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_unfinished(path)) {
            // It will be tried again.
            let _ = fs_err::remove_file(path);
        }
    }
}

fn size_of(dir: &PathBuf) -> Result<u64, SnapshotError> {
    let lengths = fs_err::read_dir(dir)?.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    Ok(lengths.sum())
}
