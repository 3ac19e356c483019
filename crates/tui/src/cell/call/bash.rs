//! Commands.

use ratatui::text::Line;
use serde_json::Value;
use tiller_protocol::entry::CallResult;

use super::super::{Detail, Paper, bounded_by, elapsed};
use super::{Call, FIRST_ROWS, LAST_ROWS, kept_in, text_rows};
use crate::text::{output_rows, visible_line, wrap};

pub(super) fn object(call: &Call) -> String {
    call.text("command").to_owned()
}

pub(super) fn body(_: &Call, result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let detail = &result.detail;
    let part = |name: &str| detail.get(name).and_then(Value::as_str).unwrap_or_default();
    let printed = [part("stdout").trim_end(), part("stderr").trim_end()];
    let printed = printed.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let style = if result.is_error { paper.theme.error } else { paper.theme.dim };
    let is_known = detail.get("stdout").is_some();
    let mut rows = match (printed.is_empty(), is_known) {
        (false, _) if !kept_in(result).is_empty() => cut_rows(&printed, result, style, paper),
        (false, _) => text_rows(&printed, style, paper),
        (true, false) => text_rows(&result.text(), style, paper),
        (true, true) => Vec::new(),
    };
    rows.extend(end(detail, paper));
    rows
}

/// Output of which the model got a part, and where all of it is.
fn cut_rows(
    printed: &str,
    result: &CallResult,
    style: ratatui::style::Style,
    paper: &Paper<'_>,
) -> Vec<Line<'static>> {
    let files: Vec<String> = kept_in(result).into_iter().map(visible_line).collect();
    let note = format!("… the model got a part of this; all of it is in {}", files.join(" and "));
    let note = wrap(&Line::styled(note, paper.theme.warning), paper.columns, 2);
    let rows = output_rows(printed, paper.columns, style);
    match paper.detail {
        Detail::Full => [note, rows].concat(),
        Detail::Brief => bounded_by(rows, FIRST_ROWS, LAST_ROWS, |_| note),
    }
}

/// How long it took, if that is worth a word.
pub(super) fn time(result: &CallResult) -> String {
    let took = result.detail["durationMs"].as_u64().filter(|took| result.tool == "Bash" && *took >= 2_000);
    took.map(|took| elapsed(std::time::Duration::from_millis(took))).unwrap_or_default()
}

/// How the command ended, if that is worth a word.
fn end(detail: &Value, paper: &Paper<'_>) -> Option<Line<'static>> {
    let ended = match (detail["exitCode"].as_i64(), detail["signal"].as_i64()) {
        _ if detail["timedOut"] == true => Some("time limit reached".to_owned()),
        (Some(code), _) if code != 0 => Some(format!("exit code {code}")),
        (_, Some(signal)) => Some(format!("ended by signal {signal}")),
        _ => None,
    };
    let background =
        detail["backgroundTaskId"].as_str().map(|id| format!("goes on in the background as {id}"));
    let parts: Vec<String> = [ended, background].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| Line::styled(parts.join(" · "), paper.theme.dim))
}
