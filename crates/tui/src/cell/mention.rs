//! What came with a prompt because it was mentioned there.

use ratatui::text::Line;
use tiller_protocol::entry::Attachment;

use super::Paper;
use crate::text::{visible_line, wrap};

/// Who attaches what prompts mention.
const SOURCE: &str = "at_mentioned_files";

/// What was attached; nothing if the user has not mentioned it.
pub(crate) fn mentioned(attachment: &Attachment, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let content = &attachment.attachment;
    if attachment.source != SOURCE {
        return Vec::new();
    }
    let path = content["filename"].as_str().or(content["path"].as_str()).unwrap_or_default();
    let remark = match (attachment.kind(), content["offset"].as_u64(), content["limit"].as_u64()) {
        ("file", Some(first), Some(1)) => format!(" line {first}"),
        ("file", Some(first), Some(count)) => {
            format!(" lines {first}–{}", first.saturating_add(count).saturating_sub(1))
        }
        ("file", ..) if content["truncated"] == true => ", the beginning of it".to_owned(),
        ("directory", ..) => ": what it contains".to_owned(),
        ("compact_file_reference", ..) => ": too large to attach; the agent knows where it is".to_owned(),
        _ => String::new(),
    };
    let line = format!("  └ {}{remark}", visible_line(&paper.path(path)));
    wrap(&Line::styled(line, paper.theme.dim), paper.columns, 4)
}
