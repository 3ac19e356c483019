//! What commands of normal mode do to the text.

use std::ops::Range;

use super::super::buffer::Buffer;
use super::super::motion::{line, line_end, line_indent, line_start};
use super::super::undo::Stroke;
use super::{Vim, VimKeys, VimMode};
use crate::input::grapheme::{cleaned, next, previous};

/// What is done with the text that a motion passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Delete,
    Change,
    Yank,
}

/// The text that was deleted or yanked last.
#[derive(Clone, Debug, Default)]
pub(super) struct Register {
    text: String,
    lines: bool,
}

/// The side of the cursor on which something is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Before,
    Behind,
}

impl VimKeys {
    pub(super) fn operate(&mut self, operator: Operator, range: Range<usize>, buffer: &mut Buffer) {
        if range.is_empty() && operator != Operator::Change {
            return;
        }
        self.register = Register { text: buffer.text()[range.clone()].to_owned(), lines: false };
        match operator {
            Operator::Yank => buffer.go(range.start),
            Operator::Delete => buffer.replace(range, "", Stroke::Whole),
            Operator::Change => {
                self.enter_insert(buffer);
                buffer.go(range.start);
                buffer.replace(range, "", Stroke::Whole);
            }
        }
    }

    pub(super) fn operate_on_lines(&mut self, operator: Operator, range: Range<usize>, buffer: &mut Buffer) {
        let text = buffer.text();
        let lines = line_start(text, range.start)..line_end(text, range.end);
        self.register = Register { text: text[lines.clone()].to_owned(), lines: true };
        match operator {
            Operator::Yank => buffer.go(range.start),
            Operator::Change => {
                self.enter_insert(buffer);
                buffer.go(lines.start);
                buffer.replace(lines, "", Stroke::Whole);
            }
            Operator::Delete => {
                let whole = if lines.end < text.len() {
                    lines.start..lines.end + 1
                } else {
                    lines.start.saturating_sub(1)..lines.end
                };
                buffer.replace(whole, "", Stroke::Whole);
                buffer.go(line_indent(buffer.text(), buffer.cursor()));
            }
        }
    }

    /// Commands that need nothing behind them.
    pub(super) fn simple(&mut self, letter: char, times: usize, buffer: &mut Buffer) -> Vim {
        let (text, from) = (buffer.text(), buffer.cursor());
        let line = line(text, from);
        match letter {
            'x' => self.operate(Operator::Delete, from..signs_on(text, from, times), buffer),
            'X' => self.operate(Operator::Delete, signs_back(text, from, times)..from, buffer),
            's' => self.operate(Operator::Change, from..signs_on(text, from, times), buffer),
            'D' => self.operate(Operator::Delete, from..line.end, buffer),
            'C' => self.operate(Operator::Change, from..line.end, buffer),
            'S' => self.operate_on_lines(Operator::Change, line, buffer),
            'Y' => self.operate_on_lines(Operator::Yank, from..from, buffer),
            'i' => self.insert_at(from, buffer),
            'a' => self.insert_at(next(text, from).min(line.end), buffer),
            'I' => self.insert_at(line_indent(text, from), buffer),
            'A' => self.insert_at(line.end, buffer),
            'o' => self.open_line(line.end, Place::Behind, buffer),
            'O' => self.open_line(line.start, Place::Before, buffer),
            'p' => self.put(times, Place::Behind, buffer),
            'P' => self.put(times, Place::Before, buffer),
            'u' => {
                self.undid = (0..times).take_while(|_| buffer.undo()).count() > 0;
            }
            _ => {}
        }
        Vim::Taken
    }

    /// Replaces signs by a letter, if the line has so many.
    pub(super) fn put_over(&mut self, letter: char, times: usize, buffer: &mut Buffer) -> Option<Vim> {
        let from = buffer.cursor();
        let line = line(buffer.text(), from);
        let enough = buffer.text()[from..line.end].chars().count() >= times;
        if enough {
            let by = cleaned(&letter.to_string()).repeat(times);
            buffer.replace(from..signs_on(buffer.text(), from, times), &by, Stroke::Whole);
            buffer.go(previous(buffer.text(), buffer.cursor()));
        }
        Some(Vim::Taken)
    }

    pub(super) fn enter_insert(&mut self, buffer: &mut Buffer) {
        self.mode = VimMode::Insert;
        buffer.hold();
    }

    fn insert_at(&mut self, at: usize, buffer: &mut Buffer) {
        buffer.go(at);
        self.enter_insert(buffer);
    }

    fn open_line(&mut self, at: usize, place: Place, buffer: &mut Buffer) {
        self.insert_at(at, buffer);
        buffer.insert("\n", Stroke::Whole);
        if place == Place::Before {
            buffer.go(at);
        }
    }

    fn put(&mut self, times: usize, place: Place, buffer: &mut Buffer) {
        if self.register.text.is_empty() && !self.register.lines {
            return;
        }
        let (text, from) = (buffer.text(), buffer.cursor());
        let line = line(text, from);
        if self.register.lines {
            let (at, copies) = match place {
                Place::Behind => (line.end, format!("\n{}", self.register.text).repeat(times)),
                Place::Before => (line.start, format!("{}\n", self.register.text).repeat(times)),
            };
            let first = if place == Place::Behind { at + 1 } else { at };
            buffer.replace(at..at, &copies, Stroke::Whole);
            buffer.go(line_indent(buffer.text(), first));
        } else {
            let at = if place == Place::Behind { next(text, from).min(line.end) } else { from };
            buffer.replace(at..at, &self.register.text.repeat(times), Stroke::Whole);
            buffer.go(previous(buffer.text(), buffer.cursor()));
        }
    }

    /// In normal mode the cursor stands on a sign, not behind the last one of a line.
    pub(super) fn settle(&mut self, buffer: &mut Buffer) {
        let (text, at) = (buffer.text(), buffer.cursor());
        let line = line(text, at);
        if self.mode == VimMode::Normal && at == line.end && at > line.start {
            buffer.go(previous(text, at));
        }
    }
}

fn signs_on(text: &str, from: usize, times: usize) -> usize {
    let end = line_end(text, from);
    (0..times).fold(from, |to, _| next(text, to).min(end))
}

fn signs_back(text: &str, from: usize, times: usize) -> usize {
    let start = line_start(text, from);
    (0..times).fold(from, |to, _| previous(text, to).max(start))
}

/// A motion that ends at the beginning of a line leaves the end of the line before alone.
pub(super) fn without_line_break(text: &str, start: usize, end: usize) -> usize {
    let passed = &text[start..end];
    match passed.rfind('\n') {
        Some(newline) if newline > 0 && passed[newline..].trim().is_empty() => start + newline,
        _ => end,
    }
}
