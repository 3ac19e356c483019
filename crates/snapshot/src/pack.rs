//! Files that hold objects: one for each snapshot that had something new, written whole or not at all.
//!
//! A pack is a magic word, the objects one after the other, and an index of them with its own checksum, so that a
//! damaged pack is noticed and costs no other.

use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::tree::Reader;

const MAGIC: &[u8; 8] = b"tlpack01";
/// Digest, offset and length of an object.
const ROW: usize = Digest::LENGTH + 16;
/// Number of rows, and their checksum.
const TRAILER: usize = 8 + Digest::LENGTH;

/// Where an object is in its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A pack that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    file: fs_err::File,
    temporary: PathBuf,
    buffer: Vec<u8>,
    offset: u64,
    rows: Vec<(Digest, Place)>,
}

impl Writer {
    pub(crate) fn new(temporary: PathBuf) -> std::io::Result<Self> {
        let mut options = fs_err::OpenOptions::new();
        fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.create_new(true).write(true).open(&temporary)?;
        let offset = MAGIC.len() as u64;
        Ok(Self { file, temporary, buffer: MAGIC.to_vec(), offset, rows: Vec::new() })
    }

    pub(crate) fn push(&mut self, digest: Digest, bytes: &[u8]) -> std::io::Result<Place> {
        let place = Place { offset: self.offset, length: bytes.len() as u64 };
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() > 1 << 20 {
            self.file.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        self.offset += place.length;
        self.rows.push((digest, place));
        Ok(place)
    }

    /// Bytes so far.
    pub(crate) fn length(&self) -> u64 {
        self.offset
    }

    /// Makes the pack durable under its name; nothing of it is left where that fails.
    pub(crate) fn finish(mut self, path: &Path) -> std::io::Result<()> {
        let written = self.write_out(path);
        if written.is_err() {
            self.discard();
        }
        written
    }

    fn write_out(&mut self, path: &Path) -> std::io::Result<()> {
        let mut index = Vec::with_capacity(self.rows.len() * ROW);
        for (digest, place) in &self.rows {
            index.extend(digest.0);
            index.extend(place.offset.to_le_bytes());
            index.extend(place.length.to_le_bytes());
        }
        let count = (self.rows.len() as u64).to_le_bytes();
        let sum = Digest::of(&[index.as_slice(), &count].concat());
        self.buffer.extend(index);
        self.buffer.extend(count);
        self.buffer.extend(sum.0);
        self.file.write_all(&self.buffer)?;
        self.file.sync_data()?;
        fs_err::rename(&self.temporary, path)
    }

    /// Forgets the pack.
    pub(crate) fn discard(self) {
        // What cannot be removed now is removed when garbage is collected.
        let _ = fs_err::remove_file(&self.temporary);
    }
}

/// What a pack holds; nothing if it is damaged.
pub(crate) fn index(path: &Path) -> std::io::Result<Option<Vec<(Digest, Place)>>> {
    let mut file = fs_err::File::open(path)?;
    let length = file.metadata()?.len();
    let Some(at) = length.checked_sub(TRAILER as u64) else { return Ok(None) };
    let mut trailer = [0; TRAILER];
    file.file().read_exact_at(&mut trailer, at)?;
    let Some(count) = Reader(&trailer).u64() else { return Ok(None) };
    let start = count.checked_mul(ROW as u64).and_then(|bytes| at.checked_sub(bytes));
    let Some(start) = start else { return Ok(None) };
    file.seek(SeekFrom::Start(start))?;
    let mut rows = Vec::new();
    (&mut file).take(at - start + 8).read_to_end(&mut rows)?;
    if Digest::of(&rows).0 != trailer[8..] {
        return Ok(None);
    }
    let mut reader = Reader(&rows[..rows.len().saturating_sub(8)]);
    let mut found = Vec::new();
    while let (Some(digest), Some(offset), Some(length)) = (reader.digest(), reader.u64(), reader.u64()) {
        found.push((digest, Place { offset, length }));
    }
    Ok(Some(found))
}

/// Reads an object; nothing if it is damaged.
pub(crate) fn read(file: &fs_err::File, digest: Digest, place: Place) -> std::io::Result<Option<Vec<u8>>> {
    let Ok(length) = usize::try_from(place.length) else { return Ok(None) };
    let mut bytes = vec![0; length];
    match file.file().read_exact_at(&mut bytes, place.offset) {
        Ok(()) => Ok((Digest::of(&bytes) == digest).then_some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
