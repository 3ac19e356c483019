//! Bytes from a terminal as keys, pastes and answers.
//!
//! Whatever is not understood is left out: an answer that comes late or was never asked for must not end up in the
//! input as text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::csi;
use crate::screen::Size;
use crate::theme::Rgb;

/// What a terminal says.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) enum Word {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal answers a question.
    Answer(Answer),
}

/// An answer to a question that was asked of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Answer {
    /// Column and row of the cursor.
    Cursor(u16, u16),
    /// How large it is.
    Size(Size),
    /// What is behind the text.
    Background(Rgb),
}

/// What every sequence begins with.
pub(super) const ESCAPE: u8 = 0x1b;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// No answer that is understood is longer.
const LONGEST_ANSWER: usize = 256;

/// What the beginning of the bytes is.
pub(super) enum Piece {
    /// More bytes are needed.
    Unfinished,
    /// So many bytes are this, or nothing that matters.
    Whole(usize, Option<Word>),
}

/// What the bytes so far may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    Nothing,
    /// A key, which they are already, or something longer.
    Key,
    /// A character, a key or an answer: nobody types the beginning of one.
    Sequence,
    /// A paste, however long.
    Paste,
}

/// Turns bytes into words as they come.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    /// How far a paste was searched for its end.
    searched: usize,
}

impl Decoder {
    /// Takes bytes; gives what is complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Word> {
        self.bytes.extend_from_slice(bytes);
        let mut words = Vec::new();
        let mut done = 0;
        while let Piece::Whole(length, word) = self.piece(done) {
            done += length;
            words.extend(word);
        }
        self.bytes.drain(..done);
        words
    }

    /// Whether nothing has begun.
    pub(super) fn is_idle(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What has begun, and may come to nothing.
    pub(super) fn begun(&self) -> Begun {
        match self.bytes.as_slice() {
            [] => Begun::Nothing,
            // The first two bytes of an answer may also be a key that was pressed, with Alt or without.
            [0x1b] | [0x1b, _] => Begun::Key,
            bytes if bytes.starts_with(PASTE_BEGINS) => Begun::Paste,
            _ => Begun::Sequence,
        }
    }

    /// Nothing more came: what has begun is what it is.
    pub(super) fn settle(&mut self) -> Vec<Word> {
        let bytes = std::mem::take(&mut self.bytes);
        match bytes.as_slice() {
            [0x1b] => vec![key(KeyCode::Esc, KeyModifiers::NONE)],
            [0x1b, letter] => vec![key(KeyCode::Char(char::from(*letter)), KeyModifiers::ALT)],
            _ => Vec::new(),
        }
    }

    fn piece(&mut self, at: usize) -> Piece {
        let bytes = &self.bytes[at..];
        if bytes.is_empty() {
            return Piece::Unfinished;
        }
        if bytes.starts_with(PASTE_BEGINS) {
            return self.paste(at);
        }
        piece(bytes)
    }

    fn paste(&mut self, at: usize) -> Piece {
        let text = &self.bytes[at + PASTE_BEGINS.len()..];
        let from = self.searched.min(text.len());
        let Some(end) = find(&text[from..], PASTE_ENDS).map(|end| end + from) else {
            self.searched = text.len().saturating_sub(PASTE_ENDS.len());
            return Piece::Unfinished;
        };
        self.searched = 0;
        let pasted = String::from_utf8_lossy(&text[..end]).into_owned();
        Piece::Whole(PASTE_BEGINS.len() + end + PASTE_ENDS.len(), Some(Word::Paste(pasted)))
    }
}

/// The answer at the beginning of the bytes, or something that is not understood and nobody has typed, and how long it is.
pub(super) fn answer(bytes: &[u8]) -> Option<(usize, Option<Answer>)> {
    if bytes[0] != ESCAPE || bytes.starts_with(PASTE_BEGINS) {
        return None;
    }
    match piece(bytes) {
        Piece::Whole(length, Some(Word::Answer(answer))) => Some((length, Some(answer))),
        Piece::Whole(length, None) => Some((length, None)),
        Piece::Whole(_, Some(_)) | Piece::Unfinished => None,
    }
}

