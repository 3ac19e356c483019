//! A text with a cursor that never stands inside a sign, and everything that changes it.

use std::ops::Range;

use super::undo::{Change, Stroke, Undo};
use crate::input::grapheme;

/// A text under edit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    text: String,
    cursor: usize,
    undo: Undo,
    /// Counts the changes of the text.
    revision: u64,
}

impl Buffer {
    /// The text, folded pastes as marks.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The cursor as a byte offset.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Another number means another text.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// How many steps can be undone.
    pub(crate) fn steps(&self) -> usize {
        self.undo.len()
    }

    /// Moves the cursor; what is edited next is undone by itself.
    pub(crate) fn go(&mut self, to: usize) {
        self.undo.seal();
        self.cursor = grapheme::snap(&self.text, to);
    }

    /// Replaces a part of the text and puts the cursor behind it. Offsets that split a character are moved on.
    pub(crate) fn replace(&mut self, range: Range<usize>, by: &str, stroke: Stroke) {
        let start = char_boundary(&self.text, range.start);
        let end = char_boundary(&self.text, range.end).max(start);
        if start == end && by.is_empty() {
            return;
        }
        let change = Change { at: start, removed: self.text[start..end].to_owned(), inserted: by.to_owned() };
        let before = self.cursor;
        self.text.replace_range(start..end, by);
        self.revision += 1;
        self.cursor = grapheme::snap(&self.text, start + by.len());
        self.undo.record(change, stroke, before, self.cursor);
    }

    /// Inserts at the cursor.
    pub(crate) fn insert(&mut self, text: &str, stroke: Stroke) {
        self.replace(self.cursor..self.cursor, text, stroke);
    }

    /// Removes a part. Returns what it was.
    pub(crate) fn remove(&mut self, range: Range<usize>, stroke: Stroke) -> String {
        let removed = self.text.get(range.clone()).unwrap_or_default().to_owned();
        self.replace(range, "", stroke);
        removed
    }

    /// Replaces everything; the cursor goes to the end.
    pub(crate) fn set(&mut self, text: &str) {
        self.undo.seal();
        self.replace(0..self.text.len(), text, Stroke::Whole);
        self.cursor = self.text.len();
    }

    pub(crate) fn delete_back(&mut self) {
        let start = grapheme::previous(&self.text, self.cursor);
        self.replace(start..self.cursor, "", Stroke::Back);
    }

    pub(crate) fn delete_forward(&mut self) {
        let end = grapheme::next(&self.text, self.cursor);
        self.replace(self.cursor..end, "", Stroke::Forward);
    }

    pub(crate) fn undo(&mut self) -> bool {
        let cursor = self.undo.undo(&mut self.text);
        self.revision += 1;
        self.cursor = cursor.unwrap_or(self.cursor);
        cursor.is_some()
    }

    pub(crate) fn redo(&mut self) -> bool {
        let cursor = self.undo.redo(&mut self.text);
        self.revision += 1;
        self.cursor = cursor.unwrap_or(self.cursor);
        cursor.is_some()
    }

    /// Everything until [`Buffer::release`] is undone at once.
    pub(crate) fn hold(&mut self) {
        self.undo.hold();
    }

    pub(crate) fn release(&mut self) {
        self.undo.release();
    }
}

fn char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
