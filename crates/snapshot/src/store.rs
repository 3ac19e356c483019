//! The store of a project's snapshots.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, openat};
use tiller_protocol::env::Env;
use tiller_protocol::id::SnapshotId;

use crate::cache::{Cache, Stamp};
use crate::digest::Digest;
use crate::draft::{Draft, DraftDirectory, PassedOver, Walk, fd, mode, open_directory, open_root, size};
use crate::earlier::Earlier;
use crate::hold::{Held, Hold, private_dir};
use crate::ignored::IgnoreFiles;
use crate::limits::Limits;
use crate::needed::Needed;
use crate::objects::Objects;
use crate::tree::{Node, Tree, Unkept};
use crate::watch::Watch;
use crate::{Diff, Ready, SnapshotError, Unknown};

/// Files read in one snapshot from which on what was learned is written down at once.
const WORTH_SAVING: usize = 100;

/// Snapshots of a project, on disk.
pub struct Store {
    pub(crate) dir: PathBuf,
    pub(crate) env: Env,
    pub(crate) objects: Objects,
    pub(crate) cache: Cache,
    pub(crate) held: Held,
    limits: Limits,
    excluded: Vec<PathBuf>,
    passed_over: Box<PassedOver>,
    needed: Needed,
    ignore_files: IgnoreFiles,
    watch: Option<Watch>,
    /// The last snapshot that was taken.
    last: Option<SnapshotId>,
}

/// A snapshot that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Names it.
    pub id: SnapshotId,
    /// Files and directories that there are.
    pub seen: usize,
    /// Those of them that were looked at, because they may have changed.
    pub looked: usize,
    /// Files that had to be read.
    pub read: usize,
    /// Bytes that were added to the store.
    pub added: u64,
}

impl Store {
    /// Opens the store in a directory, which is created for the user alone. What lies at `excluded` paths is never
    /// looked at, nor is the store itself.
    ///
    /// # Errors
    /// When the directory cannot be used, or the store is being tidied up.
    pub fn open(dir: &Path, excluded: &[PathBuf], limits: Limits, env: &Env) -> Result<Self, SnapshotError> {
        private_dir(dir)?;
        let held = Held::take(dir, Hold::Shared)?;
        let dir = fs_err::canonicalize(dir)?;
        let resolved = |path: &PathBuf| fs_err::canonicalize(path).unwrap_or_else(|_| path.clone());
        let mut excluded: Vec<PathBuf> = excluded.iter().map(resolved).collect();
        excluded.push(dir.clone());
        Ok(Self {
            objects: Objects::open(dir.join("packs"), env.clone())?,
            cache: Cache::load(&dir.join("stat-cache")),
            held,
            dir,
            env: env.clone(),
            limits,
            excluded,
            passed_over: Box::new(|_| false),
            needed: Needed::default(),
            ignore_files: IgnoreFiles::default(),
            watch: None,
            last: None,
        })
    }

    /// Lets the kernel tell what changes, so that all snapshots but the first cost what has changed and not a walk over
    /// everything.
    #[must_use]
    pub fn watching(self) -> Self {
        Self { watch: Some(Watch::new()), ..self }
    }

