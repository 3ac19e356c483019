//! One keystroke with its modifiers, as it is written in settings and in help.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::KeyError;

/// The modifiers that can be told apart.
const MODIFIERS: [(KeyModifiers, &str); 3] =
    [(KeyModifiers::CONTROL, "ctrl"), (KeyModifiers::ALT, "alt"), (KeyModifiers::SHIFT, "shift")];

/// Keys with a name, first the one that is shown.
const NAMED: &[(KeyCode, &[&str])] = &[
    (KeyCode::Enter, &["enter", "return"]),
    (KeyCode::Tab, &["tab"]),
    (KeyCode::Esc, &["esc", "escape"]),
    (KeyCode::Backspace, &["backspace"]),
    (KeyCode::Delete, &["delete", "del"]),
    (KeyCode::Insert, &["insert"]),
    (KeyCode::Left, &["left"]),
    (KeyCode::Right, &["right"]),
    (KeyCode::Up, &["up"]),
    (KeyCode::Down, &["down"]),
    (KeyCode::Home, &["home"]),
    (KeyCode::End, &["end"]),
    (KeyCode::PageUp, &["pageup", "pgup"]),
    (KeyCode::PageDown, &["pagedown", "pgdn"]),
    (KeyCode::Char(' '), &["space"]),
    (KeyCode::Char('+'), &["plus"]),
];

/// A key with the modifiers held, however the terminal reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl Chord {
    /// The chord of a key press; none for a release.
    #[must_use]
    pub fn pressed(key: &KeyEvent) -> Option<Self> {
        (key.kind != KeyEventKind::Release).then(|| Self::new(key.code, key.modifiers))
    }

    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let modifiers = modifiers & known;
        match code {
            KeyCode::BackTab => Self { code: KeyCode::Tab, modifiers: modifiers | KeyModifiers::SHIFT },
            KeyCode::Char(letter) => Self::of_letter(letter, modifiers),
            code => Self { code, modifiers },
        }
    }

    /// Whether shift was held is in the letter already, except with control, where terminals disagree about the case.
    fn of_letter(letter: char, modifiers: KeyModifiers) -> Self {
        if modifiers.contains(KeyModifiers::CONTROL) {
            return Self { code: KeyCode::Char(letter.to_ascii_lowercase()), modifiers };
        }
        let upper = modifiers.contains(KeyModifiers::SHIFT) && letter.is_ascii_lowercase();
        let letter = if upper { letter.to_ascii_uppercase() } else { letter };
        Self { code: KeyCode::Char(letter), modifiers: modifiers - KeyModifiers::SHIFT }
    }

    /// The letter that this types into a text; none for commands.
    #[must_use]
    pub fn typed(&self) -> Option<char> {
        match self.code {
            KeyCode::Char(letter) if self.modifiers.is_empty() => Some(letter),
            _ => None,
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                write!(f, "{name}+")?;
            }
        }
        let named = NAMED.iter().find(|(code, _)| *code == self.code).and_then(|(_, names)| names.first());
        match (named, self.code) {
            (Some(name), _) => f.write_str(name),
            (None, KeyCode::Char(letter)) => write!(f, "{letter}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, other) => write!(f, "{other}"),
        }
    }
}

impl FromStr for Chord {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let unknown = || KeyError::UnknownKey { key: text.to_owned() };
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text.trim();
        while let Some((word, behind)) = rest.split_once('+').filter(|(_, behind)| !behind.is_empty()) {
            modifiers |= modifier(word).ok_or_else(unknown)?;
            rest = behind;
        }
        Ok(Self::new(code(rest).ok_or_else(unknown)?, modifiers))
    }
}

fn modifier(word: &str) -> Option<KeyModifiers> {
    match word.to_ascii_lowercase().as_str() {
        "ctrl" | "control" => Some(KeyModifiers::CONTROL),
        "alt" | "meta" | "option" => Some(KeyModifiers::ALT),
        "shift" => Some(KeyModifiers::SHIFT),
        _ => None,
    }
}

fn code(word: &str) -> Option<KeyCode> {
    let mut letters = word.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return (!letter.is_control()).then_some(KeyCode::Char(letter));
    }
    let lower = word.to_ascii_lowercase();
    let named = NAMED.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(code, _)| *code);
    let function = || lower.strip_prefix('f')?.parse().ok().filter(|number| (1..=24).contains(number));
    named.or_else(|| function().map(KeyCode::F))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> String {
        text.parse::<Chord>().map_or_else(|error| error.to_string(), |chord| chord.to_string())
    }

    #[test]
    fn one_key_has_one_name_however_it_is_written() {
        for (written, name) in [
            ("Ctrl+B", "ctrl+b"),
            ("control+b", "ctrl+b"),
            ("meta+f", "alt+f"),
            ("Return", "enter"),
            ("shift+TAB", "shift+tab"),
            ("shift+a", "A"),
            ("ctrl++", "ctrl+plus"),
            ("+", "plus"),
            ("F12", "f12"),
            ("pgdn", "pagedown"),
        ] {
            assert_eq!(spelled(written), name);
            assert_eq!(spelled(name), name, "what help shows can be written in settings");
        }
    }

    #[test]
    fn what_is_no_key_is_told() {
        for written in ["", "ctrl+", "hyper+x", "ctrl+nokey", "f25", "ctrl+alt"] {
            assert!(spelled(written).contains("is not a key"), "{written}: {}", spelled(written));
        }
    }

    #[test]
    fn terminals_report_the_same_key_in_different_ways() {
        let chord = |code, modifiers| Chord::pressed(&KeyEvent::new(code, modifiers)).map(|c| c.to_string());
        assert_eq!(chord(KeyCode::BackTab, KeyModifiers::NONE).as_deref(), Some("shift+tab"));
        assert_eq!(chord(KeyCode::BackTab, KeyModifiers::SHIFT).as_deref(), Some("shift+tab"));
        assert_eq!(chord(KeyCode::Char('A'), KeyModifiers::SHIFT).as_deref(), Some("A"));
        assert_eq!(chord(KeyCode::Char('B'), KeyModifiers::CONTROL).as_deref(), Some("ctrl+b"));
        let mut release = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(Chord::pressed(&release), None);
    }
}
