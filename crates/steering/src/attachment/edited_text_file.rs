//! `edited_text_file`: a file that others have changed.

use std::path::PathBuf;

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("edited_text_file.md");

/// A file that is not any more what the model saw.
#[derive(Clone, Debug, Serialize)]
pub struct EditedTextFile {
    /// The absolute path.
    pub filename: PathBuf,
    /// The changed lines with their numbers, or why there are none.
    pub snippet: String,
}

impl Kind for EditedTextFile {
    const NAME: &'static str = "edited_text_file";

    fn render(&self) -> Rendered {
        let path = self.filename.to_string_lossy();
        Rendered::reminder(&fill(TEXT, &[("path", &path), ("snippet", &self.snippet)]))
    }
}
