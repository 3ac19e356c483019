//! PDFs as documents that the model sees.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tiller_protocol::block::RawBlock;
use tiller_protocol::pdf::{check, page_count};

use super::{Source, amount};
use crate::tool::{Done, ToolError};

/// A request may have 32 MB; encoding adds a third and the conversation needs room.
const LARGEST: u64 = 20 * 1024 * 1024;

pub(super) fn show(source: &Source<'_>, bytes: &[u8]) -> Result<Done, ToolError> {
    let refuse = |why: &str| {
        let path = source.path.display();
        ToolError::model(format!(
            "{path} {why}. Extract its text with a command, for example `pdftotext -f 1 -l 20 '{path}' -`."
        ))
    };
    if source.size > LARGEST {
        return Err(refuse(&format!(
            "has {}; PDFs are shown up to {}",
            amount(source.size),
            amount(LARGEST)
        )));
    }
    check(bytes).map_err(|problem| refuse(&problem.to_string()))?;
    let document = json!({
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": STANDARD.encode(bytes)},
    });
    let detail = json!({
        "type": "pdf",
        "file": {
            "filePath": source.path.to_string_lossy(), "originalSize": source.size, "numPages": page_count(bytes),
        },
    });
    Ok(Done { content: vec![RawBlock::from_value(&document)], detail, effects: Vec::new() })
}
