//! What runs in the background, and what did: a list, and what each has printed.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use super::list::{Entry, Listing, Mark};
use super::{Page, PanelOutcome};
use crate::keys::{Action, Context, Keymap};
use crate::text::output_rows;
use crate::theme::Theme;
use crate::view::View;

/// A background task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The id by which it is stopped.
    pub id: String,
    /// Where it stands, and what it is.
    pub title: String,
    /// Whether it can be stopped.
    pub is_running: bool,
    /// What there is to read besides its output.
    pub detail: String,
}

/// The list, oldest first.
#[derive(Debug)]
pub struct Tasks {
    rows: Vec<TaskRow>,
    mark: Mark,
    /// The one that is looked at, and what it has printed, if that is known yet.
    open: Option<(String, Page, Option<String>)>,
    keys: Arc<Keymap>,
}

impl Tasks {
    /// A list in which the newest is marked.
    #[must_use]
    pub fn new(rows: Vec<TaskRow>, keys: Arc<Keymap>) -> Self {
        Self { mark: Mark::at_end_of(rows.len()), rows, open: None, keys }
    }

    /// The list as it is now; the mark stays where it is.
    pub fn renew(&mut self, rows: Vec<TaskRow>) {
        self.mark.last = rows.len().saturating_sub(1);
        self.rows = rows;
    }

    /// What a task has printed.
    pub fn printed(&mut self, id: &str, text: &str) {
        if let Some((open, _, printed)) = &mut self.open
            && open == id
        {
            *printed = Some(text.to_owned());
        }
    }

    /// The task that is marked or looked at.
    #[must_use]
    pub fn marked(&self) -> Option<&TaskRow> {
        match &self.open {
            Some((id, ..)) => self.rows.iter().find(|row| row.id == *id),
            None => self.rows.get(self.mark.at),
        }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        let action = self.keys.action(Context::Dialog, &key);
        if action == Some(Action::Drop) {
            let runs = self.marked().is_some_and(|row| row.is_running);
            return if runs { PanelOutcome::StopTask } else { PanelOutcome::Handled };
        }
        if let Some((_, page, _)) = &mut self.open {
            let outcome = page.handle(key);
            if outcome == PanelOutcome::Closed {
                self.open = None;
                return PanelOutcome::Handled;
            }
            return outcome;
        }
        match action {
            Some(Action::Cancel) => PanelOutcome::Closed,
            Some(Action::Accept) => self.look(),
            Some(action) if self.mark.act(action) => PanelOutcome::Handled,
            _ => PanelOutcome::Ignored,
        }
    }

    fn look(&mut self) -> PanelOutcome {
        let Some(row) = self.rows.get(self.mark.at) else { return PanelOutcome::Handled };
        self.open = Some((row.id.clone(), Page::new(row.id.clone(), Arc::clone(&self.keys)), None));
        PanelOutcome::ShowTask
    }

    /// The list, or what the task that is looked at has printed.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let keys = |action| self.keys.hint(action);
        if let (Some((_, page, printed)), Some(row)) = (&self.open, self.marked()) {
            return page.view(page_lines(row, printed.as_deref(), columns, theme), columns, height, theme);
        }
        let listing = Listing {
            title: "Background tasks",
            entries: self.rows.iter().map(|row| Entry { text: &row.title, detail: &row.detail }).collect(),
            mark: self.mark,
            hint: format!(
                "{} output · {} stop · {} close",
                keys(Action::Accept),
                keys(Action::Drop),
                keys(Action::Cancel)
            ),
        };
        listing.view(columns, height, theme)
    }
}

fn page_lines(row: &TaskRow, printed: Option<&str>, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = output_rows(&row.title, columns, theme.strong);
    if !row.detail.is_empty() {
        lines.extend(output_rows(&row.detail, columns, theme.dim));
    }
    lines.push(Line::default());
    match printed.map(str::trim_end) {
        None => lines.push(Line::styled("one moment …", theme.dim)),
        Some("") => lines.push(Line::styled("nothing was printed since the agent last looked", theme.dim)),
        Some(text) => lines.extend(output_rows(text, columns, theme.text)),
    }
    lines
}
