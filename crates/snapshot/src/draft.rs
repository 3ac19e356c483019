//! Looking at a directory: what is there, and which files have to be read to know what they hold.
//!
//! Every step goes from an open directory to a name in it and follows no link, so that nobody who swaps a directory for
//! a link can lead it out.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::cache::Cache;
use crate::digest::Digest;
use crate::earlier::Earlier;
use crate::ignored::{IGNORE_FILE, IgnoreFiles, MARKERS, Rules, is_package_directory, is_repository};
use crate::limits::Limits;
use crate::needed::Needed;
use crate::tree::{Node, Trace, Tree, Unkept};
use crate::watch::{Known, Watch};
use crate::{SnapshotError, hold};

/// What is at a path, before its content is known.
pub(crate) enum Draft {
    File {
        stat: Stat,
        known: Option<Digest>,
    },
    Link {
        target: OsString,
    },
    Directory(DraftDirectory),
    Unkept(Unkept, Option<Trace>),
    /// As it was in the last snapshot.
    Kept(Node),
}

pub(crate) struct DraftDirectory {
    pub(crate) path: PathBuf,
    pub(crate) stat: Stat,
    /// Files and directories in it and below.
    pub(crate) seen: usize,
    /// A file in it may be changed under another name.
    pub(crate) doubtful: bool,
    pub(crate) entries: Vec<(OsString, Draft)>,
    /// Whether a file below has to be read.
    pub(crate) unread: bool,
    /// Only a part of it is kept, which depends on earlier snapshots: what was found need not hold the next time.
    pub(crate) partial: bool,
}

