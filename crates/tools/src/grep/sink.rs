//! Searching one file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use rustix::fs::{Mode, OFlags};

use super::{OutputMode, Settings};
use crate::encoding::{Encoding, decode};
use crate::fingerprint::HASHED_UP_TO;
use crate::search::Stop;
use crate::secret::Vault;

/// Characters shown of a line.
const LINE_CHARS: usize = 500;
/// Characters shown before the match in a line that is cut.
const LEAD_CHARS: usize = 100;
/// Bytes looked at to recognise binary files.
const HEAD: u64 = 8 * 1024;

/// One line of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) kind: LineKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Match,
    Context,
    /// A gap between groups of lines.
    Gap,
}

/// What one file yielded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) lines: Vec<Line>,
    pub(super) matches: u64,
    pub(super) cut: usize,
}

/// How the search of one file ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Searched(Hits),
    Binary,
    /// A line, or with `multiline` the file, does not fit into memory.
    TooLarge,
    Unreadable,
    Stopped,
}

/// Collects the matches of one file.
pub(super) struct Collector<'a> {
    matcher: &'a RegexMatcher,
    settings: Settings,
    secrets: &'a Vault,
    hits: Hits,
    binary: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, settings: Settings, secrets: &'a Vault) -> Self {
        Self { matcher, settings, secrets, hits: Hits::default(), binary: false }
    }

    pub(super) fn search(mut self, searcher: &mut Searcher, path: &Path, stop: &Stop) -> Outcome {
        let Ok(mut file) = open(path) else { return Outcome::Unreadable };
        match is_binary(&mut file) {
            Ok(true) => return Outcome::Binary,
            Ok(false) => {}
            Err(_) => return Outcome::Unreadable,
        }
        let matcher = self.matcher;
        let mut input = Interruptible { file, stop, check: Utf8Check::default() };
        let mut searched = searcher.search_reader(matcher, &mut input, &mut self);
        if searched.is_ok()
            && !self.binary
            && !input.check.holds()
            && let Some(text) = single_byte_text(input.file)
        {
            self.hits = Hits::default();
            searched = searcher.search_slice(matcher, text.as_bytes(), &mut self);
        }
        match searched {
            _ if self.binary => Outcome::Binary,
            Ok(()) => Outcome::Searched(self.hits),
            Err(_) if stop.reached() => Outcome::Stopped,
            Err(error) if error.to_string().contains("allocation limit") => Outcome::TooLarge,
            Err(_) => Outcome::Unreadable,
        }
    }

    fn push(&mut self, number: u64, bytes: &[u8], kind: LineKind) {
        if self.settings.mode != OutputMode::Content || self.hits.lines.len() >= self.settings.kept() {
            return;
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let at = match kind {
            LineKind::Match => self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start()),
            LineKind::Context | LineKind::Gap => 0,
        };
        let (text, cut) = shown(bytes, at, self.secrets);
        self.hits.cut += usize::from(cut);
        self.hits.lines.push(Line { number, text, kind });
    }
}

/// Opens without following a link and without blocking, should the file have been swapped since it was listed.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn is_binary(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    file.rewind()?;
    let marked = head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]);
    Ok(!marked && head.contains(&0))
}

/// The text of a file that has one byte for each character: a pattern would not fit its bytes.
fn single_byte_text(mut file: File) -> Option<String> {
    file.rewind().ok()?;
    let mut bytes = Vec::new();
    file.take(HASHED_UP_TO + 1).read_to_end(&mut bytes).ok()?;
    let fits = bytes.len() as u64 <= HASHED_UP_TO;
    let decoded = decode(&bytes).ok().filter(|_| fits)?;
    matches!(decoded.encoding, Encoding::Latin1 | Encoding::Windows1252).then_some(decoded.text)
}

/// A line as text, cut around a position if it is long. Credentials are masked before they could be cut in two.
fn shown(bytes: &[u8], at: usize, secrets: &Vault) -> (String, bool) {
    let decode = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    };
    let text = decode(bytes);
    let text = secrets.mask(&text);
    let length = text.chars().count();
    if length <= LINE_CHARS {
        return (text.into_owned(), false);
    }
    let position = decode(bytes.get(..at).unwrap_or_default()).chars().count();
    let start = position.saturating_sub(LEAD_CHARS).min(length - LINE_CHARS);
    let window: String = text.chars().skip(start).take(LINE_CHARS).collect();
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if start + LINE_CHARS < length { "…" } else { "" });
    (format!("{before}{window}{after}"), true)
}

impl Sink for &mut Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.matches += 1;
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            self.push(number, line, LineKind::Match);
        }
        Ok(self.settings.mode != OutputMode::FilesWithMatches)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        self.push(line.line_number().unwrap_or_default(), line.bytes(), LineKind::Context);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.push(0, b"", LineKind::Gap);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A file whose reading ends when the search has to, and which is looked at on the way.
struct Interruptible<'a> {
    file: File,
    stop: &'a Stop,
    check: Utf8Check,
}

/// Whether bytes that come in pieces are UTF-8.
#[derive(Default)]
struct Utf8Check {
    /// The beginning of a character whose rest has yet to come.
    begun: Vec<u8>,
    broken: bool,
}

impl Utf8Check {
    fn take(&mut self, bytes: &[u8]) {
        if self.broken {
            return;
        }
        let joined = if self.begun.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned([&self.begun, bytes].concat())
        };
        self.begun = match std::str::from_utf8(&joined) {
            Ok(_) => Vec::new(),
            Err(error) => {
                self.broken = error.error_len().is_some();
                // No more than three bytes, unless it does not matter any more.
                joined[error.valid_up_to()..].iter().copied().take(3).collect()
            }
        };
    }

    fn holds(&self) -> bool {
        !self.broken && self.begun.is_empty()
    }
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.reached() {
            return Err(io::Error::other("the search was stopped"));
        }
        let read = self.file.read(buffer)?;
        self.check.take(&buffer[..read]);
        Ok(read)
    }
}
