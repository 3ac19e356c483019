//! Commands.

use ratatui::text::Line;
use serde_json::Value;
use tiller_protocol::entry::CallResult;

use super::super::{Paper, elapsed};
use super::{Call, text_rows};

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
        (false, _) => text_rows(&printed, style, paper),
        (true, false) => text_rows(&result.text(), style, paper),
        (true, true) => Vec::new(),
    };
    rows.extend(end(detail, paper));
    rows
}

/// How the command ended, if that is worth a word.
fn end(detail: &Value, paper: &Paper<'_>) -> Option<Line<'static>> {
    let took = detail["durationMs"].as_u64().filter(|took| *took >= 2_000);
    let took = took.map(|took| elapsed(std::time::Duration::from_millis(took)));
    let ended = match (detail["exitCode"].as_i64(), detail["signal"].as_i64()) {
        _ if detail["timedOut"] == true => Some("time limit reached".to_owned()),
        (Some(code), _) if code != 0 => Some(format!("exit code {code}")),
        (_, Some(signal)) => Some(format!("ended by signal {signal}")),
        _ => None,
    };
    let background =
        detail["backgroundTaskId"].as_str().map(|id| format!("goes on in the background as {id}"));
    let parts: Vec<String> = [ended, background, took].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| Line::styled(parts.join(" · "), paper.theme.dim))
}
