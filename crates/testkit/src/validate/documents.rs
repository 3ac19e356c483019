//! PDF documents.

use serde_json::Value;

use super::images::{check_source, decode};
use crate::error::{ApiError, Check};

/// Returns the number of pages, as far as they can be counted.
pub(super) fn check_document(path: &str, source: &Value) -> Check<usize> {
    let path = format!("{path}.document.source");
    check_source(
        &path,
        source,
        &[
            ("base64", &["media_type", "data"]),
            ("text", &["media_type", "data"]),
            ("content", &["content"]),
            ("url", &["url"]),
            ("file", &["file_id"]),
        ],
    )?;
    if source["type"] != "base64" {
        return Ok(0);
    }
    let path = format!("{path}.base64");
    if source["media_type"] != "application/pdf" {
        return Err(ApiError::at(format!("{path}.media_type"), "Input should be 'application/pdf'"));
    }
    let data = decode(&path, source["data"].as_str().unwrap_or_default())?;
    let path = format!("{path}.data");
    let has = |mark: &[u8]| data.windows(mark.len()).any(|window| window == mark);
    let is_whole = data.starts_with(b"%PDF-") && has(b" obj") && has(b"endobj") && has(b"%%EOF");
    if !is_whole {
        return Err(ApiError::at(path, "The PDF specified was not valid."));
    }
    if has(b"/Encrypt") {
        return Err(ApiError::at(path, "The PDF specified is password protected."));
    }
    Ok(pages(&data))
}

/// The pages of a document whose objects are not compressed.
fn pages(data: &[u8]) -> usize {
    let text = String::from_utf8_lossy(data);
    let kinds = text.split("/Type").skip(1).map(str::trim_start);
    kinds.filter(|kind| kind.starts_with("/Page") && !kind.starts_with("/Pages")).count()
}
