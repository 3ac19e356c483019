//! Vim keys: normal and insert mode, motions, operators with counts, text objects, one register.

mod act;
mod object;
mod travel;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::Buffer;
use super::motion::{Class, Grain, at, line_start};
use crate::input::grapheme::{next, previous};
use crate::keys::{Action, Chord};
use act::{Operator, Register, without_line_break};
use object::{Scope, object};
use travel::{Find, Reach, Target, find, first_line, motion, rest_of_words};

/// Nobody counts further.
const MOST_TIMES: usize = 10_000;

/// Whether keys are commands or text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VimMode {
    /// Keys are text.
    #[default]
    Insert,
    /// Keys are commands.
    Normal,
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Vim {
    /// It was taken.
    Taken,
    /// It means this, outside of Vim's own world.
    Means(Action),
    /// It is treated as if there were no Vim.
    Passed,
    /// These keys are pressed again.
    Repeats(Vec<KeyEvent>),
}

/// What the next key is, if it is no command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Awaited {
    #[default]
    Nothing,
    /// The second `g`.
    Line,
    /// A sign to look for.
    Sign { forward: bool, till: bool },
    /// A sign to put here.
    Replacement,
    /// A text object.
    Object(Scope),
}

/// A command that is not complete yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    count: Option<usize>,
    operator: Option<Operator>,
    /// The number before the operator; it multiplies with the one behind.
    operator_count: Option<usize>,
    awaited: Awaited,
}

impl Pending {
    fn times(&self) -> Option<usize> {
        match (self.operator_count, self.count) {
            (None, None) => None,
            (before, behind) => Some((before.unwrap_or(1) * behind.unwrap_or(1)).min(MOST_TIMES)),
        }
    }
}

/// The state of the keys.
#[derive(Clone, Debug, Default)]
pub(super) struct VimKeys {
    mode: VimMode,
    pending: Pending,
    register: Register,
    found: Option<Find>,
    /// The keys of the command that is being typed.
    typed: Vec<KeyEvent>,
    /// The keys of the last change, so that it can be made again.
    change: Vec<KeyEvent>,
    /// Whether the command took a change back, or made it again.
    undid: bool,
    /// Whether what is inserted now belongs to the last change.
    recording: bool,
}

impl VimKeys {
    pub(super) fn mode(&self) -> VimMode {
        self.mode
    }

    /// A new line begins in insert mode.
    pub(super) fn reset(&mut self, buffer: &mut Buffer) {
        // A change that ended with the line ends in the same mode when it is made again.
        self.inserted(&KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        self.pending = Pending::default();
        self.mode = VimMode::Insert;
        self.recording = false;
        self.typed.clear();
        buffer.release();
    }

    pub(super) fn handle(&mut self, key: &KeyEvent, buffer: &mut Buffer) -> Vim {
        if self.mode == VimMode::Insert {
            if key.code != KeyCode::Esc {
                return Vim::Passed;
            }
            self.inserted(key);
            return self.leave_insert(buffer);
        }
        if key.code == KeyCode::Char('.') && self.pending == Pending::default() {
            return Vim::Repeats(self.change.clone());
        }
        let before = buffer.revision();
        self.typed.push(*key);
        let outcome = self.in_normal(key, buffer);
        if self.pending == Pending::default() {
            self.remember_change(buffer.revision() != before);
        }
        outcome
    }

    /// A key that was passed on has edited the text, so it belongs to the change. Keys that send, clear or open
    /// something do not.
    pub(super) fn inserted(&mut self, key: &KeyEvent) {
        if self.recording {
            self.change.push(*key);
        }
    }

    /// A command is complete: the next `.` makes it again, if it was a change and not the undoing of one.
    fn remember_change(&mut self, changed: bool) {
        let keys = std::mem::take(&mut self.typed);
        let inserts = self.mode == VimMode::Insert;
        let undid = std::mem::take(&mut self.undid);
        if (changed || inserts) && !undid {
            self.change = keys;
            self.recording = inserts;
        }
    }

    fn leave_insert(&mut self, buffer: &mut Buffer) -> Vim {
        self.mode = VimMode::Normal;
        self.recording = false;
        buffer.release();
        let start = line_start(buffer.text(), buffer.cursor());
        buffer.go(previous(buffer.text(), buffer.cursor()).max(start));
        Vim::Taken
    }

    fn in_normal(&mut self, key: &KeyEvent, buffer: &mut Buffer) -> Vim {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc if self.pending != Pending::default() => {
                self.pending = Pending::default();
                Vim::Taken
            }
            KeyCode::Backspace => self.command('h', buffer),
            KeyCode::Char('r') if control => {
                self.undid = buffer.redo();
                self.settle(buffer);
                Vim::Taken
            }
            _ => match Chord::pressed(key).and_then(|chord| chord.typed()) {
                Some(letter) => self.command(letter, buffer),
                None => Vim::Passed,
            },
        }
    }

    fn command(&mut self, letter: char, buffer: &mut Buffer) -> Vim {
        let awaited = std::mem::take(&mut self.pending.awaited);
        let meaning = match awaited {
            Awaited::Nothing => self.fresh(letter, buffer),
            Awaited::Line if letter == 'g' => {
                let target = first_line(self.pending.times(), buffer.text());
                self.travel(target, buffer)
            }
            Awaited::Line => Some(Vim::Taken),
            Awaited::Sign { forward, till } => self.seek(Find { letter, forward, till }, buffer),
            Awaited::Replacement => self.put_over(letter, self.pending.times().unwrap_or(1), buffer),
            Awaited::Object(scope) => self.operate_on_object(letter, scope, buffer),
        };
        // None: the command is still incomplete.
        if let Some(outcome) = meaning {
            self.pending = Pending::default();
            self.settle(buffer);
            return outcome;
        }
        Vim::Taken
    }

