//! Cells of the transcript: one file for each kind of thing that a person sees.

mod answer;
mod call;
mod hook;
mod mention;
mod notice;
mod prompt;
mod thinking;
mod todo;
mod turn;
mod welcome;

use std::path::Path;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::{prefixed, wrap};
use crate::theme::Theme;

pub(crate) use answer::{Answer, failure};
pub(crate) use call::{Call, Word, finished, kept_in, lines, not_run, running, title};
pub(crate) use hook::hook;
pub(crate) use mention::mentioned;
pub(crate) use notice::{notice, ran, told};
pub(crate) use prompt::{content_text, instructions_note, prompt, shell_note};
pub(crate) use thinking::{thinking, thinking_now};
pub(crate) use todo::todos;
pub(crate) use turn::{Took, amount, dollars, elapsed, turn_end};
pub(crate) use welcome::{Facts, welcome};

/// How much of something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What is needed to follow.
    Brief,
    /// Everything.
    Full,
}

/// What cells are written on.
#[derive(Clone, Copy)]
pub(crate) struct Paper<'a> {
    pub(crate) columns: u16,
    pub(crate) theme: &'a Theme,
    /// Paths below it are shown without it.
    pub(crate) cwd: &'a Path,
    pub(crate) detail: Detail,
}

impl Paper<'_> {
    /// The same with less room, for what is indented.
    fn narrower(&self, by: u16) -> Self {
        Self { columns: self.columns.saturating_sub(by).max(8), ..*self }
    }

    /// A path as it is shown.
    pub(crate) fn path(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(self.cwd) {
            Ok(own) if own.as_os_str().is_empty() => ".".to_owned(),
            Ok(own) => own.display().to_string(),
            Err(_) => path.to_owned(),
        }
    }

    /// A line with a mark before its first row.
    fn marked(&self, mark: &'static str, style: Style, line: &Line<'_>) -> Vec<Line<'static>> {
        let rows = wrap(line, self.columns.saturating_sub(2).max(8), 0);
        prefixed(rows, &Span::styled(mark, style), &Span::raw("  "))
    }

    /// Rows below a heading.
    fn below(&self, rows: Vec<Line<'static>>) -> Vec<Line<'static>> {
        let bar = Span::styled("  │ ", self.theme.dim);
        prefixed(rows, &bar, &bar)
    }
}

/// The beginning and the end of rows that are too many, with a row between that says how many are left out.
fn bounded(rows: Vec<Line<'static>>, first: usize, last: usize, theme: &Theme) -> Vec<Line<'static>> {
    bounded_by(rows, first, last, |left_out| {
        vec![Line::styled(format!("… {left_out} more lines"), theme.dim)]
    })
}

/// The same with other words between.
fn bounded_by(
    rows: Vec<Line<'static>>,
    first: usize,
    last: usize,
    hint: impl FnOnce(usize) -> Vec<Line<'static>>,
) -> Vec<Line<'static>> {
    if rows.len() <= first + last + 1 {
        return rows;
    }
    let left_out = rows.len() - first - last;
    let mut shown = rows;
    let tail = shown.split_off(shown.len() - last);
    shown.truncate(first);
    shown.extend(hint(left_out));
    shown.extend(tail);
    shown
}

#[cfg(test)]
mod tests;
