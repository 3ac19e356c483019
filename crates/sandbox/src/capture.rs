//! Output of a command: the beginning and the end in memory, all of it in a file when that is not enough.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;

use crate::SpoolStart;

/// Bytes of the beginning, and as many of the end, that are kept in memory.
const HALF: usize = 32 * 1024;
/// Bytes of one stream that are kept in memory; less output than that is kept whole.
pub const MEMORY_PER_STREAM: usize = 2 * HALF;
/// Bytes of one stream that are stored in a file.
pub const SPOOL_LIMIT: u64 = 64 * 1024 * 1024;
/// Stands at the end of a file that does not hold everything.
const CUT_NOTE: &[u8] = b"\n[output beyond 64 MiB was not stored]\n";

/// What a stream gave since it was last taken.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end; follows the beginning directly unless something was left out.
    pub tail: Vec<u8>,
    /// How many bytes there were in all.
    pub total: u64,
    /// The file that holds the stream from the command's start, or why there is none.
    pub file: Option<Result<PathBuf, String>>,
    /// Whether there was more than the file may hold.
    pub file_is_cut: bool,
}

impl Captured {
    /// How many bytes between beginning and end are not in memory.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }
}

/// One stream while it is read.
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    spool: Spooler,
}

impl Capture {
    pub(crate) fn new(path: PathBuf, start: SpoolStart) -> Self {
        let spool = Spooler { path, start, file: None, stored: 0, cut: false };
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, spool }
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.spool_before(bytes);
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(first);
        let last = &rest[rest.len().saturating_sub(HALF)..];
        let excess = (self.tail.len() + last.len()).saturating_sub(HALF);
        self.tail.drain(..excess);
        self.tail.extend(last);
    }

    /// Stores bytes that are about to be appended, and what came before if they are the first that do not fit.
    fn spool_before(&mut self, bytes: &[u8]) {
        if self.spool.start == SpoolStart::Never {
            return;
        }
        let fits = self.total + bytes.len() as u64 <= MEMORY_PER_STREAM as u64;
        if self.spool.start == SpoolStart::WhenFull && self.spool.file.is_none() {
            if fits {
                return;
            }
            self.store_memory();
        }
        self.spool.store(bytes);
    }

    /// Stores everything in the file from now on, beginning with what is in memory if nothing was stored before.
    pub(crate) fn store_all(&mut self) {
        if self.spool.start == SpoolStart::WhenFull && self.spool.file.is_none() {
            self.store_memory();
        }
        self.spool.start = SpoolStart::AtOnce;
    }

    fn store_memory(&mut self) {
        self.spool.store(&self.head);
        let (front, back) = self.tail.as_slices();
        self.spool.store(front);
        self.spool.store(back);
    }

    /// Gives what came since the last time.
    pub(crate) fn take(&mut self) -> Captured {
        Captured {
            head: std::mem::take(&mut self.head),
            tail: std::mem::take(&mut self.tail).into(),
            total: std::mem::take(&mut self.total),
            file: self.spool.location(),
            file_is_cut: self.spool.cut,
        }
    }

    /// The first bytes since the last time, at most `count`.
    pub(crate) fn first(&self, count: usize) -> Vec<u8> {
        self.head[..self.head.len().min(count)].to_vec()
    }

    /// The last bytes, at most `count`.
    pub(crate) fn last(&self, count: usize) -> Vec<u8> {
        let from_tail = self.tail.len().min(count);
        let from_head = (count - from_tail).min(self.head.len());
        let adjacent = self.total <= MEMORY_PER_STREAM as u64;
        let head = if adjacent { &self.head[self.head.len() - from_head..] } else { &[] };
        head.iter().chain(self.tail.range(self.tail.len() - from_tail..)).copied().collect()
    }

    /// The file in which it is stored.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.spool.location().and_then(Result::ok)
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}

/// The file behind a stream.
struct Spooler {
    path: PathBuf,
    start: SpoolStart,
    file: Option<Result<fs_err::File, String>>,
    stored: u64,
    cut: bool,
}

