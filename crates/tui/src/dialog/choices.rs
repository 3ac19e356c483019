//! A short list of which one entry is chosen, by arrows or by its number.

use std::ops::Range;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};

use crate::keys::{Action, Chord, Context, Keymap};
use crate::text::{fit_line, prefixed, wrap};
use crate::theme::Theme;

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Another entry is marked.
    Moved,
    /// An entry was chosen.
    Chosen(usize),
    /// The key means something else.
    Other,
}

/// An entry as it is shown.
pub(crate) struct Entry {
    /// What is chosen.
    pub(crate) label: Line<'static>,
    /// What is shown below it.
    pub(crate) detail: Vec<Line<'static>>,
}

impl Entry {
    pub(crate) fn new(label: impl Into<String>) -> Self {
        Self { label: Line::raw(label.into()), detail: Vec::new() }
    }
}

/// Which entry of a list is marked.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    count: usize,
    marked: usize,
}

impl Choices {
    pub(crate) fn new(count: usize) -> Self {
        Self { count, marked: 0 }
    }

    pub(crate) fn marked(&self) -> usize {
        self.marked
    }

    pub(crate) fn mark(&mut self, index: usize) {
        self.marked = index.min(self.count.saturating_sub(1));
    }

    pub(crate) fn handle(&mut self, key: &KeyEvent, keys: &Keymap) -> Pick {
        match keys.action(Context::Dialog, key) {
            Some(Action::Next) => self.marked = (self.marked + 1) % self.count.max(1),
            Some(Action::Previous) => {
                self.marked = self.marked.checked_sub(1).unwrap_or(self.count.saturating_sub(1));
            }
            Some(Action::Accept) => return Pick::Chosen(self.marked),
            _ => {
                let digit = Chord::pressed(key).and_then(|chord| chord.typed()?.to_digit(10));
                let index = digit.and_then(|digit| (digit as usize).checked_sub(1));
                let Some(index) = index.filter(|index| *index < self.count) else { return Pick::Other };
                self.marked = index;
                return Pick::Chosen(index);
            }
        }
        Pick::Moved
    }

    /// The rows of the entries, and which of them belong to the marked one.
    pub(crate) fn rows(
        &self,
        entries: Vec<Entry>,
        columns: u16,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, Range<usize>) {
        let mut rows: Vec<Line<'static>> = Vec::new();
        let mut focus = 0..0;
        for (index, entry) in entries.into_iter().enumerate() {
            let start = rows.len();
            let marked = index == self.marked && !theme.is_printed;
            let lead = format!("{} {}. ", if marked { "›" } else { " " }, index + 1);
            let style = if marked { theme.selected } else { theme.text };
            let indent = Span::raw(" ".repeat(lead.chars().count().min(usize::from(columns / 3))));
            let room = columns.saturating_sub(5).max(1);
            let lead = Span::styled(lead, if marked { theme.accent } else { theme.dim });
            rows.extend(prefixed(wrap(&entry.label.style(style), room, 0), &lead, &indent));
            let detail = entry.detail.iter().flat_map(|line| wrap(line, room, 2)).collect();
            rows.extend(prefixed(detail, &indent, &indent));
            if marked {
                focus = start..rows.len();
            }
        }
        let rows = rows.into_iter().map(|row| fit_line(row, columns.into())).collect();
        (rows, focus)
    }
}
