//! Objects by their digest, whichever pack they are in.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use tiller_protocol::env::Env;

use crate::digest::Digest;
use crate::pack::{self, Place};
use crate::tree::Tree;
use crate::{SnapshotError, hold};

/// How files that hold objects are called.
const EXTENSION: &str = "pack";
const UNFINISHED: &str = "unfinished";
/// Packs that are open at once. Every snapshot with something new is one, and a long session takes thousands of them.
const MOST_OPEN: usize = 32;

/// All objects of a store.
pub(crate) struct Objects {
    dir: PathBuf,
    env: Env,
    packs: Vec<PathBuf>,
    open: OpenPacks,
    index: HashMap<Digest, (usize, Place)>,
    /// Objects that are not yet durable, and where they will be.
    fresh: HashMap<Digest, Place>,
    writer: Option<pack::Writer>,
}

impl Objects {
    pub(crate) fn open(dir: PathBuf, env: Env) -> Result<Self, SnapshotError> {
        hold::private_dir(&dir)?;
        let mut objects = Self::empty(dir, env);
        objects.look()?;
        Ok(objects)
    }

    /// Knows of no object, so that what is put there is written anew.
    pub(crate) fn empty(dir: PathBuf, env: Env) -> Self {
        Self {
            dir,
            env,
            packs: Vec::new(),
            open: OpenPacks::default(),
            index: HashMap::new(),
            fresh: HashMap::new(),
            writer: None,
        }
    }

    /// Takes notice of packs that were not there before.
    pub(crate) fn look(&mut self) -> Result<(), SnapshotError> {
        let known: HashSet<&PathBuf> = self.packs.iter().collect();
        let mut found: Vec<PathBuf> = fs_err::read_dir(&self.dir)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
            .filter(|path| !known.contains(path))
            .collect();
        found.sort();
        for path in found {
            self.admit(path)?;
        }
        Ok(())
    }

    fn admit(&mut self, path: PathBuf) -> Result<(), SnapshotError> {
        let Some(rows) = pack::index(&path)? else {
            tracing::warn!("{} is damaged and left out", path.display());
            return Ok(());
        };
        let number = self.packs.len();
        self.packs.push(path);
        for (digest, place) in rows {
            self.index.entry(digest).or_insert((number, place));
        }
        Ok(())
    }

    pub(crate) fn packs(&self) -> &[PathBuf] {
        &self.packs
    }

    /// The objects of each pack, by the pack's number.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (Digest, usize, Place)> {
        self.index.iter().map(|(digest, (pack, place))| (*digest, *pack, *place))
    }

    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.index.contains_key(digest) || self.fresh.contains_key(digest)
    }

    /// Keeps bytes under their digest. Durable after [`Objects::flush`].
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<Digest, SnapshotError> {
        let digest = Digest::of(bytes);
        if !self.has(&digest) {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                None => self.writer.insert(pack::Writer::new(self.temporary())?),
            };
            let place = writer.push(digest, bytes)?;
            self.fresh.insert(digest, place);
        }
        Ok(digest)
    }

    pub(crate) fn put_tree(&mut self, tree: &Tree) -> Result<Digest, SnapshotError> {
        self.put(&tree.encode())
    }

    /// Bytes that were put and are not yet durable.
    pub(crate) fn added(&self) -> u64 {
        self.writer.as_ref().map_or(0, pack::Writer::length)
    }

    pub(crate) fn flush(&mut self) -> Result<(), SnapshotError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let path = self.dir.join(format!("{}.{EXTENSION}", self.env.fresh()));
        let fresh = std::mem::take(&mut self.fresh);
        writer.finish(&path)?;
        let number = self.packs.len();
        self.packs.push(path);
        self.index.extend(fresh.into_iter().map(|(digest, place)| (digest, (number, place))));
        Ok(())
    }

    /// Forgets what was put since the last flush.
    pub(crate) fn discard(&mut self) {
        self.fresh.clear();
        if let Some(writer) = self.writer.take() {
            writer.discard();
        }
    }

    pub(crate) fn get(&mut self, digest: &Digest) -> Result<Vec<u8>, SnapshotError> {
        if !self.index.contains_key(digest) {
            self.look()?;
        }
        let gone = || SnapshotError::Gone(digest.to_string());
        let (number, place) = *self.index.get(digest).ok_or_else(gone)?;
        let file = self.open.get(number, &self.packs[number])?;
        pack::read(file, *digest, place)?.ok_or_else(gone)
    }

    pub(crate) fn tree(&mut self, digest: &Digest) -> Result<Tree, SnapshotError> {
        let bytes = self.get(digest)?;
        Tree::decode(&bytes).ok_or_else(|| SnapshotError::Gone(digest.to_string()))
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.dir.join(format!("{}.{UNFINISHED}", self.env.fresh()))
    }
}

/// Packs that were read last, by their numbers; the latest comes first.
#[derive(Default)]
struct OpenPacks(VecDeque<(usize, fs_err::File)>);

impl OpenPacks {
    fn get(&mut self, number: usize, path: &Path) -> std::io::Result<&fs_err::File> {
        let known = self.0.iter().position(|(one, _)| *one == number).and_then(|at| self.0.remove(at));
        let latest = match known {
            Some(known) => known,
            None => (number, fs_err::File::open(path)?),
        };
        self.0.truncate(MOST_OPEN - 1);
        self.0.push_front(latest);
        Ok(&self.0[0].1)
    }
}

/// Whether a file was left by somebody who did not finish.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == UNFINISHED)
}
