//! What is mounted, in Tiller's view of the file system.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::proc;

const TABLE: &str = "/proc/self/mountinfo";

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
    pub(crate) writable: bool,
    /// The kind of file system.
    pub(crate) kind: Vec<u8>,
}

/// Notices that something was mounted or unmounted.
#[derive(Debug)]
pub(crate) struct Watch(fs_err::File);

impl Watch {
    /// From now on, with the table of what is mounted now.
    fn begin() -> io::Result<(Self, Vec<u8>)> {
        let mut file = fs_err::File::open(TABLE)?;
        let table = proc::read_open(&mut file)?;
        Ok((Self(file), table))
    }

    /// From now on, if the table is this one now.
    pub(crate) fn from(expected: &[u8]) -> io::Result<Option<Self>> {
        let (watch, table) = Self::begin()?;
        Ok((table == expected).then_some(watch))
    }

    /// Whether anything has changed since. If unknown, assume it has.
    pub(crate) fn has_changed(&self) -> bool {
        let mut waits = [PollFd::new(&self.0, PollFlags::PRI)];
        !matches!(poll(&mut waits, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }
}

/// The table of all mounts, as the kernel writes it. Writing it takes long, so it does that only when something has changed.
pub(crate) fn table() -> io::Result<Vec<u8>> {
    static LAST: Mutex<Option<(Watch, Vec<u8>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((watch, table)) = last.as_ref()
        && !watch.has_changed()
    {
        return Ok(table.clone());
    }
    let (watch, table) = Watch::begin()?;
    *last = Some((watch, table.clone()));
    Ok(table)
}

/// The mounts of a table, in the order they were made.
pub(crate) fn in_table(table: &[u8]) -> Vec<Mount> {
    table.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// Reads `id parent device root mountpoint options … - kind …`.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let at = unescape(fields.nth(4)?);
    let options = fields.next()?;
    let writable = options.split(|byte| *byte == b',').any(|option| option == b"rw");
    let kind = fields.skip_while(|field| *field != b"-").nth(1).unwrap_or_default().to_vec();
    Some(Mount { at: PathBuf::from(OsString::from_vec(at)), writable, kind })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_is_read() {
        let line = br"36 35 98:0 /mnt1 /mnt\0402 ro,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = Mount { at: PathBuf::from("/mnt 2"), writable: false, kind: b"ext3".to_vec() };
        assert_eq!(parse(line), Some(mount));
        assert_eq!(parse(b""), None);
        assert!(in_table(&table().unwrap()).iter().any(|mount| mount.at.as_os_str() == "/"));
    }

    #[test]
    fn as_long_as_nothing_is_mounted_nothing_has_changed() {
        assert!(Watch::from(b"another table").unwrap().is_none());
        // Others on this machine may mount something meanwhile.
        let unchanged = |_| Watch::from(&table().unwrap()).unwrap().is_some_and(|watch| !watch.has_changed());
        assert!((0..100).any(unchanged));
    }
}
