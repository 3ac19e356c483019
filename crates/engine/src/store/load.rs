//! Reading a log back, one entry at a time. A torn last line is left out; a damaged one in the middle loses only
//! itself.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::id::CallId;
use tiller_protocol::line;

use super::proof::Proof;
use super::record::{self, Extent, Read, Record};
use super::{StoreError, packed};

/// Bytes that are read at once.
const BUFFER: usize = 128 * 1024;
/// Bytes after which a place is remembered from which reading can begin.
const MARK_EVERY: u64 = if cfg!(test) { 8 * 1024 } else { 256 * 1024 };

/// What was found besides entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The last line is incomplete: the writer was stopped in the middle of it.
    TornTail {
        /// Bytes that will be cut off.
        bytes: u64,
    },
    /// A line cannot be read.
    Unreadable {
        /// Its number, from 1.
        line: u64,
    },
    /// A line was changed after it was written; what it says cannot be trusted.
    Altered {
        /// Its number, from 1.
        line: u64,
    },
    /// A line stands there once more.
    Repeated {
        /// Its number, from 1.
        line: u64,
    },
    /// The log is compressed, and what follows a line cannot be unpacked.
    Undecodable {
        /// Its number, from 1; 0 if nothing can be unpacked.
        line: u64,
    },
    /// A line does not fit the one before it: one between them is missing, or both were written anew.
    BrokenChain {
        /// Its number, from 1.
        line: u64,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TornTail { bytes } => {
                write!(f, "the last record was incomplete ({bytes} bytes) and was cut off")
            }
            Self::Unreadable { line } => write!(f, "line {line} is damaged and was skipped"),
            Self::Altered { line } => {
                write!(f, "line {line} was changed after it was written and was skipped")
            }
            Self::Repeated { line } => write!(f, "line {line} repeats an earlier one and was skipped"),
            Self::Undecodable { line } => {
                write!(f, "what follows line {line} is lost: the compressed file is damaged")
            }
            Self::BrokenChain { line } => write!(f, "line {line} does not continue the line before it"),
        }
    }
}

/// What loading tells besides the entries themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Length of the sound part of the file.
    pub length: u64,
    /// Hash that the next line continues.
    pub hash: String,
    /// Entries read.
    pub entries: u64,
    /// Entries whose hash proves that they and all before them are as they were written.
    pub proven: u64,
    /// Entries of older versions, which have no hash.
    pub unhashed: u64,
    /// Lines of other programs.
    pub foreign: u64,
    /// What was wrong.
    pub damage: Vec<Damage>,
    /// The name of the session's plan files, as the first line with one tells it.
    pub slug: Option<String>,
    /// Places from which it can be read again.
    pub(crate) marks: Vec<Mark>,
}

/// Reads a log and gives each entry to `take`, in order. Memory does not grow with the log.
///
/// # Errors
/// When the file cannot be read.
pub fn load(path: &Path, take: impl FnMut(Entry)) -> Result<Loaded, StoreError> {
    load_from(path, 0, take)
}

/// The same without what calls have returned, which is most of a log: the content of results is empty, and so are long
/// texts in their structured output.
///
/// # Errors
/// When the file cannot be read.
pub fn load_bare(path: &Path, take: impl FnMut(Entry)) -> Result<Loaded, StoreError> {
    load_from(path, u64::MAX, take)
}

/// The same with what calls have returned from an entry on.
pub(crate) fn load_from(path: &Path, whole: u64, take: impl FnMut(Entry)) -> Result<Loaded, StoreError> {
    Loading::new(&Mark::default(), whole, take).read(path)
}

/// Reads a log as a whole, but for what these calls have returned.
pub(crate) fn load_sparing(
    path: &Path,
    cleared: HashSet<CallId>,
    take: impl FnMut(Entry),
) -> Result<Loaded, StoreError> {
    Loading { cleared, ..Loading::new(&Mark::default(), 0, take) }.read(path)
}

/// Reads a log from a place on that an earlier reading has reached.
pub(crate) fn load_after(path: &Path, mark: &Mark, take: impl FnMut(Entry)) -> Result<Loaded, StoreError> {
    Loading::new(mark, 0, take).read(path)
}

