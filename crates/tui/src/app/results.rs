//! Results of calls that can be looked at again.

use std::collections::VecDeque;
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::Line;
use tiller_protocol::entry::{CallResult, Cause};

use super::look::Look;
use super::{App, Effect};
use crate::cell::{self, Call, Detail, Paper, Word};
use crate::dialog::Body;
use crate::panel::{Panel, ResultRow, Results};
use crate::text::{reveal, visible_line};

/// Results that are kept at most, and bytes of them.
const MOST: usize = 100;
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// A call and what it gave.
struct Kept {
    call: Call,
    result: CallResult,
    bytes: usize,
}

/// The last results.
#[derive(Default)]
pub(super) struct Recent {
    kept: VecDeque<Arc<Kept>>,
    bytes: usize,
    /// Older ones were let go.
    is_cut: bool,
}

impl Recent {
    /// Keeps what can be shown of a result, and lets go of the oldest if it has become too much.
    pub(super) fn keep(&mut self, call: Call, result: &CallResult) {
        let content = result.content.iter().filter(|block| block.as_text().is_some()).cloned().collect();
        let result = CallResult { content, effects: Vec::new(), ..result.clone() };
        let bytes = result.text().len() + result.detail.to_string().len() + call.input.to_string().len();
        self.bytes += bytes;
        self.kept.push_back(Arc::new(Kept { call, result, bytes }));
        while self.kept.len() > MOST || self.bytes > MOST_BYTES {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.bytes;
            self.is_cut = true;
        }
    }
}

impl App {
    /// The list of results.
    pub(super) fn show_results(&mut self) -> Vec<Effect> {
        if self.results.kept.is_empty() {
            let whole = if self.results.is_cut {
                "what was shown is too long to be kept; /export writes all of it"
            } else {
                "there is no output yet"
            };
            self.remark(whole);
            return Vec::new();
        }
        let rows = self.results.kept.iter().map(|kept| row(kept, &self.look)).collect();
        let results = Results::new(rows, self.results.is_cut, Arc::clone(&self.keys));
        self.open(Panel::Results(results))
    }
}

fn row(kept: &Arc<Kept>, look: &Look) -> ResultRow {
    let (tool, object) = cell::title(&kept.call, &look.paper());
    let lines = cell::lines(&kept.call, &kept.result);
    let detail = match kept.result.cause {
        Cause::Call if matches!(kept.call.word, Some(Word::Refused(_))) => "refused".to_owned(),
        Cause::Call if kept.result.is_error => "failed".to_owned(),
        Cause::Call if !cell::kept_in(&kept.result).is_empty() => "long; the model got a part".to_owned(),
        Cause::Call if lines == 1 => "1 line".to_owned(),
        Cause::Call => format!("{lines} lines"),
        cause => cell::not_run(cause).to_owned(),
    };
    let (kept, cwd) = (Arc::clone(kept), look.cwd.clone());
    let body = Body::new(move |columns, theme| {
        let paper = Paper { columns: columns.max(10), theme, cwd: &cwd, detail: Detail::Full };
        cell::finished(&kept.call, &kept.result, &paper)
    });
    let title =
        reveal(Line::raw(visible_line(format!("{tool} {object}").trim())), Style::default()).to_string();
    ResultRow { title, detail, body }
}
