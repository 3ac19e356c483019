//! `selected_lines_in_ide`, `opened_file_in_ide`: what the user is looking at.

use std::path::PathBuf;

use serde::Serialize;

use super::text::{beginning, fill};
use super::{Kind, Rendered};

const SELECTED: &str = include_str!("selected_lines_in_ide.md");
const OPENED: &str = include_str!("opened_file_in_ide.md");
/// Characters of a selection that are told.
const SELECTION_LIMIT: usize = 2_000;

/// What is selected in the editor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectedLinesInIde {
    /// The file.
    pub filename: PathBuf,
    /// First line, counted from 1.
    pub line_start: u64,
    /// Last line.
    pub line_end: u64,
    /// The selected text.
    pub content: String,
    /// The editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ide_name: Option<String>,
}

impl Kind for SelectedLinesInIde {
    const NAME: &'static str = "selected_lines_in_ide";

    fn render(&self) -> Rendered {
        let (content, cut) = beginning(&self.content, SELECTION_LIMIT);
        let note = if cut { format!("{content}\n[…]") } else { content.to_owned() };
        Rendered::reminder(&fill(
            SELECTED,
            &[
                ("path", &self.filename.to_string_lossy()),
                ("first", &self.line_start.to_string()),
                ("last", &self.line_end.to_string()),
                ("ide", self.ide_name.as_deref().unwrap_or("the editor")),
                ("text", &note),
            ],
        ))
    }
}

/// What is open in the editor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenedFileInIde {
    /// The file.
    pub filename: PathBuf,
}

impl Kind for OpenedFileInIde {
    const NAME: &'static str = "opened_file_in_ide";

    fn render(&self) -> Rendered {
        Rendered::reminder(&fill(OPENED, &[("path", &self.filename.to_string_lossy())]))
    }
}