    /// A key at the beginning of a command or behind an operator.
    fn fresh(&mut self, letter: char, buffer: &mut Buffer) -> Option<Vim> {
        if let Some(digit) = letter.to_digit(10).filter(|digit| *digit > 0 || self.pending.count.is_some()) {
            let count = self.pending.count.unwrap_or(0) * 10 + digit as usize;
            self.pending.count = Some(count.min(MOST_TIMES));
            return None;
        }
        match letter {
            'd' => self.operator(Operator::Delete, buffer),
            'c' => self.operator(Operator::Change, buffer),
            'y' => self.operator(Operator::Yank, buffer),
            'r' if self.pending.operator.is_none() => self.wait_for(Awaited::Replacement),
            'g' => self.wait_for(Awaited::Line),
            'f' => self.wait_for(Awaited::Sign { forward: true, till: false }),
            't' => self.wait_for(Awaited::Sign { forward: true, till: true }),
            'F' => self.wait_for(Awaited::Sign { forward: false, till: false }),
            'T' => self.wait_for(Awaited::Sign { forward: false, till: true }),
            ';' => self.found.map_or(Some(Vim::Taken), |found| self.seek(found, buffer)),
            ',' => match self.found {
                Some(found) => {
                    let outcome = self.seek(Find { forward: !found.forward, ..found }, buffer);
                    self.found = Some(found);
                    outcome
                }
                None => Some(Vim::Taken),
            },
            'i' if self.pending.operator.is_some() => self.wait_for(Awaited::Object(Scope::Inner)),
            'a' if self.pending.operator.is_some() => self.wait_for(Awaited::Object(Scope::Around)),
            'j' if self.pending.operator.is_none() => Some(Vim::Means(Action::Down)),
            'k' if self.pending.operator.is_none() => Some(Vim::Means(Action::Up)),
            '/' if self.pending.operator.is_none() => Some(Vim::Means(Action::HistorySearch)),
            _ => match self.motion_of(letter, buffer) {
                Some(target) => self.travel(target, buffer),
                None => Some(self.simple(letter, self.pending.times().unwrap_or(1), buffer)),
            },
        }
    }

    fn wait_for(&mut self, awaited: Awaited) -> Option<Vim> {
        self.pending.awaited = awaited;
        None
    }

    /// On a word, `cw` changes only the word and not the blanks behind it.
    fn motion_of(&self, letter: char, buffer: &Buffer) -> Option<Target> {
        let (text, from) = (buffer.text(), buffer.cursor());
        let on_word = Grain::Coarse.class(at(text, from)) != Class::Blank;
        let times = self.pending.times();
        match (self.pending.operator, letter) {
            (Some(Operator::Change), 'w') if on_word => {
                Some(rest_of_words(times.unwrap_or(1), text, from, Grain::Fine))
            }
            (Some(Operator::Change), 'W') if on_word => {
                Some(rest_of_words(times.unwrap_or(1), text, from, Grain::Coarse))
            }
            _ => motion(letter, times, text, from),
        }
    }

    fn operator(&mut self, operator: Operator, buffer: &mut Buffer) -> Option<Vim> {
        match self.pending.operator {
            None => {
                self.pending.operator = Some(operator);
                self.pending.operator_count = self.pending.count.take();
                None
            }
            Some(pending) if pending == operator => {
                let down = self.pending.times().unwrap_or(1) - 1;
                let to =
                    motion('j', Some(down), buffer.text(), buffer.cursor()).map_or(0, |target| target.to);
                self.travel(Target { to, reach: Reach::Lines }, buffer)
            }
            Some(_) => Some(Vim::Taken),
        }
    }

    fn seek(&mut self, sought: Find, buffer: &mut Buffer) -> Option<Vim> {
        self.found = Some(sought);
        match find(sought, self.pending.times().unwrap_or(1), buffer.text(), buffer.cursor()) {
            Some(target) => self.travel(target, buffer),
            None => Some(Vim::Taken),
        }
    }

    /// Goes to a place, or lets the operator act on the way there.
    fn travel(&mut self, target: Target, buffer: &mut Buffer) -> Option<Vim> {
        match self.pending.operator {
            None => buffer.go(target.to),
            Some(operator) => {
                let from = buffer.cursor();
                let (start, end) = (from.min(target.to), from.max(target.to));
                match target.reach {
                    Reach::Lines => self.operate_on_lines(operator, start..end, buffer),
                    Reach::Inclusive => self.operate(operator, start..next(buffer.text(), end), buffer),
                    Reach::Exclusive => {
                        let end = without_line_break(buffer.text(), start, end);
                        self.operate(operator, start..end, buffer);
                    }
                }
            }
        }
        Some(Vim::Taken)
    }

    fn operate_on_object(&mut self, letter: char, scope: Scope, buffer: &mut Buffer) -> Option<Vim> {
        if let (Some(operator), Some(range)) =
            (self.pending.operator, object(letter, scope, buffer.text(), buffer.cursor()))
        {
            self.operate(operator, range, buffer);
        }
        Some(Vim::Taken)
    }
}

#[cfg(test)]
mod tests;
