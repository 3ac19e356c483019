//! A text field of several lines: keys to edits.

use std::path::Path;
use std::sync::Arc;

use crossterm::event::KeyEvent;

use super::buffer::Buffer;
use super::fold::{Fold, Folds, Image, dragged_images};
use super::kill::{KillRing, Side};
use super::layout::Layout;
use super::motion;
use super::undo::Stroke;
use crate::input::grapheme::{as_mark, cleaned, next, previous};
use crate::keys::{Action, Chord, Context, Keymap};

/// Texts of more bytes are not shown in full: laying them out would take longer than a key should.
const HUGE: usize = 100_000;
/// The width that is assumed as long as nobody has said another.
const COLUMNS: u16 = 80;

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// It was taken.
    Yes,
    /// It means something that a text field alone cannot do.
    Other(Action),
    /// It means nothing here.
    No,
}

/// A text under edit with all that belongs to editing it.
#[derive(Clone, Debug)]
pub(crate) struct Editor {
    pub(super) buffer: Buffer,
    pub(super) folds: Folds,
    kills: KillRing,
    /// The column that moving up and down strives for.
    goal: Option<usize>,
    columns: u16,
    keys: Arc<Keymap>,
    /// How many keys it has taken.
    strokes: u64,
}

impl Editor {
    pub(crate) fn new(keys: Arc<Keymap>) -> Self {
        Self {
            buffer: Buffer::default(),
            folds: Folds::default(),
            kills: KillRing::default(),
            goal: None,
            columns: COLUMNS,
            keys,
            strokes: 0,
        }
    }