impl Spooler {
    fn store(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.cut {
            return;
        }
        let file = self.file.get_or_insert_with(|| create(&self.path).map_err(|error| error.to_string()));
        let Ok(open) = file else { return };
        let room = usize::try_from(SPOOL_LIMIT - self.stored).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        self.cut = kept.len() < bytes.len();
        let note = if self.cut { CUT_NOTE } else { &[] };
        let written = open.write_all(kept).and_then(|()| open.write_all(note));
        self.stored += kept.len() as u64;
        if let Err(error) = written {
            *file = Err(error.to_string());
        }
    }

    fn location(&self) -> Option<Result<PathBuf, String>> {
        let file = self.file.as_ref()?;
        Some(file.as_ref().map(|_| self.path.clone()).map_err(String::clone))
    }
}

/// Creates a file that only the user can read, and its directory.
fn create(path: &Path) -> io::Result<fs_err::File> {
    if let Some(dir) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(start: SpoolStart) -> (tempfile::TempDir, PathBuf, Capture) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/out.txt");
        let capture = Capture::new(path.clone(), start);
        (dir, path, capture)
    }

    #[test]
    fn little_output_is_kept_whole_and_makes_no_file() {
        let (_dir, path, mut capture) = capture(SpoolStart::WhenFull);
        let all: Vec<u8> = (0..MEMORY_PER_STREAM).map(|n| u8::try_from(n % 251).unwrap()).collect();
        all.chunks(1000).for_each(|chunk| capture.append(chunk));
        assert_eq!(capture.last(40_000), all[all.len() - 40_000..]);
        let taken = capture.take();
        assert_eq!([taken.head.as_slice(), &taken.tail].concat(), all);
        assert_eq!((taken.left_out(), taken.file), (0, None));
        assert!(!path.exists());
    }

    #[test]
    fn much_output_is_kept_in_a_private_file() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, path, mut capture) = capture(SpoolStart::WhenFull);
        let all: Vec<u8> = (0..200_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        all.chunks(7777).for_each(|chunk| capture.append(chunk));
        let taken = capture.take();
        assert_eq!(taken.head, all[..HALF]);
        assert_eq!(taken.tail, all[all.len() - HALF..]);
        assert_eq!(taken.left_out(), (all.len() - MEMORY_PER_STREAM) as u64);
        assert_eq!(fs_err::read(&path).unwrap(), all);
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(taken.file, Some(Ok(path)));
    }

    #[test]
    fn output_that_nobody_wants_in_full_makes_no_file() {
        let (_dir, path, mut capture) = capture(SpoolStart::Never);
        (0..3).for_each(|_| capture.append(&vec![b'x'; MEMORY_PER_STREAM]));
        assert_eq!(capture.first(3), b"xxx");
        let taken = capture.take();
        assert_eq!((taken.left_out(), taken.file), (2 * MEMORY_PER_STREAM as u64, None));
        assert!(!path.exists());
    }

    #[test]
    fn pieces_are_taken_in_turn_and_the_file_has_them_all() {
        let (_dir, path, mut capture) = capture(SpoolStart::AtOnce);
        capture.append(b"one");
        assert_eq!(capture.take().head, b"one");
        capture.append(b"two");
        assert_eq!(capture.take().head, b"two");
        assert_eq!(capture.take().total, 0);
        assert_eq!(fs_err::read(path).unwrap(), b"onetwo");
    }

    #[test]
    fn a_file_that_is_begun_late_has_everything() {
        let (_dir, path, mut capture) = capture(SpoolStart::WhenFull);
        capture.append(b"one");
        capture.store_all();
        assert_eq!(capture.take().head, b"one");
        capture.append(b"two");
        capture.store_all();
        assert_eq!(capture.take().file, Some(Ok(path.clone())));
        assert_eq!(fs_err::read(path).unwrap(), b"onetwo");
    }

    #[test]
    fn the_file_is_capped_with_a_note() {
        let (_dir, path, mut capture) = capture(SpoolStart::WhenFull);
        let chunk = vec![b'x'; 1 << 20];
        (0..70).for_each(|_| capture.append(&chunk));
        assert_eq!(fs_err::metadata(&path).unwrap().len(), SPOOL_LIMIT + CUT_NOTE.len() as u64);
        let taken = capture.take();
        assert!(taken.file_is_cut);
        assert_eq!(taken.total, 70 << 20);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told() {
        let mut capture = Capture::new(PathBuf::from("/proc/none/out.txt"), SpoolStart::AtOnce);
        capture.append(b"x");
        assert!(matches!(capture.take().file, Some(Err(_))));
    }
}
