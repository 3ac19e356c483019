//! The secret half of an AWS key pair has no sign of its own; it is known by the company it keeps.

use super::find::{Finding, Kind};
use super::plausible::is_filler;

/// The half that has a sign.
pub(super) const ID: Kind = "aws-access-key-id";
/// Bytes before and after the id in which the secret is looked for.
const NEAR: usize = 200;
const LENGTH: usize = 40;

/// The secrets near an id.
pub(super) fn beside(text: &str, id: &Finding) -> Vec<Finding> {
    let from = text.floor_char_boundary(id.span.start.saturating_sub(NEAR));
    let to = text.ceil_char_boundary((id.span.end + NEAR).min(text.len()));
    let mut found = Vec::new();
    let mut at = from;
    for word in text[from..to].split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '/' | '+'))) {
        let start = at;
        at = start + word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
        if is_secret(word) {
            found.push(Finding::by_itself(start..start + word.len(), "aws-secret-key"));
        }
    }
    found
}

/// Forty characters of base64, and not the hexadecimal digits of a hash.
fn is_secret(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
    word.len() == LENGTH
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
        && !is_filler(word)
}