    /// Looks at everything with the next snapshot: there are changes of which the kernel tells nobody.
    pub fn look_at_everything(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.forget();
        }
    }

    /// Whether the kernel tells what changes.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::hears)
    }

    /// What this snapshot, which another process has taken, keeps stays kept.
    pub fn follow(&mut self, last: &SnapshotId) {
        self.last = Some(last.clone());
    }

    /// Keeps these files from now on, also where an ignore file names them and they, or their directory, are large:
    /// somebody is about to change them by name. Other limits stay.
    pub fn need(&mut self, files: &[PathBuf]) {
        let new: Vec<&PathBuf> = files.iter().filter(|file| self.needed.add(file)).collect();
        let Some(last) = self.last.clone().and_then(|last| self.roots(&last).ok()) else { return };
        let mut earlier = Earlier::new(&mut self.objects, Some(&last), None);
        // What the kernel has told nothing of is otherwise taken from there.
        if new.into_iter().any(|file| earlier.leaves_out(file)) {
            self.look_at_everything();
        }
    }

    /// Takes the empty directories of which this is true for not there: nobody wants to see that they come and go, or
    /// have them back.
    #[must_use]
    pub fn without_empty_directories(
        self,
        passed_over: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { passed_over: Box::new(passed_over), ..self }
    }

    /// Keeps what the directories hold now. Costs a walk over them and reading what is new. What the snapshot before has
    /// kept stays kept, whatever is ignored by now.
    ///
    /// # Errors
    /// When the store cannot be written, or there is more than the limits allow.
    pub fn take(&mut self, roots: &[PathBuf]) -> Result<Taken, SnapshotError> {
        self.take_beside(&outermost(roots), None)
    }

    /// Compares what is there now with a snapshot, and keeps it: in any case what stands where that snapshot keeps
    /// something. Looks at everything.
    ///
    /// # Errors
    /// When there is no such snapshot, or the present state cannot be kept.
    pub fn compare(&mut self, to: &SnapshotId) -> Result<(SnapshotId, Diff), SnapshotError> {
        let roots = self.directories(to)?;
        self.look_at_everything();
        let now = self.take_beside(&roots, Some(to))?.id;
        let diff = self.diff(&now, to)?;
        Ok((now, diff))
    }

    /// What going a way would change, and what would get another name for that. What is kept from then on does not depend
    /// on somebody having looked.
    ///
    /// # Errors
    /// When the way cannot be found.
    pub fn preview(
        &mut self,
        make_ready: impl FnOnce(&mut Self) -> Result<Ready, SnapshotError>,
    ) -> Result<(Diff, Vec<Unknown>), SnapshotError> {
        let last = self.last.clone();
        let ready = make_ready(self);
        self.last = last;
        self.look_at_everything();
        ready.map(Ready::foreseen)
    }

    fn take_beside(&mut self, roots: &[PathBuf], other: Option<&SnapshotId>) -> Result<Taken, SnapshotError> {
        if let Some(watch) = &mut self.watch {
            watch.listen();
        }
        let taken = self.take_all(roots, other);
        match &taken {
            Ok(taken) => {
                self.last = Some(taken.id.clone());
                self.watch.iter_mut().for_each(Watch::settle);
            }
            Err(_) => {
                self.objects.discard();
                self.look_at_everything();
            }
        }
        taken
    }

    /// What changed from one snapshot to another.
    ///
    /// # Errors
    /// When one of them is not there.
    pub fn diff(&mut self, from: &SnapshotId, to: &SnapshotId) -> Result<Diff, SnapshotError> {
        let (from, to) = (self.roots(from)?, self.roots(to)?);
        Diff::between(&mut self.objects, &from, &to)
    }

    /// The content of a file in a snapshot.
    ///
    /// # Errors
    /// When it is not there any more.
    pub fn read(&mut self, content: &Digest) -> Result<Vec<u8>, SnapshotError> {
        self.objects.get(content)
    }

    /// What was at a path as text of so many bytes at most: nothing where nothing was, the target of a link. None if it is
    /// no text, or not there any more.
    pub fn text(&mut self, node: Option<&Node>, most: u64) -> Option<String> {
        match node {
            None => Some(String::new()),
            Some(Node::File { content, size, .. }) if *size <= most => {
                let text = String::from_utf8(self.read(content).ok()?).ok()?;
                (!text.contains('\0')).then_some(text)
            }
            Some(Node::Link { target }) => Some(format!("{}\n", target.to_string_lossy())),
            Some(_) => None,
        }
    }

    /// The directories a snapshot is of.
    ///
    /// # Errors
    /// When there is no such snapshot.
    pub fn directories(&mut self, snapshot: &SnapshotId) -> Result<Vec<PathBuf>, SnapshotError> {
        let Tree(roots) = self.roots(snapshot)?;
        Ok(roots.into_iter().map(|(root, _)| PathBuf::from(root)).collect())
    }

    /// Writes down what was learned about files, so that the next process need not read them again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&mut self) -> Result<(), SnapshotError> {
        let temporary = self.objects.temporary();
        Ok(self.cache.save(&self.dir.join("stat-cache"), &temporary)?)
    }

    /// The directories a snapshot is of. One that was not there is unknown, like everything that a snapshot does not hold.
    pub(crate) fn roots(&mut self, snapshot: &SnapshotId) -> Result<Tree, SnapshotError> {
        let mut roots = self.marked_roots(snapshot)?;
        roots.0.retain(|(_, node)| *node != Node::Unkept(Unkept::Absent, None));
        Ok(roots)
    }

    /// The same with those that it has looked for and that were not there.
    pub(crate) fn marked_roots(&mut self, snapshot: &SnapshotId) -> Result<Tree, SnapshotError> {
        let gone = || SnapshotError::Gone(snapshot.to_string());
        let digest = Digest::named(snapshot.as_str()).ok_or_else(gone)?;
        let mut roots = self.objects.tree(&digest).map_err(|error| match error {
            SnapshotError::Gone(_) => gone(),
            other => other,
        })?;
        // They were found in the order of paths, in which /a/b is before /a-b; names are compared as such.
        roots.0.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(roots)
    }

    fn take_all(&mut self, roots: &[PathBuf], other: Option<&SnapshotId>) -> Result<Taken, SnapshotError> {
        let now = self.env.now().as_nanosecond();
        let (mut seen, mut looked, mut read) = (0, 0, 0);
        let mut tree = Tree::default();
        // One that was let go of meanwhile holds nothing.
        let last = self.last.clone().and_then(|last| self.roots(&last).ok());
        let other = other.and_then(|other| self.roots(other).ok());
        for root in roots {
            let Some(directory) = open_root(root)? else {
                tree.0.push((root.as_os_str().to_owned(), Node::Unkept(Unkept::Absent, None)));
                continue;
            };
            let trees = self.known_trees(root);
            let mut walk = Walk {
                limits: self.limits,
                excluded: &self.excluded,
                passed_over: &self.passed_over,
                cache: &self.cache,
                earlier: Earlier::new(&mut self.objects, last.as_ref(), other.as_ref()),
                needed: &self.needed,
                ignore_files: &mut self.ignore_files,
                watch: self.watch.as_mut(),
                trees,
                seen,
                looked,
            };
            let draft = walk.root(root, &directory)?;
            (seen, looked) = (walk.seen, walk.looked);
            let node = self.keep_directory(&directory, draft, &mut Reading { now, read: &mut read, root })?;
            tree.0.push((root.as_os_str().to_owned(), node));
        }
        let id = self.objects.put_tree(&tree)?;
        let added = self.objects.added();
        self.objects.flush()?;
        if read >= WORTH_SAVING {
            self.save()?;
        }
        Ok(Taken { id: SnapshotId(id.to_string()), seen, looked, read, added })
    }

    /// What was in directories of a root in which only directories have changed. One that cannot be had is looked at.
    fn known_trees(&mut self, root: &Path) -> HashMap<PathBuf, Tree> {
        let Some(watch) = &self.watch else { return HashMap::new() };
        let partly = watch.partly_known().filter(|(path, _)| path.starts_with(root));
        let partly: Vec<(PathBuf, Digest)> = partly.map(|(path, tree)| (path.to_owned(), tree)).collect();
        partly.into_iter().filter_map(|(path, tree)| Some((path, self.objects.tree(&tree).ok()?))).collect()
    }

    fn keep_directory(
        &mut self,
        directory: &OwnedFd,
        draft: DraftDirectory,
        reading: &mut Reading<'_>,
    ) -> Result<Node, SnapshotError> {
        let mut tree = Tree(Vec::with_capacity(draft.entries.len()));
        let DraftDirectory { path, stat, seen, doubtful, entries, partial, .. } = draft;
        for (name, draft) in entries {
            if let Some(node) = self.keep(fd(directory), &name, draft, reading)? {
                tree.0.push((name, node));
            }
        }
        self.keep_tree(&tree, Noted { path, stat, seen, doubtful, partial })
    }

    fn keep_tree(&mut self, tree: &Tree, noted: Noted) -> Result<Node, SnapshotError> {
        let tree = self.objects.put_tree(tree)?;
        let mode = mode(&noted.stat);
        if let Some(watch) = &mut self.watch {
            match noted.partial {
                false => watch.found(noted.path, &noted.stat, tree, noted.seen, noted.doubtful),
                true if noted.doubtful => watch.doubt(noted.path),
                true => {}
            }
        }
        Ok(Node::Directory { tree, mode })
    }

    fn keep(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &OsString,
        draft: Draft,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Node>, SnapshotError> {
        Ok(Some(match draft {
            Draft::Link { target } => Node::Link { target },
            Draft::Unkept(why, trace) => Node::Unkept(why, trace),
            Draft::Kept(node) => node,
            Draft::File { stat, known: Some(content) } => {
                Node::File { content, mode: mode(&stat), size: size(&stat) }
            }
            Draft::File { known: None, .. } => return self.keep_file(parent, name, reading),
            Draft::Directory(draft) if !draft.unread => self.keep_known(draft)?,
            Draft::Directory(draft) => match open_directory(parent, name) {
                Ok(directory) => self.keep_directory(&directory, draft, reading)?,
                Err(_) => Node::Unkept(Unkept::Unreadable, None),
            },
        }))
    }

    /// A directory in which nothing has to be read.
    fn keep_known(&mut self, draft: DraftDirectory) -> Result<Node, SnapshotError> {
        let DraftDirectory { path, stat, seen, doubtful, entries, partial, .. } = draft;
        let mut tree = Tree(Vec::with_capacity(entries.len()));
        for (name, draft) in entries {
            let node = match draft {
                Draft::Link { target } => Node::Link { target },
                Draft::Unkept(why, trace) => Node::Unkept(why, trace),
                Draft::Kept(node) => node,
                Draft::Directory(draft) => self.keep_known(draft)?,
                Draft::File { stat, known: Some(content) } => {
                    Node::File { content, mode: mode(&stat), size: size(&stat) }
                }
                Draft::File { known: None, .. } => Node::Unkept(Unkept::Unreadable, None),
            };
            tree.0.push((name, node));
        }
        self.keep_tree(&tree, Noted { path, stat, seen, doubtful, partial })
    }

    fn keep_file(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Node>, SnapshotError> {
        if self.objects.added() > self.limits.added {
            let what = format!("{} MiB of new content", self.limits.added >> 20);
            return Err(SnapshotError::TooLarge { what, root: reading.root.display().to_string() });
        }
        let Some(found) = read_file(parent, name, self.limits.file) else {
            return Ok(Some(Node::Unkept(Unkept::Unreadable, None)));
        };
        *reading.read += 1;
        let content = self.objects.put(&found.bytes)?;
        if found.is_steady {
            self.cache.put(&found.stat, content, reading.now);
        }
        let size = found.bytes.len() as u64;
        Ok(Some(Node::File { content, mode: mode(&found.stat), size }))
    }
}

/// What the watch is told of a directory.
struct Noted {
    path: PathBuf,
    stat: rustix::fs::Stat,
    seen: usize,
    doubtful: bool,
    partial: bool,
}

/// What reading files needs to know and counts.
struct Reading<'a> {
    now: i128,
    read: &'a mut usize,
    root: &'a Path,
}

