//! What providers ask of a PDF, as far as that can be seen without reading all of it.

use thiserror::Error;

/// Pages that every model takes.
pub const MOST_PAGES: usize = 100;
/// Every PDF ends with this, perhaps with a little behind it.
const END: &[u8] = b"%%EOF";
/// How far from the end that may stand.
const TAIL: usize = 2048;

/// Why a provider would refuse a PDF.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// It is something else.
    #[error("is not a PDF")]
    Foreign,
    /// A part of it is missing.
    #[error("is not a complete PDF: its end is missing")]
    Torn,
    /// Nobody can read it without a password.
    #[error("is protected by a password and cannot be shown")]
    Encrypted,
    /// It is too long.
    #[error("has {0} pages; PDFs are shown up to {MOST_PAGES} pages")]
    TooLong(usize),
}

/// Whether a file begins as a PDF does.
#[must_use]
pub fn is_pdf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"%PDF-")
}

/// Looks for what a provider would refuse, in this request and in all that repeat it.
pub fn check(bytes: &[u8]) -> Result<(), Problem> {
    if !is_pdf(bytes) {
        return Err(Problem::Foreign);
    }
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    if after(tail, END).next().is_none() {
        return Err(Problem::Torn);
    }
    if is_encrypted(bytes) {
        return Err(Problem::Encrypted);
    }
    match page_count(bytes) {
        Some(pages) if pages > MOST_PAGES => Err(Problem::TooLong(pages)),
        _ => Ok(()),
    }
}

/// The size of the page tree, where it is not compressed.
#[must_use]
pub fn page_count(bytes: &[u8]) -> Option<usize> {
    let nodes = after(bytes, b"/Type").filter(|rest| rest.trim_ascii_start().starts_with(b"/Pages"));
    nodes.filter_map(|rest| count_near(bytes, bytes.len() - rest.len())).max()
}

/// Whether the trailer names an encryption dictionary.
fn is_encrypted(bytes: &[u8]) -> bool {
    after(bytes, b"/Encrypt").any(|rest| {
        let rest = rest.trim_ascii_start();
        rest.starts_with(b"<<") || rest.first().is_some_and(u8::is_ascii_digit)
    })
}

/// The `/Count` of the object around a position.
fn count_near(bytes: &[u8], at: usize) -> Option<usize> {
    let start = bytes[..at].windows(4).rposition(|window| window == b" obj").unwrap_or(0);
    let end =
        bytes[at..].windows(6).position(|window| window == b"endobj").map_or(bytes.len(), |end| at + end);
    let rest = after(&bytes[start..end], b"/Count").next()?;
    let digits = rest.trim_ascii_start().iter().take_while(|byte| byte.is_ascii_digit());
    digits.map(|byte| char::from(*byte)).collect::<String>().parse().ok()
}

/// What follows each occurrence of a name.
fn after<'a>(bytes: &'a [u8], name: &'static [u8]) -> impl Iterator<Item = &'a [u8]> {
    let starts = bytes.windows(name.len()).enumerate().filter(move |(_, window)| *window == name);
    starts.map(move |(at, _)| &bytes[at + name.len()..])
}
