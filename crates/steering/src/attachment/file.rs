//! `file`: a file as if it had been read.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use tiller_protocol::block::RawBlock;

use super::{Kind, Rendered};

/// A file that the user mentioned, or that comes back after compaction.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    /// The absolute path.
    pub filename: PathBuf,
    /// What it holds.
    pub content: FileContent,
    /// Whether the end is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The first line, if a part was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The number of lines, if a part was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What a file holds.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileContent {
    /// Lines of text.
    Text {
        /// The lines that are shown, without numbers.
        text: String,
        /// As reading shows it.
        #[serde(skip)]
        shown: Vec<RawBlock>,
    },
    /// An image, a document, the cells of a notebook.
    Blocks {
        /// As reading shows it.
        #[serde(skip)]
        shown: Vec<RawBlock>,
    },
}

impl Kind for File {
    const NAME: &'static str = "file";

    fn render(&self) -> Rendered {
        let mut input = json!({"file_path": self.filename});
        if let Some(offset) = self.offset {
            input["offset"] = offset.into();
        }
        if let Some(limit) = self.limit {
            input["limit"] = limit.into();
        }
        let (FileContent::Text { shown, .. } | FileContent::Blocks { shown }) = &self.content;
        Rendered::pair("Read", &input, shown)
    }
}
