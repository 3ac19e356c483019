//! PDFs as documents that the model sees.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tiller_protocol::block::RawBlock;

use super::{Source, amount};
use crate::tool::{Done, ToolError};

/// A request may have 32 MB; encoding adds a third and the conversation needs room.
const LARGEST: u64 = 20 * 1024 * 1024;
/// Pages that every model takes.
const MOST_PAGES: usize = 100;

pub(super) fn is_pdf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"%PDF-")
}

pub(super) fn show(source: &Source<'_>, bytes: &[u8]) -> Result<Done, ToolError> {
    let refuse = |why: &str| {
        let path = source.path.display();
        ToolError::model(format!(
            "{path} {why} Extract its text with a command, for example `pdftotext -f 1 -l 20 '{path}' -`."
        ))
    };
    if source.size > LARGEST {
        return Err(refuse(&format!(
            "has {}; PDFs are shown up to {}.",
            amount(source.size),
            amount(LARGEST)
        )));
    }
    if !is_whole(bytes) {
        return Err(refuse("is not a complete PDF: its end is missing."));
    }
    if is_encrypted(bytes) {
        return Err(refuse("is protected by a password and cannot be shown."));
    }
    let pages = page_count(bytes);
    if let Some(pages) = pages.filter(|pages| *pages > MOST_PAGES) {
        return Err(refuse(&format!("has {pages} pages; PDFs are shown up to {MOST_PAGES} pages.")));
    }
    let document = json!({
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": STANDARD.encode(bytes)},
    });
    let detail = json!({
        "type": "pdf",
        "file": {"filePath": source.path.to_string_lossy(), "originalSize": source.size, "numPages": pages},
    });
    Ok(Done { content: vec![RawBlock::from_value(&document)], detail, effects: Vec::new() })
}

/// Whether the file has the end that every PDF has. A provider refuses a broken one, in this request and in all that
/// repeat it.
fn is_whole(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(2048)..];
    after(tail, b"%%EOF").next().is_some()
}

/// Whether the trailer names an encryption dictionary.
fn is_encrypted(bytes: &[u8]) -> bool {
    after(bytes, b"/Encrypt").any(|rest| {
        let rest = rest.trim_ascii_start();
        rest.starts_with(b"<<") || rest.first().is_some_and(u8::is_ascii_digit)
    })
}

/// The size of the page tree, where it is not compressed.
fn page_count(bytes: &[u8]) -> Option<usize> {
    let nodes = after(bytes, b"/Type").filter(|rest| rest.trim_ascii_start().starts_with(b"/Pages"));
    nodes.filter_map(|rest| count_near(bytes, bytes.len() - rest.len())).max()
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
