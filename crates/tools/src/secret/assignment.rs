//! Values of things that are called password, token, secret or key.

use std::ops::Range;

use super::find::{Finding, Kind};
use super::plausible::{is_placeholder, is_random};

/// Words that names of credentials contain.
pub(super) const NAMES: &[&str] = &[
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "accountkey",
    "account_key",
    "authkey",
    "auth_key",
    "auth-key",
    "signingkey",
    "signing_key",
    "signing-key",
    "encryptionkey",
    "encryption_key",
    "encryption-key",
];

/// How names of credentials end, without separators, and what they are names of.
const ENDINGS: &[(&str, Kind)] = &[
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("pwd", "password"),
    ("token", "token"),
    ("secret", "secret"),
    ("secrets", "secret"),
    ("secretkey", "secret"),
    ("secretkeybase", "secret"),
    ("credential", "secret"),
    ("credentials", "secret"),
    ("apikey", "api-key"),
    ("accesskey", "api-key"),
    ("privatekey", "api-key"),
    ("accountkey", "api-key"),
    ("authkey", "api-key"),
    ("signingkey", "api-key"),
    ("encryptionkey", "api-key"),
];

/// Names with such an ending whose values are no credentials.
const HARMLESS: &[&str] = &[
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "synctoken",
    "canceltoken",
    "cancellationtoken",
    "tokentoken",
];

/// A name is not longer.
const LONGEST_NAME: usize = 100;
const LONGEST_VALUE: usize = 512;

/// The value that is given to the name around a word.
pub(super) fn value(text: &str, word: Range<usize>) -> Vec<Finding> {
    let bytes = text.as_bytes();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let end = word.end + bytes[word.end..].iter().take(LONGEST_NAME).take_while(|byte| is_name(byte)).count();
    let start = word.start
        - bytes[..word.start].iter().rev().take(LONGEST_NAME).take_while(|byte| is_name(byte)).count();
    let Some(kind) = kind(&text[start..end]) else { return Vec::new() };
    let mut cursor = Cursor { bytes, at: end };
    let flag = text[start..end].starts_with("--");
    let Some(span) = cursor.separator(flag).then(|| cursor.value()).flatten() else { return Vec::new() };
    let value = &text[span.clone()];
    if is_random(value) && !is_placeholder(value) {
        vec![Finding::by_surroundings(span, kind)]
    } else {
        Vec::new()
    }
}

/// What a name is the name of.
fn kind(name: &str) -> Option<Kind> {
    let name: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if HARMLESS.iter().any(|harmless| name.ends_with(harmless)) {
        return None;
    }
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, kind)| *kind)
}

/// A place in a text behind the name of a credential.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes bytes that `belongs` accepts, a few at most.
    fn skip(&mut self, most: usize, belongs: impl Fn(u8) -> bool) {
        self.at += self.bytes[self.at..].iter().take(most).take_while(|byte| belongs(**byte)).count();
    }

    fn blanks(&mut self) {
        self.skip(32, |byte| matches!(byte, b' ' | b'\t'));
    }

    /// Passes what stands between a name and its value: the end of a quoted name or index, then `=`, `:`, `=>`, `:=`
    /// or `>`. An option of a command needs no more than a blank.
    fn separator(&mut self, flag: bool) -> bool {
        self.skip(4, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b')' | b'\\'));
        let before = self.at;
        self.blanks();
        let sign = self.at;
        self.skip(3, |byte| matches!(byte, b'=' | b':' | b'>'));
        match &self.bytes[sign..self.at] {
            [] => return flag && sign > before,
            // The path of a name.
            [b':', b':', ..] => return false,
            _ => {}
        }
        self.blanks();
        self.type_name();
        true
    }

    /// Passes the type in `name: &str = value`.
    fn type_name(&mut self) {
        let start = self.at;
        self.skip(40, |byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'&' | b'\'' | b'<' | b'>' | b'_' | b' ' | b'?' | b'|')
        });
        match self.bytes[start..].get(self.at - start..) {
            Some([b'=', ..]) if self.bytes[..self.at].ends_with(b" ") => {
                self.at += 1;
                self.blanks();
            }
            _ => self.at = start,
        }
    }

    /// The value at this place: up to the closing quote, or up to what cannot be part of one.
    fn value(&mut self) -> Option<Range<usize>> {
        self.skip(3, |byte| byte == b'\\');
        let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
        if let Some(quote) = quote {
            self.skip(3, |byte| byte == quote);
        }
        let start = self.at;
        match quote {
            Some(quote) => self.skip(LONGEST_VALUE, |byte| byte != quote && byte.is_ascii_graphic()),
            None => self.skip(LONGEST_VALUE, is_bare),
        }
        if self.at == start + LONGEST_VALUE {
            return None;
        }
        let closed = quote.is_none_or(|quote| self.peek() == Some(quote));
        let called = quote.is_none() && matches!(self.peek(), Some(b'(' | b'[' | b'{'));
        let mut end = self.at;
        while end > start
            && (self.bytes[end - 1] == b'\\'
                || (quote.is_none() && matches!(self.bytes[end - 1], b'.' | b':')))
        {
            end -= 1;
        }
        (closed && !called && end > start).then_some(start..end)
    }
}

/// What a value without quotes consists of.
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b','
                | b';'
                | b'<'
                | b'>'
                | b'('
                | b')'
                | b'['
                | b']'
                | b'{'
                | b'}'
                | b'|'
                | b'&'
                | b'\\'
        )
}
