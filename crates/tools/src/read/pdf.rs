//! PDFs as documents that the model sees.

mod pages;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tiller_protocol::block::RawBlock;
use tiller_protocol::pdf::{Problem, check, page_count};

use super::{Source, amount};
use crate::tool::{Done, ToolError};
pub(super) use pages::Pages;
use pages::{LARGEST, MOST_PAGES};

/// What helps where nothing can be shown.
const ANOTHER_WAY: &str = "Extract its text with a command, for example";

pub(super) fn show(source: &Source<'_>, bytes: &[u8], pages: Option<&Pages>) -> Result<Done, ToolError> {
    let path = source.path.display();
    let refuse = |why: &str| {
        ToolError::model(format!("{path} {why} {ANOTHER_WAY} `pdftotext -f 1 -l 20 '{path}' -`."))
    };
    match check(bytes) {
        // What is too long can be shown in parts.
        Ok(()) | Err(Problem::TooLong(_)) => {}
        Err(problem) => return Err(refuse(&format!("{problem}."))),
    }
    if let Some(pages) = pages {
        let extract = pages.of(bytes).map_err(|error| match error {
            pages::NoPages::Outside { .. } | pages::NoPages::TooMuch => {
                ToolError::model(format!("{path} {error}"))
            }
            error => refuse(&error.to_string()),
        })?;
        return Ok(shown(source, &extract.bytes, Some(extract.of), Some(pages)));
    }
    let in_parts = "Read it in parts, with `pages` such as \"1-20\".";
    if bytes.len() > LARGEST {
        let (size, most) = (amount(source.size), amount(LARGEST as u64));
        return Err(ToolError::model(format!("{path} has {size}; PDFs are shown up to {most}. {in_parts}")));
    }
    let count = page_count(bytes);
    if let Some(count) = count.filter(|count| *count > MOST_PAGES) {
        let why = format!("{path} has {count} pages; PDFs are shown up to {MOST_PAGES} pages. {in_parts}");
        return Err(ToolError::model(why));
    }
    Ok(shown(source, bytes, count, None))
}

fn shown(source: &Source<'_>, bytes: &[u8], count: Option<usize>, pages: Option<&Pages>) -> Done {
    let document = json!({
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": STANDARD.encode(bytes)},
    });
    let mut content = vec![RawBlock::from_value(&document)];
    let mut detail = json!({
        "type": "pdf",
        "file": {"filePath": source.path.to_string_lossy(), "originalSize": source.size, "numPages": count},
    });
    if let (Some(pages), Some(count)) = (pages, count) {
        content.push(RawBlock::text(&format!("[Pages {pages} of {count}.]")));
        detail["file"]["pages"] = json!(pages.to_string());
    }
    Done { content, detail, effects: Vec::new() }
}
