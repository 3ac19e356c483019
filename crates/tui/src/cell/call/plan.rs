//! Plans: the user's word on one, and the plan itself.

use ratatui::text::Line;
use tiller_protocol::entry::CallResult;
use tiller_protocol::mode::Mode;

use super::super::Paper;
use super::{Call, Word, text_rows};
use crate::markdown;
use crate::text::clean;

/// Whether a call asks the user about planning.
pub(super) fn is_question(call: &Call) -> bool {
    matches!(call.tool.as_str(), "ExitPlanMode" | "EnterPlanMode")
}

/// A plan was put before the user.
pub(super) fn handed_over(call: &Call) -> (String, String) {
    match &call.word {
        Some(Word::Approved(mode)) => ("Plan approved".to_owned(), format!("· {}", then(*mode))),
        Some(Word::Refused(words)) => refused("Plan not approved", words),
        None => ("Plan".to_owned(), String::new()),
    }
}

/// The agent wanted to plan first.
pub(super) fn entered(call: &Call) -> (String, String) {
    match &call.word {
        Some(Word::Approved(_)) => ("Plan mode".to_owned(), "· explores first, changes nothing".to_owned()),
        Some(Word::Refused(words)) => refused("No plan mode", words),
        None => ("Plan mode".to_owned(), String::new()),
    }
}

fn refused(what: &str, words: &str) -> (String, String) {
    if words.is_empty() {
        return (what.to_owned(), String::new());
    }
    (format!("{what}:"), words.to_owned())
}

/// How the plan is carried out.
fn then(mode: Mode) -> String {
    match mode {
        Mode::Default => "confirm each edit".to_owned(),
        Mode::AcceptEdits => "accept edits".to_owned(),
        Mode::BypassPermissions => "skip all permission questions".to_owned(),
        mode => format!("mode {mode}"),
    }
}

/// The plan as it was approved, all of it: the work is held against it.
pub(super) fn body(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    match result.detail["plan"].as_str() {
        Some(plan) => markdown::render(&clean(plan), paper.columns, paper.theme),
        None => text_rows(&result.text(), paper.theme.dim, paper),
    }
}
