//! What the user said.

use ratatui::text::{Line, Span};
use tiller_protocol::block::RawBlock;

use super::Paper;
use crate::text::{clean, line_width, prefixed, width, wrap};

/// Rows of a prompt that are shown; the user knows what they wrote.
const MOST_ROWS: usize = 30;

/// Around what the user ran in the terminal, as the model is told.
const NOTE_BEGINS: &str = "<ran-in-terminal>\n";
const NOTE_ENDS: &str = "\n</ran-in-terminal>";
/// Around what the user has changed in the instructions.
const INSTRUCTIONS_BEGIN: &str = "<instructions-changed>\n";
const INSTRUCTIONS_END: &str = "\n</instructions-changed>";

/// What the model is told of instructions that were changed in the middle of a session.
pub(crate) fn instructions_note(text: &str) -> String {
    format!("{INSTRUCTIONS_BEGIN}{text}{INSTRUCTIONS_END}")
}

/// What the model is told of a command that the user ran.
pub(crate) fn shell_note(command: &str, output: &str) -> String {
    format!("{NOTE_BEGINS}I ran `{command}` in the terminal. It printed:\n{output}{NOTE_ENDS}")
}

/// The text of a message; what is not text is named. What the user ran before was shown when it ended.
pub(crate) fn content_text(content: &[RawBlock]) -> String {
    let frames = [(NOTE_BEGINS, NOTE_ENDS), (INSTRUCTIONS_BEGIN, INSTRUCTIONS_END)];
    let is_note =
        |text: &str| frames.iter().any(|(begin, end)| text.starts_with(begin) && text.ends_with(end));
    let shown = |block: &RawBlock| match block.as_text() {
        Some(text) => (!is_note(&text)).then_some(text),
        None => Some(format!("[{}]", block.kind())),
    };
    content.iter().filter_map(shown).collect::<Vec<_>>().join("\n")
}

/// A prompt, or input that was delivered later.
pub(crate) fn prompt(text: &str, remark: Option<&str>, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let text = clean(text.trim_end());
    let columns = paper.columns.saturating_sub(2).max(8);
    let lines = text.lines().map(|line| Line::styled(line.to_owned(), paper.theme.user));
    let rows: Vec<Line<'static>> = lines.flat_map(|line| wrap(&line, columns, 0)).collect();
    let mut rows = super::bounded(rows, MOST_ROWS, 3, paper.theme);
    if let Some(remark) = remark {
        let beside = format!("  {remark}");
        match rows.last_mut().filter(|last| line_width(last) + width(&beside) <= usize::from(columns)) {
            Some(last) => last.spans.push(Span::styled(beside, paper.theme.dim)),
            None => rows.extend(wrap(&Line::styled(remark.to_owned(), paper.theme.dim), columns, 0)),
        }
    }
    let mut shown = vec![Line::default()];
    shown.extend(prefixed(rows, &Span::styled("> ", paper.theme.accent), &Span::raw("  ")));
    shown
}
