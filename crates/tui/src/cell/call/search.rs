//! Searches.

use ratatui::text::Line;
use tiller_protocol::entry::CallResult;

use super::super::{Detail, Paper};
use super::{Call, count, text_rows};

pub(super) fn object(call: &Call, paper: &Paper<'_>) -> String {
    let place = match (call.text("path"), call.text("glob")) {
        ("", "") => String::new(),
        ("", glob) => format!(" in {glob}"),
        (path, "") => format!(" in {}", paper.path(path)),
        (path, glob) => format!(" in {}/{glob}", paper.path(path)),
    };
    format!("{}{place}", call.text("pattern"))
}

pub(super) fn body(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let detail = &result.detail;
    let (Some(files), Detail::Brief) = (detail["numFiles"].as_u64(), paper.detail) else {
        return text_rows(&result.text(), paper.theme.dim, paper);
    };
    let files = count(files, "file", "files");
    let said = match detail["numMatches"].as_u64().filter(|matches| *matches > 0) {
        Some(matches) => format!("{} in {files}", count(matches, "match", "matches")),
        None => files,
    };
    let incomplete = detail["incomplete"] == true || detail["truncated"] == true;
    let remark = if incomplete { ", not all shown to the model" } else { "" };
    vec![Line::styled(format!("{said}{remark}"), paper.theme.dim)]
}
