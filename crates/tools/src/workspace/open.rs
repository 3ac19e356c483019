//! Opening files without following links, without blocking and without touching devices.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open as open_path, openat, statat};
use rustix::io::Errno;
use tiller_protocol::effect::Fingerprint;

use crate::cx::ToolCx;
use crate::fingerprint::{HASHED_UP_TO, of_content};
use crate::workspace::FileError;

/// A directory is opened to go on from it, not to be listed: search permission is enough where the system allows.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A regular file, open for reading.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: std::fs::File,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i128,
}

/// A file's whole content.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) fingerprint: Fingerprint,
}

/// What to do about directories that are missing on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parents {
    MustExist,
    Create,
}

/// Opens a resolved path that the call was permitted to read.
pub(crate) fn open_permitted(cx: &ToolCx, path: &Path) -> Result<Opened, FileError> {
    cx.permit.read(path)?;
    open(path)
}

/// Opens a resolved path for checks that come before permission; only for files the model has already seen.
pub(crate) fn open(path: &Path) -> Result<Opened, FileError> {
    let name = path.file_name().ok_or(FileError::Directory)?;
    let parent = open_parent(path, Parents::MustExist)?;
    regular(&parent, name.as_ref())?;
    // The check above keeps devices from being opened at all; the flags cover a swap since then.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = std::fs::File::from(openat(&parent, name, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileError::Linked);
    }
    let mtime_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Ok(Opened { file, size: metadata.len(), mtime_ns })
}

/// Whether a resolved path is a file or directory, in which something can be searched for; others are not opened.
pub(crate) fn searchable(path: &Path) -> Result<(), FileError> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let parent = open_parent(path, Parents::MustExist)?;
    match regular(&parent, name.as_ref()) {
        Err(FileError::Directory) => Ok(()),
        other => other,
    }
}

/// Reads a whole file of moderate size.
pub(crate) fn load(opened: Opened) -> Result<Loaded, FileError> {
    let mut bytes = Vec::new();
    opened.file.take(HASHED_UP_TO + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > HASHED_UP_TO {
        return Err(FileError::TooLarge(opened.size));
    }
    let fingerprint = of_content(&bytes);
    Ok(Loaded { bytes, fingerprint })
}

impl Opened {
    /// Modification time in milliseconds since the epoch.
    pub(crate) fn mtime_ms(&self) -> i64 {
        i64::try_from(self.mtime_ns / 1_000_000).unwrap_or(i64::MAX)
    }
}

/// Refuses everything but a regular file.
pub(super) fn regular(parent: &OwnedFd, name: &Path) -> Result<(), FileError> {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(FileError::Directory),
        FileType::Symlink => Err(FileError::Linked),
        FileType::Fifo => Err(FileError::Special("named pipe")),
        FileType::Socket => Err(FileError::Special("socket")),
        FileType::CharacterDevice | FileType::BlockDevice => Err(FileError::Special("device")),
        FileType::Unknown => Err(FileError::Special("special file")),
    }
}

/// Opens the directory of a resolved path step by step, so that no link on the way is followed.
pub(super) fn open_parent(path: &Path, parents: Parents) -> Result<OwnedFd, FileError> {
    let mut dir = open_path("/", STEP, Mode::empty())?;
    let names = path.parent().into_iter().flat_map(Path::components);
    for component in names {
        let Component::Normal(name) = component else { continue };
        dir = step(&dir, name.as_ref(), parents)?;
    }
    Ok(dir)
}

fn step(dir: &OwnedFd, name: &Path, parents: Parents) -> Result<OwnedFd, FileError> {
    match openat(dir, name, STEP, Mode::empty()) {
        Err(Errno::NOENT) if parents == Parents::Create => {
            match mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => Ok(openat(dir, name, STEP, Mode::empty())?),
                Err(errno) => Err(errno.into()),
            }
        }
        Err(Errno::NOTDIR) => match regular(dir, name) {
            Ok(()) => Err(FileError::Io(format!("{} is a file, not a directory", name.display()))),
            Err(error) => Err(error),
        },
        opened => Ok(opened?),
    }
}
