//! Credentials known by their shape or by what stands before them: web tokens, authorization headers, addresses.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::find::Finding;
use super::format::continues_a_word;
use super::plausible::{is_placeholder, is_random};

/// Longer than any of these.
const LONGEST: usize = 16 * 1024;
/// The user and password of an address are not longer.
const LONGEST_LOGIN: usize = 512;

/// The end of the run of bytes that `belongs` accepts.
pub(super) fn run(text: &str, from: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
    from + text.as_bytes()[from..].iter().take(most).take_while(|byte| belongs(**byte)).count()
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// A signed web token: three parts, the first of which names an algorithm.
pub(super) fn jwt(text: &str, word: Range<usize>) -> Vec<Finding> {
    let start = word.start;
    if !text[start..].starts_with("eyJ") || continues_a_word(text.as_bytes(), start) {
        return Vec::new();
    }
    let end = run(text, start, LONGEST, |byte| is_base64url(byte) || byte == b'.');
    let token = text[start..end].trim_end_matches('.');
    let mut parts = token.split('.');
    let (header, claims, signature) = (parts.next(), parts.next(), parts.next());
    let names_algorithm = header
        .and_then(|header| URL_SAFE_NO_PAD.decode(header).ok())
        .is_some_and(|header| header.windows(5).any(|window| window == b"\"alg\""));
    let is_signed =
        claims.is_some_and(|part| part.len() >= 8) && signature.is_some_and(|part| part.len() >= 16);
    if names_algorithm && is_signed {
        vec![Finding::by_itself(start..start + token.len(), "jwt")]
    } else {
        Vec::new()
    }
}

/// What follows `Bearer`.
pub(super) fn bearer(text: &str, word: Range<usize>) -> Vec<Finding> {
    let belongs = |byte: u8| is_base64url(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    let end = run(text, word.end, LONGEST, belongs);
    let value = text[word.end..end].trim_end_matches('.');
    let is_token = value.len() >= 16 && is_random(value) && !is_placeholder(value);
    if is_token {
        vec![Finding::by_surroundings(word.end..word.end + value.len(), "bearer-token")]
    } else {
        Vec::new()
    }
}

/// What follows `Basic`: a user and a password.
pub(super) fn basic(text: &str, word: Range<usize>) -> Vec<Finding> {
    let end = run(text, word.end, LONGEST_LOGIN, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
    });
    let decoded = STANDARD.decode(&text[word.end..end]).ok();
    let login = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    let password = login.as_deref().and_then(|login| login.split_once(':')).map(|(_, password)| password);
    let is_login = password.is_some_and(|password| !password.is_empty() && !is_placeholder(password));
    if is_login { vec![Finding::by_surroundings(word.end..end, "basic-auth")] } else { Vec::new() }
}

/// The password in an address, or the secret path of a web hook.
pub(super) fn address(text: &str, word: Range<usize>) -> Vec<Finding> {
    password(text, word.end).or_else(|| web_hook(text, word.end)).into_iter().collect()
}

fn password(text: &str, from: usize) -> Option<Finding> {
    let belongs = |byte: u8| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    };
    let end = run(text, from, LONGEST_LOGIN, |byte| byte.is_ascii() && belongs(byte));
    let authority = &text[from..end];
    let at = authority.rfind('@')?;
    let (user, password) = authority[..at].split_once(':')?;
    let start = from + user.len() + 1;
    let tells = password.len() >= 4 && password != user && !is_placeholder(password);
    tells.then(|| Finding::by_surroundings(start..start + password.len(), "url-password"))
}

fn web_hook(text: &str, from: usize) -> Option<Finding> {
    const HOOKS: [&str; 3] =
        ["hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"];
    let hook = HOOKS.iter().find(|hook| text[from..].starts_with(**hook))?;
    let start = from + hook.len();
    let end = run(text, start, LONGEST_LOGIN, |byte| is_base64url(byte) || byte == b'/');
    let path = &text[start..end];
    (path.len() >= 24 && is_random(path) && !is_placeholder(path))
        .then(|| Finding::by_surroundings(start..end, "webhook"))
}
