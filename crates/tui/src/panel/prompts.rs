//! Prompts of the conversation, to go back to before one of them.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use tiller_protocol::rewind::RewindTarget;

use super::PanelOutcome;
use super::list::{Entry, Listing, Mark};
use crate::dialog::{Form, Said};
use crate::keys::{Action, Keymap};
use crate::theme::Theme;
use crate::view::View;

/// What is asked.
const QUESTION: &str = "Go back to before which prompt?";

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
    mark: Mark,
    keys: Arc<Keymap>,
}

impl Prompts {
    /// A list in which the last entry is marked.
    #[must_use]
    pub fn new(rows: Vec<PromptRow>, keys: Arc<Keymap>) -> Self {
        Self { mark: Mark::at_end_of(rows.len()), rows, keys }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        match self.keys.in_page(&key) {
            Some(Action::Cancel) => PanelOutcome::Closed,
            Some(Action::Accept) => self.chosen(self.mark.at),
            Some(action) if self.mark.act(action) => PanelOutcome::Handled,
            _ => PanelOutcome::Ignored,
        }
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
        let keys = |action| self.keys.hint(action);
        let listing = Listing {
            title: QUESTION,
            entries: self.rows.iter().map(|row| Entry { text: &row.text, detail: &row.detail }).collect(),
            mark: self.mark,
            hint: format!("{} see what would change · {} close", keys(Action::Accept), keys(Action::Cancel)),
        };
        listing.view(columns, height, theme)
    }
}
