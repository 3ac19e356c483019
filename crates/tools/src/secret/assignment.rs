//! Values of things that are called password, token, secret or key.

use std::ops::Range;

use super::find::{Finding, Kind};
use super::plausible::{is_placeholder, is_random};

/// Words that names of credentials contain.
pub(super) const NAMES: &[&str] = &[
    "passw",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "credential",
    "appkey",
    "app_key",
    "app-key",
    "masterkey",
    "master_key",
    "master-key",
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
    ("appkey", "api-key"),
    ("masterkey", "api-key"),
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

/// A name that is too short to be looked for at the end of others, as in `bypass`: it has to be a word of its own.
const SHORT: (&str, Kind) = ("pass", "password");

/// A name is not longer.
const LONGEST_NAME: usize = 100;
const LONGEST_VALUE: usize = 512;
/// Lines of a value that is written below its name.
const MOST_LINES: usize = 40;

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
    if !cursor.separator(flag) {
        return Vec::new();
    }
    let spans = cursor.block().unwrap_or_else(|| cursor.value().into_iter().collect());
    let is_credential = |span: &Range<usize>| {
        let value = &text[span.clone()];
        is_random(value) && !is_placeholder(value)
    };
    spans.into_iter().filter(is_credential).map(|span| Finding::by_surroundings(span, kind)).collect()
}

/// What a name is the name of.
fn kind(name: &str) -> Option<Kind> {
    if last_word(name).eq_ignore_ascii_case(SHORT.0) {
        return Some(SHORT.1);
    }
    let name: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if HARMLESS.iter().any(|harmless| name.ends_with(harmless)) {
        return None;
    }
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, kind)| *kind)
}

/// The last word of a name: of `DB_PASS`, `db-pass2` and `dbPass` it is `pass`.
fn last_word(name: &str) -> &str {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let bytes = name.as_bytes();
    let is_start = |at: &usize| match (*at, bytes[*at]) {
        (0, _) => true,
        (at, letter) => {
            let before = bytes[at - 1];
            matches!(before, b'_' | b'-') || letter.is_ascii_uppercase() && before.is_ascii_lowercase()
        }
    };
    (0..bytes.len()).rev().find(is_start).map_or(name, |start| &name[start..])
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

    /// The lines of a value that is written below its name, as YAML does after `|` or `>`: those that are indented like
    /// the first of them.
    fn block(&self) -> Option<Vec<Range<usize>>> {
        let mut cursor = Cursor { bytes: self.bytes, at: self.at };
        let before = cursor.at;
        cursor.skip(1, |byte| matches!(byte, b'|' | b'>'));
        if cursor.at == before {
            return None;
        }
        cursor.skip(2, |byte| matches!(byte, b'+' | b'-') || byte.is_ascii_digit());
        cursor.blanks();
        let mut lines = Vec::new();
        let mut depth = None;
        while lines.len() < MOST_LINES && cursor.peek() == Some(b'\n') {
            cursor.at += 1;
            let line = cursor.at;
            cursor.skip(LONGEST_NAME, |byte| byte == b' ');
            let indentation = cursor.at - line;
            if indentation == 0 || *depth.get_or_insert(indentation) != indentation {
                break;
            }
            let start = cursor.at;
            cursor.skip(LONGEST_VALUE, |byte| byte.is_ascii_graphic());
            lines.push(start..cursor.at);
        }
        (!lines.is_empty()).then_some(lines)
    }

    /// Whether an ampersand ends a value: it may join commands, or parameters of an address.
    fn is_joint(&self) -> bool {
        let rest = &self.bytes[(self.at + 1).min(self.bytes.len())..];
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        match rest.get(name) {
            Some(b'=') => true,
            Some(next) if name == 0 => !next.is_ascii_graphic() || *next == b'&',
            Some(_) => false,
            None => name == 0,
        }
    }

    /// Passes a value without quotes.
    fn bare(&mut self) {
        let end = self.at + LONGEST_VALUE;
        loop {
            self.skip(end - self.at, is_bare);
            if self.at == end || self.peek() != Some(b'&') || self.is_joint() {
                return;
            }
            self.at += 1;
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
            Some(quote) => {
                self.skip(LONGEST_VALUE, |byte| byte != quote && (byte.is_ascii_graphic() || byte == b' '));
            }
            None => self.bare(),
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