/// A place in a log up to which it was read and proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of the last entry before it.
    pub(crate) seq: u64,
    /// Bytes before it.
    pub(crate) offset: u64,
    /// Lines before it.
    pub(super) lines: u64,
    /// The hash that the next line continues.
    pub(super) hash: String,
}

/// How sure it is that the hash at hand is the one of the line before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// It was proven by the lines before it.
    Proven,
    /// The line before was taken without proof.
    Unproven,
    /// The line before could not be read.
    Lost,
}

/// A line that does not fit the one before it. The line behind it tells which of the two was changed.
struct Doubt {
    record: Box<Record<'static>>,
    number: u64,
    /// The hash it should have.
    expected: String,
    /// The line before it was proven.
    alone: bool,
}

struct Loading<T> {
    loaded: Loaded,
    take: T,
    /// The first entry that is read with what calls have returned.
    whole: u64,
    /// Calls of which it is not wanted in any case.
    cleared: HashSet<CallId>,
    /// Lines so far.
    lines: u64,
    /// The number of the last entry.
    seq: u64,
    link: Link,
    doubt: Option<Doubt>,
    /// Follows the chain meanwhile, as long as nothing is wrong.
    proof: Option<Proof>,
}

impl<T: FnMut(Entry)> Loading<T> {
    fn new(mark: &Mark, whole: u64, take: T) -> Self {
        let Mark { seq, offset, lines, hash } = mark.clone();
        let loaded = Loaded { length: offset, hash, ..Loaded::default() };
        let cleared = HashSet::new();
        Self { loaded, take, whole, cleared, lines, seq, link: Link::Proven, doubt: None, proof: None }
    }

