//! Results of calls: a list, and each of them in full.

use std::sync::Arc;

use crossterm::event::KeyEvent;

use super::list::{Entry, Listing, Mark};
use super::{Page, PanelOutcome};
use crate::dialog::Body;
use crate::keys::{Action, Context, Keymap};
use crate::theme::Theme;
use crate::view::View;

/// A result.
#[derive(Debug)]
pub struct ResultRow {
    /// The call, in one line.
    pub title: String,
    /// What there is to say about its result, in a few words.
    pub detail: String,
    /// All of it.
    pub(crate) body: Body,
}

/// The list, oldest first.
#[derive(Debug)]
pub struct Results {
    rows: Vec<ResultRow>,
    mark: Mark,
    /// The one that is unfolded.
    open: Option<(usize, Page)>,
    /// Whether there were more.
    is_cut: bool,
    keys: Arc<Keymap>,
}

impl Results {
    /// A list in which the newest is marked; and whether older ones are missing.
    #[must_use]
    pub fn new(rows: Vec<ResultRow>, is_cut: bool, keys: Arc<Keymap>) -> Self {
        Self { mark: Mark::at_end_of(rows.len()), rows, open: None, is_cut, keys }
    }

    /// Takes a key. The key that opened it closes it.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        if self.keys.action(Context::Global, &key) == Some(Action::ExpandOutput) {
            return PanelOutcome::Closed;
        }
        if let Some((_, page)) = &mut self.open {
            let outcome = page.handle(key);
            if outcome == PanelOutcome::Closed {
                self.open = None;
                return PanelOutcome::Handled;
            }
            return outcome;
        }
        match self.keys.in_page(&key) {
            Some(Action::Cancel) => PanelOutcome::Closed,
            Some(Action::Accept) => self.unfold(),
            Some(action) if self.mark.act(action) => PanelOutcome::Handled,
            _ => PanelOutcome::Ignored,
        }
    }

    fn unfold(&mut self) -> PanelOutcome {
        let title = self.rows.get(self.mark.at).map(|row| row.title.clone());
        self.open = title.map(|title| (self.mark.at, Page::new(title, Arc::clone(&self.keys))));
        PanelOutcome::Handled
    }

    /// The list around the marked one, or the one that is unfolded.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        if let Some((index, page)) = &self.open
            && let Some(row) = self.rows.get(*index)
        {
            return page.view(row.body.lines(columns, theme), columns, height, theme);
        }
        let keys = |action| self.keys.hint(action);
        let older = if self.is_cut { " · older ones: /export" } else { "" };
        let listing = Listing {
            title: "Results",
            entries: self.rows.iter().map(|row| Entry { text: &row.title, detail: &row.detail }).collect(),
            mark: self.mark,
            hint: format!("{} show in full · {} close{older}", keys(Action::Accept), keys(Action::Cancel)),
        };
        listing.view(columns, height, theme)
    }
}