pub(super) fn key(code: KeyCode, modifiers: KeyModifiers) -> Word {
    Word::Key(KeyEvent::new(code, modifiers))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Whether a string begins that ends with BEL or ESC \.
fn is_string(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1b, b']' | b'P' | b'_' | b'^' | b'X', ..])
}

fn piece(bytes: &[u8]) -> Piece {
    match bytes {
        [0x1b] => Piece::Unfinished,
        [0x1b, 0x1b, ..] => Piece::Whole(1, Some(key(KeyCode::Esc, KeyModifiers::NONE))),
        [0x1b, b'[', rest @ ..] => csi::piece(rest),
        [0x1b, b'O', rest @ ..] => application_key(rest),
        _ if is_string(bytes) => string(bytes),
        [0x1b, rest @ ..] => match piece(rest) {
            Piece::Whole(length, Some(Word::Key(pressed))) => {
                Piece::Whole(length + 1, Some(key(pressed.code, pressed.modifiers | KeyModifiers::ALT)))
            }
            Piece::Whole(length, _) => Piece::Whole(length + 1, None),
            Piece::Unfinished => Piece::Unfinished,
        },
        [byte, ..] => match control(*byte) {
            Some(word) => Piece::Whole(1, Some(word)),
            None => character(bytes),
        },
        [] => Piece::Unfinished,
    }
}

fn control(byte: u8) -> Option<Word> {
    let with_control =
        |first: u8, letter: u8| key(KeyCode::Char(char::from(byte - first + letter)), KeyModifiers::CONTROL);
    Some(match byte {
        b'\r' => key(KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => key(KeyCode::Tab, KeyModifiers::NONE),
        0x7f => key(KeyCode::Backspace, KeyModifiers::NONE),
        0 => key(KeyCode::Char(' '), KeyModifiers::CONTROL),
        0x01..=0x1a => with_control(0x01, b'a'),
        0x1c..=0x1f => with_control(0x1c, b'4'),
        _ => return None,
    })
}

fn character(bytes: &[u8]) -> Piece {
    let length = match bytes[0] {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return Piece::Whole(1, None),
    };
    let Some(own) = bytes.get(..length) else { return Piece::Unfinished };
    let Some(c) = std::str::from_utf8(own).ok().and_then(|text| text.chars().next()) else {
        return Piece::Whole(1, None);
    };
    let modifiers = if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    Piece::Whole(length, Some(key(KeyCode::Char(c), modifiers)))
}

fn application_key(rest: &[u8]) -> Piece {
    let Some(letter) = rest.first() else { return Piece::Unfinished };
    let code = match letter {
        b'M' => Some(KeyCode::Enter),
        letter => csi::letter_key(*letter),
    };
    Piece::Whole(3, code.map(|code| key(code, KeyModifiers::NONE)))
}

fn string(bytes: &[u8]) -> Piece {
    let body = &bytes[2..];
    let bell = body.iter().position(|byte| *byte == 7).map(|at| (at, 1));
    let terminator = find(body, b"\x1b\\").map(|at| (at, 2));
    let Some((end, mark)) = [bell, terminator].into_iter().flatten().min() else {
        return if bytes.len() < LONGEST_ANSWER {
            Piece::Unfinished
        } else {
            Piece::Whole(bytes.len(), None)
        };
    };
    let answer = std::str::from_utf8(&body[..end]).ok().filter(|_| bytes[1] == b']').and_then(background);
    Piece::Whole(2 + end + mark, answer.map(|color| Word::Answer(Answer::Background(color))))
}

/// A colour as terminals tell it: `11;rgb:ffff/ffff/ffff`, with one to four digits for each part.
fn background(text: &str) -> Option<Rgb> {
    let color = text.strip_prefix("11;")?;
    let parts = color.strip_prefix("rgb:").or_else(|| color.strip_prefix("rgba:"))?;
    let mut parts = parts.split('/').map(|digits| {
        let most = (1_u32 << (4 * u32::try_from(digits.len()).ok()?.min(4))) - 1;
        let value = u32::from_str_radix(digits, 16).ok()?;
        u8::try_from(value * 255 / most.max(1)).ok()
    });
    Some(Rgb(parts.next()??, parts.next()??, parts.next()??))
}