    fn read(mut self, path: &Path) -> Result<Loaded, StoreError> {
        if self.loaded.length == 0 {
            self.proof = Proof::begin(path);
        }
        let mut reader = BufReader::with_capacity(BUFFER, opened_at(path, self.loaded.length)?);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let bytes = match reader.read_until(b'\n', &mut buffer) {
                Ok(0) => return Ok(self.finish()),
                Ok(bytes) => bytes as u64,
                Err(error) if packed::is_damage(path, &error) => {
                    let line = self.lines;
                    let mut loaded = self.finish();
                    loaded.damage.push(Damage::Undecodable { line });
                    return Ok(loaded);
                }
                Err(error) => return Err(error.into()),
            };
            let Some(text) = buffer.strip_suffix(b"\n") else {
                let mut loaded = self.finish();
                loaded.damage.push(Damage::TornTail { bytes });
                return Ok(loaded);
            };
            self.mark();
            self.lines += 1;
            self.loaded.length += bytes;
            self.line(text, self.lines);
        }
    }

    /// Remembers the place, if it is some way from the last one and nothing about it is doubtful.
    fn mark(&mut self) {
        let offset = self.loaded.length;
        let last = self.loaded.marks.last().map_or(0, |mark| mark.offset);
        if offset - last >= MARK_EVERY && self.doubt.is_none() && self.link == Link::Proven {
            let (seq, lines, hash) = (self.seq, self.lines, self.loaded.hash.clone());
            self.loaded.marks.push(Mark { seq, offset, lines, hash });
        }
    }

    fn line(&mut self, text: &[u8], number: u64) {
        let is_early = self.seq.saturating_add(1) < self.whole;
        let extent = if is_early || !self.cleared.is_empty() { Extent::Bare } else { Extent::Whole };
        let mut read = record::read(text, extent);
        if let Read::Record(record) = &read
            && extent == Extent::Bare
            && self.wants_whole(&record.entry)
        {
            read = record::read(text, Extent::Whole);
        }
        let record = match read {
            Read::Foreign => {
                self.loaded.foreign += 1;
                return;
            }
            Read::Record(record) => record,
            Read::Damaged => {
                self.settle(None);
                self.damaged(text, number);
                return;
            }
        };
        self.settle(Some(&record));
        self.judge(*record, number);
    }

    /// Whether what was read bare should have been read as a whole.
    fn wants_whole(&self, entry: &Entry) -> bool {
        let Body::Result(result) = &entry.body else { return false };
        entry.seq >= self.whole && !self.cleared.contains(&result.call)
    }

    fn damaged(&mut self, text: &[u8], number: u64) {
        self.loaded.damage.push(Damage::Unreadable { line: number });
        let whole = record::salvage(text, &self.loaded.hash);
        if whole.is_empty() {
            self.link = Link::Lost;
        }
        whole.into_iter().for_each(|record| self.admit(record));
    }

    fn judge(&mut self, record: Record<'_>, number: u64) {
        if record.hash.is_none() {
            // Older versions wrote no hashes, but they did not write behind newer ones.
            if !self.loaded.hash.is_empty() {
                self.loaded.damage.push(Damage::BrokenChain { line: number });
            }
            self.link = Link::Lost;
            self.loaded.unhashed += 1;
            self.admit(record);
        } else if self.is_proven() || record.continues(&self.loaded.hash) {
            self.loaded.proven += u64::from(self.link != Link::Unproven);
            self.link = Link::Proven;
            self.admit(record);
        } else if self.link == Link::Lost && record.entry.seq > self.seq {
            if self.loaded.damage.is_empty() {
                self.loaded.damage.push(Damage::BrokenChain { line: number });
            }
            self.link = Link::Unproven;
            self.admit(record);
        } else if record.entry.seq > self.seq.saturating_add(1) {
            self.loaded.damage.push(Damage::BrokenChain { line: number });
            self.link = Link::Unproven;
            self.admit(record);
        } else {
            let expected = record.expected(&self.loaded.hash);
            let record = Box::new(record.into_owned());
            self.doubt = Some(Doubt { record, number, expected, alone: self.link == Link::Proven });
        }
    }

    /// Whether somebody else has proven that the line at hand continues the one before, and all lines so far were taken.
    fn is_proven(&mut self) -> bool {
        let was_regular = self.link == Link::Proven && self.doubt.is_none() && self.loaded.damage.is_empty();
        let end = self.loaded.length;
        self.proof = self.proof.take_if(|proof| was_regular && proof.covers(end));
        self.proof.is_some()
    }

    /// Decides about a line in doubt, given the one behind it.
    fn settle(&mut self, next: Option<&Record<'_>>) {
        let Some(Doubt { record, number, expected, alone }) = self.doubt.take() else { return };
        let stored = record.hash.as_deref().unwrap_or_default().to_owned();
        let repeats = record.entry.seq <= self.seq;
        let was_changed = match next {
            Some(next) => next.entry.seq > self.seq && next.continues(&stored) && stored != self.loaded.hash,
            None => alone && !repeats,
        };
        if next.is_some_and(|next| next.continues(&expected)) {
            // Only its hash was damaged, so nothing is lost.
            self.loaded.damage.push(Damage::BrokenChain { line: number });
            self.admit(*record);
            self.loaded.hash = expected;
        } else if was_changed {
            self.loaded.damage.push(Damage::Altered { line: number });
            self.seq = self.seq.saturating_add(1);
            self.loaded.hash = stored;
        } else if repeats {
            self.loaded.damage.push(Damage::Repeated { line: number });
        } else {
            self.loaded.damage.push(Damage::BrokenChain { line: number });
            self.link = Link::Unproven;
            self.admit(*record);
        }
    }

    fn admit(&mut self, record: Record<'_>) {
        self.loaded.slug = self.loaded.slug.take().or_else(|| told_slug(&record.open));
        self.seq = record.entry.seq;
        if let Some(hash) = &record.hash {
            self.loaded.hash.replace_range(.., hash);
        }
        self.loaded.entries += 1;
        (self.take)(record.entry);
    }

    fn finish(mut self) -> Loaded {
        self.settle(None);
        self.loaded
    }
}

fn opened_at(path: &Path, offset: u64) -> std::io::Result<Box<dyn std::io::Read>> {
    if offset == 0 {
        return packed::open(path);
    }
    let mut file = fs_err::File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    Ok(Box::new(file))
}

/// Most lines have none, which is seen without parsing them once more.
fn told_slug(open: &str) -> Option<String> {
    if open.contains("\"slug\":\"") { line::slug(&format!("{open}}}")) } else { None }
}
