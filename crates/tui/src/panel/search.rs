//! A field above a list: what is typed there decides what the list shows.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::keys::Chord;
use crate::text::{clean, fit, width};
use crate::theme::Theme;

/// What stands before the text.
const LEAD: &str = "search: ";

/// The words that are searched for.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    query: String,
}

impl Search {
    /// Takes a key if it writes something; says whether that was so.
    pub(super) fn take(&mut self, key: &KeyEvent) -> bool {
        match Chord::pressed(key).and_then(|chord| chord.typed()) {
            Some(letter) => self.query.push(letter),
            None if key.code == KeyCode::Backspace => _ = self.query.pop(),
            None => return false,
        }
        true
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.query.push_str(&clean(text.trim()).replace('\n', " "));
    }

    /// What was written.
    pub(super) fn query(&self) -> &str {
        self.query.trim()
    }

    /// Whether a text has all of the words.
    pub(super) fn fits(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.query.split_whitespace().all(|word| text.contains(&word.to_lowercase()))
    }

    /// The field, and the column of the caret.
    pub(super) fn field(&self, columns: u16, theme: &Theme) -> (Line<'static>, u16) {
        let query = fit(&self.query, usize::from(columns).saturating_sub(LEAD.len() + 1));
        let caret = u16::try_from(LEAD.len() + width(&query)).unwrap_or(u16::MAX);
        let line = Line::from(vec![Span::styled(LEAD, theme.accent), Span::raw(query)]);
        (line, caret.min(columns.saturating_sub(1)))
    }
}