/// Opens a directory below an open one, but no link to one.
pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    openat(
        parent,
        name,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// What the file system says of a name, but not of what a link points to.
pub(crate) fn look(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Stat> {
    statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub(crate) fn mode(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

pub(crate) fn link_target(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OsString> {
    let target = readlinkat(parent, name, Vec::new())?;
    Ok(OsStr::from_bytes(target.as_bytes()).to_owned())
}

/// Whether an empty directory counts as not there.
pub(crate) type PassedOver = dyn Fn(&Path) -> bool + Send + Sync;

/// One walk over the roots of a snapshot.
pub(crate) struct Walk<'a> {
    pub(crate) limits: Limits,
    pub(crate) excluded: &'a [PathBuf],
    pub(crate) passed_over: &'a PassedOver,
    pub(crate) cache: &'a Cache,
    pub(crate) earlier: Earlier<'a>,
    /// What is kept although an ignore file names it.
    pub(crate) needed: &'a Needed,
    pub(crate) ignore_files: &'a mut IgnoreFiles,
    pub(crate) watch: Option<&'a mut Watch>,
    /// What was in directories whose own entries are as they were.
    pub(crate) trees: HashMap<PathBuf, Tree>,
    pub(crate) seen: usize,
    /// Of those seen, what was not known.
    pub(crate) looked: usize,
}

/// What is known of the place where the walk is.
struct Place<'a> {
    path: &'a Path,
    rules: &'a Rules,
    kept: Kept,
    device: u64,
}

/// How much of a directory is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// What no rule leaves out.
    ByRules,
    /// Everything: it is ignored, and small enough to be kept nevertheless.
    Small,
    /// What earlier snapshots keep or a call names, and nothing else that is new: it is ignored by now, or has grown.
    /// Otherwise what a session had kept could not be brought back as soon as something named its directory.
    Held,
}

impl Walk<'_> {
    pub(crate) fn root(&mut self, root: &Path, directory: &OwnedFd) -> Result<DraftDirectory, SnapshotError> {
        let stat = rustix::fs::fstat(directory).map_err(std::io::Error::from)?;
        let (rules, files) = Rules::above(root);
        if let Some(watch) = &mut self.watch {
            files.into_iter().for_each(|file| watch.rely_on(file));
        }
        let place = Place { path: root, rules: &rules, kept: Kept::ByRules, device: stat.st_dev };
        self.directory(directory, &stat, &place).map_err(|error| match error {
            SnapshotError::TooLarge { what, .. } => {
                SnapshotError::TooLarge { what, root: root.display().to_string() }
            }
            other => other,
        })
    }

    fn directory(
        &mut self,
        directory: &OwnedFd,
        stat: &Stat,
        place: &Place<'_>,
    ) -> Result<DraftDirectory, SnapshotError> {
        let before = self.seen;
        let known = self.known_entries(place.path, stat);
        if known.is_none()
            && let Some(watch) = &mut self.watch
        {
            watch.enter(directory, place.path);
        }
        let names = match &known {
            Some(Tree(entries)) => entries.iter().map(|(name, _)| name.clone()).collect(),
            None => names(directory)?,
        };
        let mut known = known.map(|Tree(entries)| entries.into_iter());
        let own = self.own_rules(fd(directory), &names, place);
        let place = Place { rules: own.as_ref().unwrap_or(place.rules), ..*place };
        let mut draft = DraftDirectory {
            path: place.path.to_owned(),
            stat: *stat,
            seen: 0,
            doubtful: false,
            entries: Vec::with_capacity(names.len()),
            unread: false,
            partial: place.kept == Kept::Held,
        };
        for name in names {
            if place.kept != Kept::Held {
                self.count()?;
            }
            let known = known.as_mut().and_then(Iterator::next).map(|(_, node)| node);
            let kept = known.filter(|node| self.is_unchanged(node, &place.path.join(&name)));
            let entry = match kept {
                Some(node) => Some(self.kept(node, &place.path.join(&name))),
                None => self.entry(fd(directory), &name, &place)?,
            };
            let Some(entry) = entry else { continue };
            // However much there is that nobody keeps, it is no reason to keep nothing.
            if place.kept == Kept::Held && !matches!(entry, Draft::Unkept(..)) {
                self.count()?;
            }
            match &entry {
                Draft::File { known, stat } => {
                    draft.unread |= known.is_none();
                    draft.doubtful |= stat.st_nlink > 1;
                }
                Draft::Directory(directory) => draft.unread |= directory.unread,
                Draft::Link { .. } | Draft::Unkept(..) | Draft::Kept(_) => {}
            }
            draft.entries.push((name, entry));
        }
        draft.seen = self.seen - before;
        Ok(draft)
    }

    /// The entries of a directory in which nothing but directories has changed.
    fn known_entries(&mut self, path: &Path, stat: &Stat) -> Option<Tree> {
        let watch = self.watch.as_deref()?;
        let Known::Entries(_) = watch.known(path, stat) else { return None };
        let tree = self.trees.remove(path)?;
        // One that was passed over may have become something.
        let lists = |name: &OsStr| tree.0.iter().any(|(listed, _)| listed == name);
        watch.changed_in(path).all(lists).then_some(tree)
    }

    fn is_unchanged(&self, node: &Node, path: &Path) -> bool {
        let Some(watch) = &self.watch else { return !matches!(node, Node::Directory { .. }) };
        match node {
            Node::Directory { .. } => !watch.concerns(path),
            Node::Unkept(..) => !watch.has_heard_of(path),
            _ => true,
        }
    }

    fn kept(&mut self, node: Node, path: &Path) -> Draft {
        if let Some(watch) = &self.watch
            && matches!(node, Node::Directory { .. })
        {
            self.seen += watch.seen_below(path);
        }
        Draft::Kept(node)
    }

    fn count(&mut self) -> Result<(), SnapshotError> {
        self.seen += 1;
        if self.seen > self.limits.entries {
            let what = format!("{} files", self.limits.entries);
            return Err(SnapshotError::TooLarge { what, root: String::new() });
        }
        Ok(())
    }

    /// The rules that count here, if this directory adds some.
    fn own_rules(&mut self, fd: BorrowedFd<'_>, names: &[OsString], place: &Place<'_>) -> Option<Rules> {
        if place.kept != Kept::ByRules {
            return None;
        }
        let mut rules: Option<Rules> = None;
        let exclude = names.iter().any(|name| name == ".git").then(|| place.path.join(".git/info/exclude"));
        if let (Some(watch), Some(exclude)) = (&mut self.watch, &exclude) {
            watch.rely_on(exclude.clone());
        }
        let ignore = names.iter().any(|name| name == IGNORE_FILE).then(|| place.path.join(IGNORE_FILE));
        for file in exclude.into_iter().chain(ignore) {
            let relative = file.strip_prefix(place.path).unwrap_or(&file).as_os_str();
            if let Ok(stat) = look(fd, relative) {
                let read = self.ignore_files.read(place.path, &file, &stat);
                rules = Some(rules.as_ref().unwrap_or(place.rules).and(read));
            }
        }
        rules
    }

    fn entry(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        place: &Place<'_>,
    ) -> Result<Option<Draft>, SnapshotError> {
        self.looked += 1;
        let stat = match look(parent, name) {
            Ok(stat) => stat,
            // It was removed meanwhile.
            Err(Errno::NOENT) => return Ok(None),
            Err(_) => return Ok(Some(Draft::Unkept(Unkept::Unreadable, None))),
        };
        let path = place.path.join(name);
        if self.excluded.contains(&path) {
            return Ok(Some(Draft::Unkept(Unkept::Excluded, None)));
        }
        if is_repository(name) {
            return Ok(Some(Draft::Unkept(Unkept::Repository, None)));
        }
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Some(self.file(stat, &path, place)),
            FileType::Symlink
                if place.kept == Kept::Held && !self.needed.contains(&path) && !self.earlier.holds(&path) =>
            {
                Some(Draft::Unkept(Unkept::Ignored, None))
            }
            FileType::Symlink => match link_target(parent, name) {
                Ok(target) => Some(Draft::Link { target }),
                Err(_) => None,
            },
            FileType::Directory => match self.below(parent, name, &stat, &path, place)? {
                Draft::Directory(draft) if draft.entries.is_empty() && (self.passed_over)(&path) => None,
                draft => Some(draft),
            },
            _ => Some(Draft::Unkept(Unkept::Special, None)),
        })
    }

    fn file(&mut self, stat: Stat, path: &Path, place: &Place<'_>) -> Draft {
        let (size, limit) = (size(&stat), self.limits.ignored_file);
        if size > self.limits.file {
            return Draft::Unkept(Unkept::Large, Some(Trace::of(&stat)));
        }
        let can_be_left_out = match place.kept {
            Kept::ByRules => size > limit && place.rules.ignore(path, false),
            Kept::Small => false,
            Kept::Held => true,
        };
        let is_needed = self.needed.contains(path);
        if can_be_left_out && !is_needed && !self.earlier.holds_file(path, size, limit) {
            // Whole directories of build output would be written anew whenever one file in them changes.
            let trace = (place.kept != Kept::Held).then(|| Trace::of(&stat));
            return Draft::Unkept(Unkept::Ignored, trace);
        }
        let known = self.cache.get(&stat).filter(|digest| self.earlier.has(digest));
        Draft::File { stat, known }
    }

    fn below(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        stat: &Stat,
        path: &Path,
        place: &Place<'_>,
    ) -> Result<Draft, SnapshotError> {
        if stat.st_dev != place.device {
            return Ok(Draft::Unkept(Unkept::Mount, None));
        }
        if let Some(Known::All(memo)) = self.watch.as_ref().map(|watch| watch.known(path, stat))
            && self.earlier.has(&memo.tree)
        {
            self.seen += memo.seen;
            return Ok(Draft::Kept(Node::Directory { tree: memo.tree, mode: mode(stat) }));
        }
        let Ok(directory) = open_directory(parent, name) else {
            return Ok(Draft::Unkept(Unkept::Unreadable, None));
        };
        let Some(kept) = self.kept_below(&directory, name, path, place) else {
            return Ok(Draft::Unkept(Unkept::Ignored, None));
        };
        match self.directory(&directory, stat, &Place { path, kept, ..*place }) {
            Ok(draft) => Ok(Draft::Directory(draft)),
            Err(SnapshotError::Io(_)) => Ok(Draft::Unkept(Unkept::Unreadable, None)),
            Err(error) => Err(error),
        }
    }

    /// How much of a directory is kept; nothing if none of it is.
    fn kept_below(
        &mut self,
        directory: &OwnedFd,
        name: &OsStr,
        path: &Path,
        place: &Place<'_>,
    ) -> Option<Kept> {
        let can_be_made_anew = || {
            is_package_directory(name)
                || place.rules.ignore(path, true)
                || MARKERS.iter().any(|marker| look(fd(directory), marker.as_ref()).is_ok())
        };
        let is_left_out = match place.kept {
            Kept::Small => return Some(Kept::Small),
            Kept::ByRules if !can_be_made_anew() => return Some(Kept::ByRules),
            Kept::ByRules => !self.is_small(directory, path),
            Kept::Held => true,
        };
        if !is_left_out {
            return Some(Kept::Small);
        }
        // What was known of it while it was small need not be so any more when it is small again. Below what is only held
        // there is nothing to forget.
        if place.kept == Kept::ByRules
            && let Some(watch) = &mut self.watch
        {
            watch.forget_below(path);
        }
        (self.needed.is_below(path) || self.earlier.holds_directory(path)).then_some(Kept::Held)
    }

    /// Whether an ignored directory is small enough to be kept; looks at no more than that takes. It can become small
    /// only by a change of something that was looked at, which is why that is watched.
    fn is_small(&mut self, directory: &OwnedFd, path: &Path) -> bool {
        let (entries, bytes) = (self.limits.ignored_entries, self.limits.ignored_bytes);
        Room { entries, bytes, watch: self.watch.as_deref_mut() }.fits(directory, path)
    }
}

