//! Prompts of the conversation, to go back to before one of them.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};
use tiller_protocol::rewind::RewindTarget;

use super::PanelOutcome;
use super::list::window;
use crate::dialog::{Form, Said, wrapped_title};
use crate::keys::{Action, Context, Keymap};
use crate::text::{clean, fit_line, wrap, wrap_some};
use crate::theme::Theme;
use crate::view::View;

/// What is asked.
const QUESTION: &str = "Go back to before which prompt?";
/// Rows of a prompt, and of what came of it.
const ENTRY_ROWS: usize = 2;
/// Entries that a page of the list has.
const PAGE: usize = 10;

/// A place to go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptRow {
    /// Where to.
    pub target: RewindTarget,
    /// The prompt.
    pub text: String,
    /// What came of it, in a few words; may be empty.
    pub detail: String,
}

/// The list, oldest first.
#[derive(Debug)]
pub struct Prompts {
    rows: Vec<PromptRow>,
    marked: usize,
    keys: Arc<Keymap>,
}

impl Prompts {
    /// A list in which the last entry is marked.
    #[must_use]
    pub fn new(rows: Vec<PromptRow>, keys: Arc<Keymap>) -> Self {
        let marked = rows.len().saturating_sub(1);
        Self { rows, marked, keys }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        let last = self.rows.len().saturating_sub(1);
        match self.keys.action(Context::Dialog, &key) {
            Some(Action::Next) => self.marked = (self.marked + 1).min(last),
            Some(Action::Previous) => self.marked = self.marked.saturating_sub(1),
            Some(Action::PageDown) => self.marked = (self.marked + PAGE).min(last),
            Some(Action::PageUp) => self.marked = self.marked.saturating_sub(PAGE),
            Some(Action::Cancel) => return PanelOutcome::Closed,
            Some(Action::Accept) => return self.chosen(self.marked),
            _ => return PanelOutcome::Ignored,
        }
        PanelOutcome::Handled
    }

    /// What a line can answer.
    pub(crate) fn form(&self) -> Form {
        Form::choices(self.rows.len())
    }

    /// Takes the answer of a line.
    pub(crate) fn say(&self, said: &Said) -> PanelOutcome {
        said.index().map_or(PanelOutcome::Closed, |index| self.chosen(index))
    }

    fn chosen(&self, index: usize) -> PanelOutcome {
        self.rows.get(index).map_or(PanelOutcome::Closed, |row| PanelOutcome::GoBack(row.target))
    }

    /// The prompts around the marked one.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let mut lines = wrapped_title(QUESTION, columns, theme.accent);
        let entries: Vec<Vec<Line<'static>>> =
            self.rows.iter().enumerate().map(|(index, row)| self.entry(index, row, columns, theme)).collect();
        if theme.is_printed {
            lines.extend(entries.into_iter().flatten());
        } else {
            let keys = |action| self.keys.hint(action);
            let hint =
                format!("{} see what would change · {} close", keys(Action::Accept), keys(Action::Cancel));
            let hint = wrap(&Line::styled(hint, theme.dim), columns, 0);
            let room = usize::from(height).saturating_sub(lines.len() + hint.len());
            lines.extend(window(&entries, self.marked, room));
            lines.extend(hint);
        }
        lines.truncate(height.into());
        View::of(lines.into_iter().map(|line| fit_line(line, columns.into())).collect())
    }

    fn entry(&self, index: usize, row: &PromptRow, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let marked = index == self.marked && !theme.is_printed;
        let style = if marked { theme.selected } else { theme.text };
        let lead = match (theme.is_printed, marked) {
            (true, _) => format!("  {}. ", index + 1),
            (false, true) => "› ".to_owned(),
            (false, false) => "  ".to_owned(),
        };
        let text = clean(&row.text).trim().replace('\n', " ⏎ ");
        let text = Line::from(vec![Span::styled(lead, theme.accent), Span::styled(text, style)]);
        let mut lines = wrap_some(&text, columns, 2, ENTRY_ROWS);
        if !row.detail.is_empty() {
            let detail = Line::styled(format!("    {}", clean(&row.detail)), theme.dim);
            lines.extend(wrap_some(&detail, columns, 4, ENTRY_ROWS));
        }
        lines
    }
}
