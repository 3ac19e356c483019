//! A text field within a dialog.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};

use crate::input::{Edited, Editor, draw};
use crate::keys::{Action, Context, Keymap};
use crate::text::paragraphs;
use crate::theme::Theme;

/// Rows that the field takes at most.
const ROWS: u16 = 6;
/// What stands before the text.
const SIGN: &str = "  › ";

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It was taken.
    More,
    /// The text is finished; it may be empty.
    Done(String),
    /// The user does not want to write after all.
    Cancelled,
    /// The key means nothing here.
    Ignored,
}

/// A field with the question that it answers.
#[derive(Clone, Debug)]
pub(super) struct Feedback {
    question: String,
    editor: Editor,
    /// The columns of the field when it was drawn last: what is above and below a place depends on them.
    columns: Cell<Option<u16>>,
    keys: Arc<Keymap>,
}

impl Feedback {
    pub(super) fn new(question: &str, text: &str, keys: &Arc<Keymap>) -> Self {
        let mut editor = Editor::new(Arc::clone(keys));
        editor.set(text);
        Self { question: question.to_owned(), editor, columns: Cell::new(None), keys: Arc::clone(keys) }
    }

    pub(super) fn handle(&mut self, key: &KeyEvent) -> Written {
        if self.keys.action(Context::Dialog, key) == Some(Action::Cancel) {
            return Written::Cancelled;
        }
        if let Some(columns) = self.columns.get() {
            self.editor.resize(columns);
        }
        match self.editor.handle(key) {
            Edited::Yes => Written::More,
            Edited::Other(Action::Submit) => Written::Done(self.text()),
            Edited::Other(_) | Edited::No => Written::Ignored,
        }
    }

    /// What is written so far.
    pub(super) fn text(&self) -> String {
        self.editor.expanded().trim().to_owned()
    }

    /// Takes a paste as text: an answer has no room for images, and their paths are words like others.
    pub(super) fn paste(&mut self, text: &str) {
        self.editor.paste_text(text);
    }

    /// The rows, which of them must be seen, and the caret.
    pub(super) fn rows(
        &self,
        columns: u16,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, Range<usize>, Option<(u16, u16)>) {
        let margin = u16::try_from(SIGN.len().min(4)).unwrap_or(0).min(columns / 3);
        let mut rows = paragraphs(&self.question, columns, theme.strong);
        let above = rows.len();
        self.columns.set(Some(columns - margin));
        let field = draw(&self.editor, columns - margin, ROWS, theme.text, theme);
        for (number, line) in field.lines.into_iter().enumerate() {
            let lead = if number == 0 { SIGN } else { "    " };
            let lead: String = lead.chars().take(margin.into()).collect();
            let mut spans = vec![Span::styled(lead, theme.accent)];
            spans.extend(line.spans);
            rows.push(Line::from(spans));
        }
        let above_rows = u16::try_from(above).unwrap_or(u16::MAX);
        let cursor = field.cursor.map(|(column, row)| (column + margin, row.saturating_add(above_rows)));
        let focus = above..rows.len();
        (rows, focus, cursor)
    }
}