/// What is left for an ignored directory.
struct Room<'a> {
    entries: usize,
    bytes: u64,
    watch: Option<&'a mut Watch>,
}

impl Room<'_> {
    fn fits(&mut self, directory: &OwnedFd, path: &Path) -> bool {
        if let Some(watch) = &mut self.watch {
            watch.enter(directory, path);
        }
        let Ok(names) = names(directory) else { return false };
        for name in names {
            let Ok(stat) = look(fd(directory), &name) else { continue };
            let Some(entries) = self.entries.checked_sub(1) else { return false };
            self.entries = entries;
            let fits = match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => match self.bytes.checked_sub(size(&stat)) {
                    Some(bytes) => {
                        self.bytes = bytes;
                        true
                    }
                    None => false,
                },
                FileType::Directory => {
                    let path = path.join(&name);
                    open_directory(fd(directory), &name).is_ok_and(|below| self.fits(&below, &path))
                }
                _ => true,
            };
            if !fits {
                return false;
            }
        }
        true
    }
}

pub(crate) fn fd(directory: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(directory)
}

/// The names in a directory, sorted.
fn names(directory: &OwnedFd) -> std::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Opens a root; nothing if there is no such directory. Links on the way were resolved when it became a root: one that
/// stands in its place now leads elsewhere.
pub(crate) fn open_root(root: &Path) -> Result<Option<OwnedFd>, SnapshotError> {
    match open_directory(rustix::fs::CWD, root.as_os_str()) {
        Ok(directory) => Ok(Some(directory)),
        Err(Errno::LOOP | Errno::NOTDIR) if root.is_symlink() => {
            Err(SnapshotError::Linked(root.display().to_string()))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(hold::named(root, errno).into()),
    }
}