    pub(crate) fn resize(&mut self, columns: u16) {
        if self.columns != columns {
            self.columns = columns;
            self.goal = None;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The text with pastes in full.
    pub(crate) fn expanded(&self) -> String {
        self.folds.expanded(self.buffer.text())
    }

    /// Replaces the whole text, so that undo brings the old one back. Images that it names are attached again.
    pub(crate) fn set(&mut self, text: &str) {
        self.rest();
        let text = cleaned(text);
        let text = if text.len() > HUGE { self.folds.paste(&text) } else { self.folds.recognised(&text) };
        self.buffer.set(&text);
    }

    /// The same text again, marks included.
    pub(super) fn restore(&mut self, text: &str) {
        self.rest();
        self.buffer.set(text);
    }

    /// A new text begins. What was cut from this one can still be inserted.
    pub(super) fn clear(&mut self) {
        self.kills.rewrite(|cut| self.folds.expanded(cut));
        self.folds.clear();
        self.buffer = Buffer::default();
        self.goal = None;
    }

    pub(super) fn keys(&self) -> &Keymap {
        &self.keys
    }

    pub(super) fn layout(&self, columns: u16) -> Layout {
        Layout::new(self.buffer.text(), &self.folds, columns.into())
    }

    /// Takes a key: types it, or does what it is bound to.
    pub(crate) fn handle(&mut self, key: &KeyEvent) -> Edited {
        if let Some(letter) = Chord::pressed(key).and_then(|chord| chord.typed()) {
            self.type_letter(letter);
            return Edited::Yes;
        }
        match self.keys.action(Context::Input, key) {
            Some(action) if self.apply(action) => Edited::Yes,
            Some(action) => Edited::Other(action),
            None => Edited::No,
        }
    }

    /// How many keys were typed or edited something.
    pub(super) fn strokes(&self) -> u64 {
        self.strokes
    }

    fn type_letter(&mut self, letter: char) {
        self.strokes += 1;
        self.rest();
        self.buffer.insert(&cleaned(letter.encode_utf8(&mut [0; 4])), Stroke::Type);
    }

    /// Inserts what was pasted. Returns the images that it consists of, if it is a list of such files.
    pub(crate) fn paste(&mut self, text: &str) -> Vec<Image> {
        match dragged_images(text) {
            Some(paths) => paths.iter().map(|path| self.attach(path)).collect(),
            None => {
                self.paste_text(text);
                Vec::new()
            }
        }
    }

    /// Inserts what was pasted as text, whatever it is.
    pub(crate) fn paste_text(&mut self, text: &str) {
        self.rest();
        let text = self.folds.paste(text);
        self.buffer.insert(&text, Stroke::Whole);
    }

    /// Inserts the label of an image.
    pub(crate) fn attach(&mut self, path: &Path) -> Image {
        self.rest();
        let (mark, image) = self.folds.image(path);
        self.buffer.insert(&mark, Stroke::Whole);
        image
    }

    /// Replaces the label of an image that could not be read by its path.
    pub(crate) fn detach(&mut self, number: usize) {
        let wanted = |cluster: &str| as_mark(cluster).is_some_and(|index| index + 1 == number);
        let text = self.buffer.text();
        let at = motion::skip(text, 0, |cluster| !wanted(cluster));
        let index = number.checked_sub(1);
        if let Some(Fold::Image(path)) = index.and_then(|index| self.folds.get(index))
            && at < text.len()
        {
            let path = cleaned(&path.to_string_lossy());
            self.replace(at..next(self.buffer.text(), at), &path);
        }
    }

    /// Replaces a part of the text as one step.
    pub(super) fn replace(&mut self, range: std::ops::Range<usize>, by: &str) {
        self.rest();
        self.buffer.replace(range, by, Stroke::Whole);
    }

    /// What was begun (cutting on, exchanging what was inserted, keeping the column) is over.
    pub(super) fn rest(&mut self) {
        self.kills.rest();
        self.goal = None;
    }

    /// Does what a text field can do; says whether that was so.
    pub(super) fn apply(&mut self, action: Action) -> bool {
        let is_done = self.go(action) || self.delete(action) || self.cut(action) || self.insert(action);
        self.strokes += u64::from(is_done);
        is_done
    }

    fn go(&mut self, action: Action) -> bool {
        let (text, from) = (self.buffer.text(), self.buffer.cursor());
        let to = match action {
            Action::Left => previous(text, from),
            Action::Right => next(text, from),
            Action::WordLeft => motion::word_left(text, from),
            Action::WordRight => motion::word_right(text, from),
            Action::LineStart => motion::line_start(text, from),
            Action::LineEnd => motion::line_end(text, from),
            Action::TextStart => 0,
            Action::TextEnd => text.len(),
            Action::Up => return self.go_row(-1),
            Action::Down => return self.go_row(1),
            _ => return false,
        };
        self.rest();
        self.buffer.go(to);
        true
    }

    /// Moves by rows as they are seen. At the first and the last row there is nothing to do.
    fn go_row(&mut self, by: isize) -> bool {
        let layout = self.layout(self.columns);
        let (row, column) = layout.position(self.buffer.cursor());
        let Some(target) = row.checked_add_signed(by).filter(|row| *row < layout.rows.len()) else {
            return false;
        };
        let goal = self.goal.unwrap_or(column);
        self.rest();
        self.buffer.go(layout.offset(target, goal));
        self.goal = Some(goal);
        true
    }

    fn delete(&mut self, action: Action) -> bool {
        match action {
            Action::DeleteBack => self.buffer.delete_back(),
            // With nothing to delete the key means something else.
            Action::DeleteForward if self.buffer.is_empty() => return false,
            Action::DeleteForward => self.buffer.delete_forward(),
            _ => return false,
        }
        self.rest();
        true
    }

    fn cut(&mut self, action: Action) -> bool {
        let (text, at) = (self.buffer.text(), self.buffer.cursor());
        let end_of_line = motion::line_end(text, at);
        let (range, side) = match action {
            Action::KillWordBack => (motion::blank_left(text, at)..at, Side::Left),
            Action::KillPartBack => (motion::word_left(text, at)..at, Side::Left),
            Action::KillWordForward => (at..motion::word_right(text, at), Side::Right),
            // At the end of a line, its end is cut.
            Action::KillLineEnd if at == end_of_line => (at..next(text, at), Side::Right),
            Action::KillLineEnd => (at..end_of_line, Side::Right),
            Action::KillLineStart => (motion::line_start(text, at)..at, Side::Left),
            _ => return false,
        };
        self.goal = None;
        let removed = self.buffer.remove(range, Stroke::Whole);
        self.kills.cut(&removed, side);
        true
    }

    fn insert(&mut self, action: Action) -> bool {
        match action {
            Action::Newline => {
                self.rest();
                self.buffer.insert("\n", Stroke::Type);
            }
            Action::Yank => {
                if let Some(text) = self.kills.yank(self.buffer.cursor()) {
                    self.buffer.insert(&text, Stroke::Whole);
                }
            }
            Action::YankOlder => {
                if let Some((range, text)) = self.kills.older() {
                    self.buffer.replace(range, &text, Stroke::Whole);
                }
            }
            Action::Undo => {
                self.rest();
                self.buffer.undo();
            }
            Action::Redo => {
                self.rest();
                self.buffer.redo();
            }
            Action::Unfold => self.unfold(),
            _ => return false,
        }
        true
    }

    /// Shows the folded paste before or at the cursor in full, or else the first one.
    fn unfold(&mut self) {
        let text = self.buffer.text();
        let paste = |at: usize| {
            let index = as_mark(motion::at(text, at))?;
            matches!(self.folds.get(index), Some(Fold::Paste(_))).then_some(at)
        };
        let near = paste(previous(text, self.buffer.cursor())).or_else(|| paste(self.buffer.cursor()));
        let found = near.or_else(|| crate::input::grapheme::clusters(text).find_map(|(at, _)| paste(at)));
        if let Some(at) = found {
            let range = at..next(text, at);
            let full = self.folds.expanded(&text[range.clone()]);
            if full.len() <= HUGE {
                self.replace(range, &full);
            }
        }
    }
}
