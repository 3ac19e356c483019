//! Text as comparable tokens that remember where they stand, so that texts can be compared modulo differences models
//! do not see.

use std::ops::Range;

use super::matched::matched;

/// Keys above all characters stand for the indentation of a line, by width.
const INDENT: u32 = 0x11_0000;
const NEWLINE: u32 = '\n' as u32;
const SPACE: u32 = ' ' as u32;

/// Differences to overlook, besides that of line endings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leniency {
    /// Blanks at the end of lines.
    pub(super) trailing: bool,
    /// Quotes, dashes, special blanks and characters without width.
    pub(super) lookalikes: bool,
    /// Tabs for blanks or the other way round, with this many blanks to a tab.
    pub(super) tabs: Option<u32>,
}

/// A character, a line end or a line's indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    key: u32,
    start: u32,
    end: u32,
}

impl Token {
    pub(super) fn span(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn is_newline(self) -> bool {
        self.key == NEWLINE
    }

    /// The width, if this is indentation.
    pub(super) fn indent(self) -> Option<u32> {
        self.key.checked_sub(INDENT)
    }
}

/// Takes a text apart. The text has to be shorter than 4 GB.
pub(super) fn tokens(text: &str, leniency: Leniency) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.strip_suffix('\n').map(|body| body.strip_suffix('\r').unwrap_or(body));
        let kept = match body {
            Some(body) if leniency.trailing => body.trim_end_matches([' ', '\t']),
            Some(body) => body,
            None => line,
        };
        push_line(&mut tokens, kept, start, leniency);
        if let Some(body) = body {
            push(&mut tokens, NEWLINE, start + body.len()..start + line.len());
        }
        start += line.len();
    }
    tokens
}

fn push_line(tokens: &mut Vec<Token>, line: &str, start: usize, leniency: Leniency) {
    let mut from = 0;
    if let Some(tab) = leniency.tabs {
        let blanks = line.find(|c| !matches!(c, ' ' | '\t')).unwrap_or(line.len());
        let width: u32 = line[..blanks].chars().map(|c| if c == '\t' { tab } else { 1 }).sum();
        if width > 0 {
            push(tokens, INDENT + width, start..start + blanks);
        }
        from = blanks;
    }
    for (at, character) in line[from..].char_indices() {
        if let Some(key) = key(character, leniency) {
            let at = start + from + at;
            push(tokens, key, at..at + character.len_utf8());
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "texts are shorter than 4 GB")]
fn push(tokens: &mut Vec<Token>, key: u32, span: Range<usize>) {
    tokens.push(Token { key, start: span.start as u32, end: span.end as u32 });
}

/// What a character is compared by; nothing if it is overlooked.
fn key(character: char, leniency: Leniency) -> Option<u32> {
    if character == '\t' && leniency.tabs.is_some() {
        return Some(SPACE);
    }
    if !leniency.lookalikes || character.is_ascii() {
        return Some(character.into());
    }
    let folded = match character {
        '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '\u{AD}' => return None,
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{B4}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    };
    Some(folded.into())
}

/// Where `needle` stands in `text`, overlapping places included.
pub(super) fn positions(text: &[Token], needle: &[Token]) -> Vec<usize> {
    if needle.is_empty() {
        return Vec::new();
    }
    let keys = |tokens: &[Token]| tokens.iter().map(|token| token.key).collect::<Vec<u32>>();
    let (text, needle) = (keys(text), keys(needle));
    let ends = matched(&text, &needle).enumerate().filter(|(_, length)| *length == needle.len());
    ends.map(|(at, length)| at + 1 - length).collect()
}
