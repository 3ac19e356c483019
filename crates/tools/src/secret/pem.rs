//! Private keys in PEM armour. Each line of a key is a credential of its own: masked text has the same lines, and a
//! line of a known key is recognised without its frame.

use std::ops::Range;

use super::find::Finding;

/// Bytes from the frame of a key within which its lines are looked for; the largest keys in use take 13 KB.
const LONGEST: usize = 16 * 1024;
/// A line of a key, except the last, is at least this long.
const LINE: usize = 40;
/// Bytes without such a line after which a key without its other frame is over.
const GAP: usize = 200;
const KIND: &str = "private-key";

/// The lines after a frame that opens a private key.
pub(super) fn from_begin(text: &str, word: Range<usize>) -> Vec<Finding> {
    let Some(body) = frame_end(text, &word) else { return Vec::new() };
    let limit = text.floor_char_boundary((body + LONGEST).min(text.len()));
    let rest = &text[body..limit];
    match rest.find("-----") {
        Some(end) => lines(text, body..body + end, Frame::Closed),
        None => lines(text, body..limit, Frame::OnlyBegin),
    }
}

/// The lines before a frame that closes a private key whose opening frame is not there.
pub(super) fn from_end(text: &str, word: Range<usize>) -> Vec<Finding> {
    if frame_end(text, &word).is_none() {
        return Vec::new();
    }
    let limit = text.ceil_char_boundary(word.start.saturating_sub(LONGEST));
    let before = &text[limit..word.start];
    match before.rfind("-----") {
        // With its opening frame the key was found already.
        Some(frame) if is_private(before[..frame].rsplit("-----").next().unwrap_or_default()) => Vec::new(),
        Some(frame) => lines(text, limit + frame + 5..word.start, Frame::OnlyEnd),
        None => lines(text, limit..word.start, Frame::OnlyEnd),
    }
}

/// Whether a line is nothing but what a key consists of.
pub(crate) fn is_armoured(line: &str) -> bool {
    let line = line.trim();
    line.len() >= LINE && line.bytes().all(is_base64)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Closed,
    OnlyBegin,
    OnlyEnd,
}

/// Where a frame ends, if it is that of a private key.
fn frame_end(text: &str, word: &Range<usize>) -> Option<usize> {
    let label_end = text[word.end..].bytes().take(64).position(|byte| byte == b'-')?;
    let label = &text[word.end..word.end + label_end];
    let end = word.end + label_end;
    (is_private(label) && text[end..].starts_with("-----")).then_some(end + 5)
}

fn is_private(label: &str) -> bool {
    label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK")
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The runs of base64 in a stretch that are long enough for a line, and the short one next to the closing frame.
fn lines(text: &str, stretch: Range<usize>, frame: Frame) -> Vec<Finding> {
    let runs = runs(text, stretch.clone());
    let is_line = |run: &Range<usize>| run.len() >= LINE;
    let mut found: Vec<Range<usize>> = match frame {
        Frame::Closed => runs.iter().filter(|run| is_line(run)).cloned().collect(),
        Frame::OnlyBegin => connected(runs.iter().filter(|run| is_line(run)), stretch.start),
        Frame::OnlyEnd => connected(runs.iter().rev().filter(|run| is_line(run)), stretch.end),
    };
    let last = runs.last().filter(|last| frame != Frame::OnlyBegin && !is_line(last));
    if let Some(last) = last.filter(|last| !found.is_empty() || last.len() >= LINE / 2) {
        found.push(last.clone());
    }
    found.into_iter().map(|span| Finding::by_itself(span, KIND)).collect()
}

/// The lines that follow each other from a position on, in either direction.
fn connected<'a>(lines: impl Iterator<Item = &'a Range<usize>>, from: usize) -> Vec<Range<usize>> {
    let mut at = from;
    let near = lines.take_while(|line| {
        let near = line.start.abs_diff(at).min(line.end.abs_diff(at)) <= GAP;
        at = if line.start >= at { line.end } else { line.start };
        near
    });
    near.cloned().collect()
}

/// Runs of base64. In text that is not broken into lines, `\n` stands between them.
fn runs(text: &str, stretch: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut runs = Vec::new();
    let mut at = stretch.start;
    while at < stretch.end {
        let start = if is_sign_of_patch(bytes, at) { at + 1 } else { at };
        at = start + bytes[start..stretch.end].iter().take_while(|byte| is_base64(**byte)).count();
        if at > start {
            runs.push(start..at);
        }
        let escape = bytes[at..stretch.end].starts_with(b"\\n") || bytes[at..stretch.end].starts_with(b"\\r");
        at += if escape { 2 } else { 1 };
    }
    runs
}

/// Whether this is the sign of a line that a patch adds, not part of the line.
fn is_sign_of_patch(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'+' && (at == 0 || bytes[at - 1] == b'\n')
}
