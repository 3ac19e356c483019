//! Lines of a file of any size, decoded piece by piece, each cut at a bound.

use std::io::Read;

use encoding_rs::Decoder;
use tokio_util::sync::CancellationToken;

use crate::encoding::Encoding;
use crate::tool::ToolError;

/// Characters of a line that are shown.
pub(super) const LINE_CHARS: usize = 2_000;
const PIECE: usize = 64 * 1024;

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) cut: bool,
}

/// Reads lines; memory is bounded whatever the file holds.
pub(super) struct Lines<'a, R> {
    source: R,
    decoder: Decoder,
    cancel: &'a CancellationToken,
    raw: Vec<u8>,
    text: String,
    at: usize,
    ended: bool,
    /// Whether bytes were replaced because they did not decode.
    pub(super) lossy: bool,
}

impl<'a, R: Read> Lines<'a, R> {
    pub(super) fn new(source: R, encoding: Encoding, cancel: &'a CancellationToken) -> Self {
        Self {
            source,
            decoder: encoding.streaming(),
            cancel,
            raw: vec![0; PIECE],
            text: String::new(),
            at: 0,
            ended: false,
            lossy: false,
        }
    }

    /// The next line; nothing at the end. A final line end does not begin another line.
    pub(super) fn next(&mut self) -> Result<Option<Line>, ToolError> {
        let mut line = Bounded::default();
        loop {
            let rest = &self.text[self.at..];
            if let Some(end) = rest.find('\n') {
                line.push(&rest[..end]);
                self.at += end + 1;
                return Ok(Some(line.finish()));
            }
            line.push(rest);
            if self.ended {
                self.at = self.text.len();
                return Ok((!line.is_empty()).then(|| line.finish()));
            }
            self.refill()?;
        }
    }

    /// Goes to the end and says how many lines there were.
    pub(super) fn count(&mut self) -> Result<usize, ToolError> {
        let mut count = 0;
        while self.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    fn refill(&mut self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let failed = |error: std::io::Error| ToolError::model(format!("Reading stopped: {error}."));
        let read = self.source.read(&mut self.raw).map_err(failed)?;
        self.ended = read == 0;
        self.at = 0;
        self.text.clear();
        self.text.reserve(self.decoder.max_utf8_buffer_length(read).unwrap_or(PIECE * 4));
        let (_, _, replaced) = self.decoder.decode_to_string(&self.raw[..read], &mut self.text, self.ended);
        self.lossy |= replaced;
        Ok(())
    }
}

/// A line that grows up to the bound, and one character more so that a carriage return at its end is recognised.
#[derive(Default)]
struct Bounded {
    text: String,
    chars: usize,
    overflow: bool,
}

impl Bounded {
    fn push(&mut self, more: &str) {
        let room = LINE_CHARS + 1 - self.chars;
        let taken = match more.char_indices().nth(room) {
            Some((end, _)) => {
                self.overflow = true;
                &more[..end]
            }
            None => more,
        };
        self.chars += taken.chars().count();
        self.text.push_str(taken);
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn finish(mut self) -> Line {
        if !self.overflow && self.text.ends_with('\r') {
            self.text.pop();
            self.chars -= 1;
        }
        let cut = self.chars > LINE_CHARS;
        if cut {
            self.text.pop();
        }
        Line { text: self.text, cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], encoding: Encoding) -> Vec<(String, bool)> {
        let cancel = CancellationToken::new();
        let mut lines = Lines::new(bytes, encoding, &cancel);
        std::iter::from_fn(|| lines.next().unwrap()).map(|line| (line.text, line.cut)).collect()
    }

    #[test]
    fn line_ends_do_not_belong_to_lines() {
        let plain = |texts: &[&str]| texts.iter().map(|text| ((*text).to_owned(), false)).collect::<Vec<_>>();
        assert_eq!(lines(b"a\r\nb\n\nc", Encoding::Utf8), plain(&["a", "b", "", "c"]));
        assert_eq!(lines(b"a\n", Encoding::Utf8), plain(&["a"]));
        assert_eq!(lines(b"", Encoding::Utf8), plain(&[]));
        assert_eq!(lines(b"\xFF\xFEa\0\n\0", Encoding::Utf16Le), plain(&["a"]));
    }

    #[test]
    fn long_lines_are_cut_at_the_bound() {
        let exact = "é".repeat(LINE_CHARS);
        assert_eq!(lines(format!("{exact}\r\n").as_bytes(), Encoding::Utf8), [(exact.clone(), false)]);
        assert_eq!(
            lines(format!("{exact}x\nb").as_bytes(), Encoding::Utf8),
            [(exact, true), ("b".to_owned(), false)]
        );
        let pieces = "z".repeat(PIECE * 2 + 5);
        assert_eq!(lines(pieces.as_bytes(), Encoding::Utf8), [("z".repeat(LINE_CHARS), true)]);
    }
}
