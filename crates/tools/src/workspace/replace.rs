//! The one way to write: a complete new file put in the place of the old one.
//!
//! Owner, mode and access list carry over. A file with several hard links is not changed under its other names; the
//! caller is told, because changing a shared copy (a package store, say) would be the worse surprise.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr,
    fsetxattr, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use tiller_protocol::effect::Fingerprint;
use tiller_sandbox::vouch_for;

use crate::cx::ToolCx;
use crate::workspace::open::{Parents, open, open_parent, regular};
use crate::workspace::{FileError, load};

/// Room for one extended attribute or the list of their names.
const ATTRIBUTE_ROOM: usize = 64 * 1024;

/// What has to be at the path for the write to go ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Absent,
    Content(Fingerprint),
}

/// What a write did besides changing content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) mtime_ms: i64,
    /// Things the model should be told.
    pub(crate) remarks: Vec<String>,
}

/// A new file beside the one it will replace; removed again unless it is put in place.
struct Temporary {
    dir: OwnedFd,
    name: PathBuf,
    file: std::fs::File,
    placed: bool,
}

/// Writes a resolved path that the call was permitted to write, creating missing directories.
pub(crate) fn replace(
    cx: &ToolCx,
    path: &Path,
    bytes: &[u8],
    before: &Before,
) -> Result<Replaced, FileError> {
    cx.permit.write(path)?;
    let name = Path::new(path.file_name().ok_or(FileError::Directory)?);
    let parents = if *before == Before::Absent { Parents::Create } else { Parents::MustExist };
    let dir = open_parent(path, parents)?;
    match (regular(&dir, name), before) {
        (Ok(()), Before::Content(_)) | (Err(FileError::Missing), Before::Absent) => {}
        (Ok(()), Before::Absent) | (Err(FileError::Missing), Before::Content(_)) => {
            return Err(FileError::Changed);
        }
        (Err(error), _) => return Err(error),
    }
    // A plan is the user's alone, as its directory is.
    let private = *before != Before::Absent || cx.view.plan_file.as_deref() == Some(path);
    let mut temporary = Temporary::create(dir, cx.env.fresh().simple(), private)?;
    let remarks = if *before == Before::Absent { Vec::new() } else { temporary.inherit(name)? };
    temporary.file.write_all(bytes)?;
    temporary.file.sync_all()?;
    check_unchanged(path, before)?;
    // Told before it is there: a command that ends just now must not take it for its own work.
    vouch_for(path, bytes);
    temporary.put_in_place(name, before)?;
    let metadata = temporary.file.metadata()?;
    Ok(Replaced { mtime_ms: metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000, remarks })
}

fn check_unchanged(path: &Path, before: &Before) -> Result<(), FileError> {
    match before {
        Before::Absent => Ok(()),
        Before::Content(fingerprint) if load(open(path)?)?.fingerprint == *fingerprint => Ok(()),
        Before::Content(_) => Err(FileError::Changed),
    }
}

impl Temporary {
    fn create(dir: OwnedFd, unique: impl std::fmt::Display, private: bool) -> Result<Self, FileError> {
        let name = PathBuf::from(format!(".tiller-{unique}.tmp"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets what the user's mask allows; content of an existing one is private until its mode is known.
        let mode = if private { 0o600 } else { 0o666 };
        let file = match openat(&dir, &name, flags, Mode::from_raw_mode(mode)) {
            // The directory is there; what is missing is the way to put a file into it.
            Err(Errno::NOENT) => return Err(FileError::Io("its directory takes no new files".to_owned())),
            opened => opened?.into(),
        };
        Ok(Self { dir, name, file, placed: false })
    }

    /// Takes over owner, mode and attributes of the file to be replaced, which has to be writable in its own right.
    fn inherit(&self, name: &Path) -> Result<Vec<String>, FileError> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match openat(&self.dir, name, OFlags::WRONLY | flags, Mode::empty()) {
            Ok(_) | Err(Errno::TXTBSY) => {}
            Err(errno) => return Err(errno.into()),
        }
        let old = std::fs::File::from(openat(&self.dir, name, OFlags::RDONLY | flags, Mode::empty())?);
        let metadata = old.metadata()?;
        let mut remarks = Vec::new();
        let mut mode = metadata.mode() & 0o7777;
        let mine = self.file.metadata()?;
        let same_owner = (mine.uid(), mine.gid()) == (metadata.uid(), metadata.gid());
        let (owner, group) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
        if !same_owner && fchown(&self.file, Some(owner), Some(group)).is_err() {
            // Set-id bits must not speak for another owner than they did.
            mode &= 0o777;
            remarks.push("The file's owner or group could not be kept.".to_owned());
        }
        fchmod(&self.file, Mode::from_raw_mode(mode as rustix::fs::RawMode))?;
        copy_attributes(&old, &self.file);
        if metadata.nlink() > 1 {
            let others = metadata.nlink() - 1;
            remarks
                .push(format!("The file had {others} other hard link(s), which keep the previous content."));
        }
        Ok(remarks)
    }

    fn put_in_place(&mut self, name: &Path, before: &Before) -> Result<(), FileError> {
        let renamed = match before {
            Before::Content(_) => renameat(&self.dir, &self.name, &self.dir, name),
            Before::Absent => {
                match renameat_with(&self.dir, &self.name, &self.dir, name, RenameFlags::NOREPLACE) {
                    // Not every file system knows how to refuse an existing target.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                        renameat(&self.dir, &self.name, &self.dir, name)
                    }
                    renamed => renamed,
                }
            }
        };
        match renamed {
            Ok(()) => self.placed = true,
            Err(Errno::EXIST) => return Err(FileError::Changed),
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.placed
            && let Err(errno) = unlinkat(&self.dir, &self.name, AtFlags::empty())
        {
            tracing::warn!(%errno, file = %self.name.display(), "could not remove a temporary file");
        }
    }
}

/// Copies the user's attributes and the access list, as far as the file system has them. Capabilities are left behind,
/// as they are by any write.
fn copy_attributes(from: &std::fs::File, to: &std::fs::File) {
    let mut names = vec![0; ATTRIBUTE_ROOM];
    let Ok(length) = flistxattr(from, names.as_mut_slice()) else { return };
    let mut value = vec![0; ATTRIBUTE_ROOM];
    for name in names[..length].split(|byte| *byte == 0) {
        if !name.starts_with(b"user.") && name != b"system.posix_acl_access" {
            continue;
        }
        if let Ok(length) = fgetxattr(from, name, value.as_mut_slice())
            && let Err(errno) = fsetxattr(to, name, &value[..length], XattrFlags::empty())
        {
            tracing::debug!(%errno, "an extended attribute was not carried over");
        }
    }
}
