//! A directory as an object of the store: what is in it, sorted by name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::Stat;

use crate::digest::Digest;

/// What stood at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A file.
    File {
        /// Its content.
        content: Digest,
        /// Its permission bits.
        mode: u32,
        /// Its length.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// What it points to.
        target: OsString,
    },
    /// A directory.
    Directory {
        /// What was in it.
        tree: Digest,
        /// Its permission bits.
        mode: u32,
    },
    /// Something was there that is not kept; of a file there is a trace.
    Unkept(Unkept, Option<Trace>),
}

/// What is known of a file that is not kept: as long as it is the same, nobody has changed the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    size: u64,
    /// In nanoseconds.
    modified: i128,
    inode: u64,
}

impl Trace {
    pub(crate) fn of(stat: &Stat) -> Self {
        let seconds = i128::from(stat.st_mtime);
        let modified = seconds.saturating_mul(1_000_000_000).saturating_add(stat.st_mtime_nsec.into());
        Self { size: u64::try_from(stat.st_size).unwrap_or_default(), modified, inode: stat.st_ino }
    }
}

/// Why something is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unkept {
    /// The file is too large.
    Large,
    /// An ignore file names it, and it is large: build output, installed packages.
    Ignored,
    /// A repository's own directory.
    Repository,
    /// A pipe, a socket, a device.
    Special,
    /// It cannot be read.
    Unreadable,
    /// Another file system is mounted there.
    Mount,
    /// The user said that it is none of ours.
    Excluded,
    /// The working directory was not there.
    Absent,
}

impl Unkept {
    const ALL: [Self; 8] = [
        Self::Large,
        Self::Ignored,
        Self::Repository,
        Self::Special,
        Self::Unreadable,
        Self::Mount,
        Self::Excluded,
        Self::Absent,
    ];

    /// The reason in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Large => "the file is too large to be kept",
            Self::Ignored => "ignored files of this size are not kept",
            Self::Repository => "repositories are left alone",
            Self::Special => "it is not a regular file",
            Self::Unreadable => "it cannot be read",
            Self::Mount => "another file system is mounted there",
            Self::Excluded => "it does not belong to the project",
            Self::Absent => "the directory is not there",
        }
    }
}

/// What is in a directory, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree(pub(crate) Vec<(OsString, Node)>);

impl Tree {
    /// Of directories by their paths, the innermost one that a path is in.
    pub(crate) fn root_of(&self, path: &Path) -> Option<&(OsString, Node)> {
        let around = self.0.iter().filter(|(root, _)| path.starts_with(root));
        around.max_by_key(|(root, _)| root.len())
    }

    /// The tree as bytes. The same content always gives the same bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * 72);
        for (name, node) in &self.0 {
            match node {
                Node::File { content, mode, size } => {
                    bytes.push(b'f');
                    bytes.extend(mode.to_le_bytes());
                    bytes.extend(size.to_le_bytes());
                    bytes.extend(content.0);
                }
                Node::Link { target } => {
                    bytes.push(b'l');
                    push_text(&mut bytes, target);
                }
                Node::Directory { tree, mode } => {
                    bytes.push(b'd');
                    bytes.extend(mode.to_le_bytes());
                    bytes.extend(tree.0);
                }
                Node::Unkept(why, trace) => {
                    let code = Unkept::ALL.iter().position(|one| one == why).unwrap_or_default();
                    let kind = if trace.is_some() { b't' } else { b'u' };
                    bytes.extend([kind, code.to_le_bytes()[0]]);
                    if let Some(Trace { size, modified, inode }) = trace {
                        bytes.extend(size.to_le_bytes());
                        bytes.extend(modified.to_le_bytes());
                        bytes.extend(inode.to_le_bytes());
                    }
                }
            }
            push_text(&mut bytes, name);
        }
        bytes
    }

    /// Reads a tree back; nothing if the bytes are not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let mut entries = Vec::new();
        while !reader.0.is_empty() {
            let node = match reader.byte()? {
                b'f' => {
                    let (mode, size) = (reader.u32()?, reader.u64()?);
                    Node::File { content: reader.digest()?, mode, size }
                }
                b'l' => Node::Link { target: reader.text()? },
                b'd' => {
                    let mode = reader.u32()?;
                    Node::Directory { tree: reader.digest()?, mode }
                }
                kind @ (b'u' | b't') => {
                    let why = *Unkept::ALL.get(usize::from(reader.byte()?))?;
                    Node::Unkept(why, if kind == b't' { Some(reader.trace()?) } else { None })
                }
                _ => return None,
            };
            entries.push((reader.text()?, node));
        }
        Some(Self(entries))
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &OsStr) {
    let text = text.as_bytes();
    // No name or target of a file system is longer than this can say.
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    bytes.extend(length.to_le_bytes());
    bytes.extend(&text[..usize::from(length)]);
}

/// Takes values off the front of bytes.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn i128(&mut self) -> Option<i128> {
        self.take().map(i128::from_le_bytes)
    }

    fn trace(&mut self) -> Option<Trace> {
        Some(Trace { size: self.u64()?, modified: self.i128()?, inode: self.u64()? })
    }

    pub(crate) fn digest(&mut self) -> Option<Digest> {
        self.take().map(Digest)
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::from(self.take().map(u16::from_le_bytes)?);
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(text.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_survive_being_written_and_refuse_what_is_none() {
        let content = Digest::of(b"x");
        let tree = Tree(vec![
            ("a".into(), Node::File { content, mode: 0o644, size: 1 }),
            (OsString::from_vec(vec![0xff, b'b']), Node::Link { target: "../x".into() }),
            ("c".into(), Node::Directory { tree: content, mode: 0o755 }),
            ("d".into(), Node::Unkept(Unkept::Mount, None)),
            ("e".into(), Node::Unkept(Unkept::Large, Some(Trace { size: 7, modified: -1, inode: 9 }))),
        ]);
        let bytes = tree.encode();
        assert_eq!(Tree::decode(&bytes), Some(tree.clone()));
        for end in 0..bytes.len() {
            assert_ne!(Tree::decode(&bytes[..end]), Some(tree.clone()));
        }
        assert_eq!(Tree::decode(b"nonsense"), None);
    }
}