/// A file as it was read.
pub(crate) struct Found {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stat: rustix::fs::Stat,
    /// It did not change while it was read.
    is_steady: bool,
}

/// Reads a file of a directory; nothing if that is not possible, or it is too long.
pub(crate) fn read_file(parent: BorrowedFd<'_>, name: &OsStr, limit: u64) -> Option<Found> {
    // Not waiting keeps a pipe that has taken the file's place from holding us up.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = std::fs::File::from(openat(parent, name, flags, Mode::empty()).ok()?);
    let before = fstat(&file).ok()?;
    if !rustix::fs::FileType::from_raw_mode(before.st_mode).is_file() {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size(&before).min(limit)).ok()? + 1);
    (&file).take(limit + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > limit {
        return None;
    }
    let stat = fstat(&file).ok()?;
    Some(Found { bytes, stat, is_steady: Stamp::of(&before) == Stamp::of(&stat) })
}

/// The directories that no other one holds, sorted.
fn outermost(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut sorted: Vec<PathBuf> = roots.to_vec();
    sorted.sort();
    sorted.dedup();
    let mut kept: Vec<PathBuf> = Vec::new();
    for root in sorted {
        if !kept.iter().any(|outer| root.starts_with(outer)) {
            kept.push(root);
        }
    }
    kept
}
