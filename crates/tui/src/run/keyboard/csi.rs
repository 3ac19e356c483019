//! Sequences that begin with ESC [.

use crossterm::event::{KeyCode, KeyModifiers};

use super::decode::{Answer, Piece, Word, key};
use crate::screen::Size;

/// Release of a key, where terminals tell it.
const RELEASED: u32 = 3;
/// Length of ESC [.
const INTRODUCER: usize = 2;

/// What follows ESC [.
pub(super) fn piece(rest: &[u8]) -> Piece {
    // The Linux console's function keys have one more bracket.
    if let [b'[', tail @ ..] = rest {
        return match tail.first() {
            Some(letter @ b'A'..=b'E') => {
                Piece::Whole(INTRODUCER + 2, Some(key(KeyCode::F(letter - b'A' + 1), KeyModifiers::NONE)))
            }
            Some(_) => Piece::Whole(INTRODUCER + 1, None),
            None => Piece::Unfinished,
        };
    }
    let Some(end) = rest.iter().position(|byte| !(0x20..0x40).contains(byte)) else {
        return Piece::Unfinished;
    };
    if !(0x40..0x7f).contains(&rest[end]) {
        return Piece::Whole(INTRODUCER + end, None);
    }
    let parameters = std::str::from_utf8(&rest[..end]).unwrap_or_default();
    Piece::Whole(INTRODUCER + end + 1, word(parameters, rest[end]))
}

/// Numbers separated by semicolons, each perhaps with further ones behind colons.
struct Parameters(Vec<Vec<Option<u32>>>);

impl Parameters {
    fn new(text: &str) -> Self {
        Self(
            text.split(';').map(|part| part.split(':').map(|number| number.parse().ok()).collect()).collect(),
        )
    }

    fn get(&self, at: usize, sub: usize) -> Option<u32> {
        *self.0.get(at)?.get(sub)?
    }

    fn small(&self, at: usize) -> Option<u16> {
        u16::try_from(self.get(at, 0)?).ok()
    }

    fn modifiers(&self, at: usize) -> KeyModifiers {
        const BITS: [KeyModifiers; 6] = [
            KeyModifiers::SHIFT,
            KeyModifiers::ALT,
            KeyModifiers::CONTROL,
            KeyModifiers::SUPER,
            KeyModifiers::HYPER,
            KeyModifiers::META,
        ];
        let mask = self.get(at, 0).unwrap_or(1).saturating_sub(1);
        let set = BITS.into_iter().enumerate().filter(|(bit, _)| mask & (1 << bit) != 0);
        set.fold(KeyModifiers::NONE, |all, (_, modifier)| all | modifier)
    }
}

fn word(parameters: &str, last: u8) -> Option<Word> {
    if parameters.starts_with(['?', '<', '>', '=']) {
        return None;
    }
    let parameters = Parameters::new(parameters);
    if parameters.get(1, 1) == Some(RELEASED) {
        return None;
    }
    match last {
        b'R' => {
            let (row, column) = (parameters.small(0)?, parameters.small(1)?);
            Some(Word::Answer(Answer::Cursor(column.saturating_sub(1), row.saturating_sub(1))))
        }
        b't' if parameters.get(0, 0) == Some(8) => {
            let size = Size { width: parameters.small(2)?, height: parameters.small(1)? };
            Some(Word::Answer(Answer::Size(size)))
        }
        b'Z' => Some(key(KeyCode::BackTab, KeyModifiers::SHIFT)),
        b'u' => encoded(&parameters),
        // Other keys with modifiers, as xterm tells them.
        b'~' if parameters.get(0, 0) == Some(27) => {
            let code = named(parameters.get(2, 0)?, parameters.modifiers(1))?;
            Some(key(code, parameters.modifiers(1)))
        }
        b'~' => Some(key(numbered(parameters.get(0, 0)?)?, parameters.modifiers(1))),
        letter => Some(key(letter_key(letter)?, parameters.modifiers(1))),
    }
}

/// A key that is told by a letter.
pub(super) fn letter_key(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        _ => return None,
    })
}

/// A key that is told by a number.
fn numbered(number: u32) -> Option<KeyCode> {
    let function = |first: u32, key: u32| u8::try_from(number - first + key).ok().map(KeyCode::F);
    match number {
        1 | 7 => Some(KeyCode::Home),
        2 => Some(KeyCode::Insert),
        3 => Some(KeyCode::Delete),
        4 | 8 => Some(KeyCode::End),
        5 => Some(KeyCode::PageUp),
        6 => Some(KeyCode::PageDown),
        11..=15 => function(11, 1),
        17..=21 => function(17, 6),
        23..=26 => function(23, 11),
        28..=29 => function(28, 15),
        31..=34 => function(31, 17),
        _ => None,
    }
}

/// A key that is told by its character.
fn encoded(parameters: &Parameters) -> Option<Word> {
    let mut modifiers = parameters.modifiers(1);
    let mut number = parameters.get(0, 0)?;
    if let Some(shifted) = parameters.get(0, 1)
        && modifiers.contains(KeyModifiers::SHIFT)
    {
        number = shifted;
        modifiers.remove(KeyModifiers::SHIFT);
    }
    Some(key(named(number, modifiers)?, modifiers))
}

fn named(number: u32, modifiers: KeyModifiers) -> Option<KeyCode> {
    const KEYPAD: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '/', '*', '-', '+', '\r'];
    const KEYPAD_BEGINS: u32 = 57_399;
    const KEYPAD_MOTIONS: [KeyCode; 10] = [
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Insert,
        KeyCode::Delete,
    ];
    const MOTIONS_BEGIN: u32 = 57_417;
    let within =
        |begin: u32, count: usize| usize::try_from(number.checked_sub(begin)?).ok().filter(|at| *at < count);
    if let Some(at) = within(MOTIONS_BEGIN, KEYPAD_MOTIONS.len()) {
        return Some(KEYPAD_MOTIONS[at]);
    }
    let c = match within(KEYPAD_BEGINS, KEYPAD.len()) {
        Some(at) => KEYPAD[at],
        None => char::from_u32(number)?,
    };
    Some(match c {
        '\r' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        '\t' if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        '\t' => KeyCode::Tab,
        '\u{7f}' => KeyCode::Backspace,
        // Keys without a character of their own have one that nobody may use.
        '\u{e000}'..='\u{f8ff}' => return None,
        c => KeyCode::Char(c),
    })
}
