//! Calls of tools: what is done, and what came of it.

mod bash;
mod file;
mod other;
mod plan;
mod question;
mod search;
mod task;

use ratatui::text::{Line, Span};
use serde_json::Value;
use tiller_protocol::block::ToolUse;
use tiller_protocol::entry::{CallResult, Cause};
use tiller_protocol::mode::Mode;

use super::{Detail, Paper, bounded};
use crate::text::{output_rows, reveal, visible, wrap_some};

/// Rows of a text that are shown at its beginning, and at its end.
const FIRST_ROWS: usize = 3;
const LAST_ROWS: usize = 5;

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// What the user said to it, if that is known.
    pub(crate) word: Option<Word>,
}

/// What the user said to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// No, and perhaps why.
    Refused(String),
    /// Yes, which led to this mode.
    Approved(Mode),
}

impl From<ToolUse> for Call {
    fn from(call: ToolUse) -> Self {
        Self::new(call.name, call.input)
    }
}

impl Call {
    pub(crate) fn new(tool: String, input: Value) -> Self {
        Self { tool, input, word: None }
    }

    /// The user's word on a call that is a question about planning.
    pub(crate) fn approved_in(&mut self, mode: Mode, result: &CallResult) {
        if plan::is_question(self) && !result.is_error && result.cause == Cause::Call {
            self.word = Some(Word::Approved(mode));
        }
    }

    /// What the user said against it.
    fn refusal(&self) -> Option<&str> {
        match &self.word {
            Some(Word::Refused(words)) => Some(words),
            _ => None,
        }
    }

    fn text(&self, field: &str) -> &str {
        self.input.get(field).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Rows for what a call does.
const HEADING_ROWS: usize = 3;

/// What a call does: the tool and its object.
pub(crate) fn title(call: &Call, paper: &Paper<'_>) -> (String, String) {
    let object = match call.tool.as_str() {
        "ExitPlanMode" => return plan::handed_over(call),
        "EnterPlanMode" => return plan::entered(call),
        "AskUserQuestion" => return question::title(call),
        "Bash" => bash::object(call),
        "Read" | "Edit" | "Write" | "NotebookEdit" => file::object(call, paper),
        "Grep" | "Glob" => search::object(call, paper),
        "Task" => task::object(call),
        "TodoWrite" => other::todos(call),
        _ => other::object(call),
    };
    (call.tool.clone(), object)
}

/// A call that runs.
pub(crate) fn running(
    call: &Call,
    mark: &'static str,
    remark: &str,
    paper: &Paper<'_>,
) -> Vec<Line<'static>> {
    heading(call, Span::styled(mark, paper.theme.accent), remark, paper)
}

/// A call with its result.
pub(crate) fn finished(call: &Call, result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    // The list itself is shown above the input.
    if call.tool == "TodoWrite" && !result.is_error && paper.detail == Detail::Brief {
        return Vec::new();
    }
    let (style, remark) = match result.cause {
        Cause::Call if call.refusal().is_some() => (paper.theme.warning, refused(call).to_owned()),
        Cause::Call if result.is_error => (paper.theme.error, bash::time(result)),
        Cause::Call => (paper.theme.ok, bash::time(result)),
        cause => (paper.theme.warning, not_run(cause).to_owned()),
    };
    let mut rows = vec![Line::default()];
    rows.extend(heading(call, Span::styled("● ", style), &remark, paper));
    if result.cause == Cause::Call {
        rows.extend(paper.below(body(call, result, &paper.narrower(4))));
    }
    rows
}

/// Why a call gave nothing.
pub(crate) fn not_run(cause: Cause) -> &'static str {
    match cause {
        Cause::ToolRejection => "not run: another call was refused",
        Cause::SiblingError => "not run: another call failed",
        Cause::StreamingFallback => "not run: the answer broke off and is asked for again",
        Cause::ModelFallback => "not run: another model took over",
        Cause::ThinkingRefused => "not run: the answer is asked for again",
        Cause::Refusal => "not run: the provider declined to answer",
        Cause::ApiError => "not run: the request failed",
        Cause::Lost => "no result: Tiller ended before there was one",
        Cause::Call | Cause::Interrupted => "stopped",
    }
}

/// Whoever refused a call knows that: nothing of what the model is told then needs to be read.
fn refused(call: &Call) -> &'static str {
    if plan::is_question(call) { "" } else { "refused" }
}

fn body(call: &Call, result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    match call.refusal() {
        Some(words) if !words.is_empty() && !plan::is_question(call) => {
            return text_rows(&format!("you said: {words}"), paper.theme.dim, paper);
        }
        Some(_) => return Vec::new(),
        None => {}
    }
    if result.is_error && call.tool != "Bash" {
        return text_rows(&result.text(), paper.theme.error, paper);
    }
    match call.tool.as_str() {
        "Bash" => bash::body(call, result, paper),
        "Read" => file::read(result, paper),
        "Edit" | "Write" => file::changed(result, paper),
        "Grep" | "Glob" => search::body(result, paper),
        "Task" => task::body(result, paper),
        "ExitPlanMode" => plan::body(result, paper),
        "EnterPlanMode" => Vec::new(),
        "AskUserQuestion" => question::body(result, paper),
        _ => text_rows(&result.text(), paper.theme.dim, paper),
    }
}

fn heading(call: &Call, mark: Span<'static>, remark: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let (tool, object) = title(call, paper);
    let remark = if remark.is_empty() { String::new() } else { format!("  {remark}") };
    let line = Line::from(vec![
        mark,
        Span::styled(tool, paper.theme.strong),
        Span::raw(format!(" {}", one_line(&object)).trim_end().to_owned()),
        Span::styled(remark, paper.theme.dim),
    ]);
    let rows = wrap_some(&line, paper.columns, 2, HEADING_ROWS);
    rows.into_iter().map(|row| reveal(row, paper.theme.warning)).collect()
}

/// The first line of what a call does. Nothing of it is left out, however a terminal would show it.
fn one_line(text: &str) -> String {
    let text = visible(text.trim());
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    if lines.next().is_some() { format!("{first} …") } else { first }
}

/// A text, shortened unless everything is wanted.
fn text_rows(text: &str, style: ratatui::style::Style, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let rows = output_rows(text.trim_end(), paper.columns, style);
    if paper.detail == Detail::Full { rows } else { bounded(rows, FIRST_ROWS, LAST_ROWS, paper.theme) }
}

/// How many lines a person gets to read of a result.
pub(crate) fn lines(call: &Call, result: &CallResult) -> usize {
    let detail = &result.detail;
    let read = match call.tool.as_str() {
        "ExitPlanMode" => detail["plan"].as_str().map(str::to_owned),
        "Task" => Some(task::text(result)),
        "AskUserQuestion" => return question::count(result),
        _ => None,
    };
    read.unwrap_or_else(|| result.text()).lines().count()
}

/// The files that hold all of an output that was cut for the model.
pub(crate) fn kept_in(result: &CallResult) -> Vec<&str> {
    let files = result.detail.get("files").and_then(Value::as_array);
    files.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
