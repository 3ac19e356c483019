//! `compact_file_reference`: a file that is too large to be shown.

use std::path::PathBuf;

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("compact_file_reference.md");

/// A file that was mentioned, or read before compaction.
#[derive(Clone, Debug, Serialize)]
pub struct CompactFileReference {
    /// The absolute path.
    pub filename: PathBuf,
}

impl Kind for CompactFileReference {
    const NAME: &'static str = "compact_file_reference";

    fn render(&self) -> Rendered {
        Rendered::reminder(&fill(TEXT, &[("path", &self.filename.to_string_lossy())]))
    }
}
