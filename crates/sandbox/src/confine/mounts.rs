//! What is mounted, and which unix sockets have a path, in Tiller's view of the file system.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Access, access};
use rustix::time::Timespec;

const TABLE: &str = "/proc/self/mountinfo";

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
    pub(crate) writable: bool,
}

/// Notices that something was mounted or unmounted.
#[derive(Debug)]
pub(crate) struct Watch(fs_err::File);

impl Watch {
    /// From now on, if the table is this one now.
    pub(crate) fn from(expected: &[u8]) -> io::Result<Option<Self>> {
        let mut file = fs_err::File::open(TABLE)?;
        let mut table = Vec::new();
        file.read_to_end(&mut table)?;
        Ok((table == expected).then_some(Self(file)))
    }

    /// Whether anything has changed since. Who cannot tell has to reckon with it.
    pub(crate) fn has_changed(&self) -> bool {
        let mut waits = [PollFd::new(&self.0, PollFlags::PRI)];
        !matches!(poll(&mut waits, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }
}

/// The table of all mounts, as the kernel writes it.
pub(crate) fn table() -> io::Result<Vec<u8>> {
    fs_err::read(TABLE)
}

/// The mounts of a table, in the order they were made.
pub(crate) fn in_table(table: &[u8]) -> Vec<Mount> {
    table.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// Reads `id parent device root mountpoint options …`.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let at = unescape(fields.nth(4)?);
    let options = fields.next()?;
    let writable = options.split(|byte| *byte == b',').any(|option| option == b"rw");
    Some(Mount { at: PathBuf::from(OsString::from_vec(at)), writable })
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        text.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    text
}

/// Unix sockets with a path that the user could connect to.
pub(crate) fn sockets() -> Vec<PathBuf> {
    let table = fs_err::read("/proc/net/unix").unwrap_or_default();
    let mut sockets: Vec<PathBuf> = table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.windows(2).position(|pair| pair == b" /").map(|at| &line[at + 1..]))
        .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
        .filter(|path| is_reachable(path))
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    sockets.sort();
    sockets.dedup();
    sockets
}

fn is_reachable(path: &Path) -> bool {
    let is_socket = fs_err::metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    is_socket && access(path, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_is_read() {
        let line = br"36 35 98:0 /mnt1 /mnt\0402 ro,noatime master:1 - ext3 /dev/root rw,errors=continue";
        assert_eq!(parse(line), Some(Mount { at: PathBuf::from("/mnt 2"), writable: false }));
        assert_eq!(parse(b""), None);
        assert!(in_table(&table().unwrap()).iter().any(|mount| mount.at == Path::new("/")));
    }

    #[test]
    fn as_long_as_nothing_is_mounted_nothing_has_changed() {
        assert!(Watch::from(b"another table").unwrap().is_none());
        // Others on this machine may mount something meanwhile.
        let unchanged = |_| Watch::from(&table().unwrap()).unwrap().is_some_and(|watch| !watch.has_changed());
        assert!((0..100).any(unchanged));
    }

    #[test]
    fn sockets_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("a socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(sockets().contains(&path));
        drop(listener);
    }
}
