//! Which expansions of parameters run and set nothing, whatever the parameter holds.

use super::program::condition::is_name;

/// Whether an expansion `${…}` is understood, apart from the words inside of it.
pub(crate) fn is_plain(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return false };
    if let Some(measured) = inner.strip_prefix('#').filter(|measured| !measured.is_empty()) {
        return after_parameter(measured) == Some("");
    }
    let Some(operation) = after_parameter(inner) else { return false };
    let mut chars = operation.chars();
    match (chars.next(), chars.next()) {
        (None, _) | (Some('-' | '+' | '?' | '#' | '%' | '/' | '^' | ','), _) => true,
        (Some(':'), Some('-' | '+' | '?')) => true,
        // Offset and length are computed, and what is computed follows names into subscripts.
        (Some(':'), _) => operation.chars().all(|c| c.is_ascii_digit() || ": -()".contains(c)),
        // Transformations can run commands, defaults can assign.
        _ => false,
    }
}

/// What follows the parameter and its subscript.
fn after_parameter(inner: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = inner.find(|c| !is_of_name(c)).unwrap_or(inner.len());
    let length = match named {
        0 => inner.chars().next().filter(|c| "@*#?-$".contains(*c)).map(char::len_utf8)?,
        named => {
            let name = &inner[..named];
            (is_name(name) || name.bytes().all(|byte| byte.is_ascii_digit())).then_some(named)?
        }
    };
    let rest = &inner[length..];
    match rest.strip_prefix('[') {
        None => Some(rest),
        Some(subscript) => {
            let (index, rest) = subscript.split_once(']')?;
            is_plain_subscript(index).then_some(rest)
        }
    }
}

/// Whether a subscript computes nothing.
pub(crate) fn is_plain_subscript(index: &str) -> bool {
    index == "@" || index == "*" || index.parse::<i32>().is_ok()
}

/// A text without what the shell puts in.
pub(crate) fn without(text: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0_usize;
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '(' | '{' if depth > 0 || before == '$' => depth += 1,
            ')' | '}' if depth > 0 => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
        before = c;
    }
    plain
}

/// Whether a word in which the shell puts something may become a pattern for names elsewhere, as far as the word alone
/// tells: a single expansion may only if its operation makes a pattern.
pub(crate) fn may_list(text: &str) -> bool {
    let (outside, expansions) = expansions(text);
    without(text).contains(GLOBS)
        || outside.contains('/')
        || outside.contains("..")
        || expansions.len() > 1
        || expansions.iter().any(|(_, expansion)| added(expansion).is_some_and(|added| added.contains(GLOBS)))
}

/// Characters that make a pattern.
pub(crate) const GLOBS: [char; 3] = ['*', '?', '['];

/// What stands outside of the expansions of a word, and each expansion with where it begins.
pub(crate) fn expansions(text: &str) -> (String, Vec<(usize, &str)>) {
    let mut outside = String::new();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let length = match c {
            '$' => expansion_length(&text[at..]),
            '`' => text[at + 1..].find('`').map_or(text.len() - at, |end| end + 2),
            _ => 0,
        };
        if length == 0 {
            outside.push(c);
            at += c.len_utf8();
        } else {
            found.push((at, &text[at..at + length]));
            at += length;
        }
    }
    (outside, found)
}

/// The length of the expansion that a text begins with.
fn expansion_length(text: &str) -> usize {
    let Some(first) = text[1..].chars().next() else { return 0 };
    if matches!(first, '{' | '(') {
        let mut depth = 0_usize;
        for (at, c) in text.char_indices().skip(1) {
            match c {
                '{' | '(' => depth += 1,
                '}' | ')' if depth > 1 => depth -= 1,
                '}' | ')' => return at + 1,
                _ => {}
            }
        }
        return text.len();
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match text[1..].find(|c| !is_of_name(c)).unwrap_or(text.len() - 1) {
        0 if "@*#?-$!".contains(first) => 2,
        0 => 0,
        // Of numbers, only the first digit counts.
        _ if first.is_ascii_digit() => 2,
        length => 1 + length,
    }
}

/// The parameter of an expansion, and its operation.
pub(crate) fn parameter(expansion: &str) -> Option<(&str, &str)> {
    let plain = expansion.strip_prefix('$')?;
    let Some(inner) = plain.strip_prefix('{') else { return is_name(plain).then_some((plain, "")) };
    let inner = inner.strip_suffix('}')?;
    let operation = after_parameter(inner)?;
    Some((&inner[..inner.len() - operation.len()], operation))
}

/// What an expansion may put in beside what its parameter holds: a default, or a replacement.
pub(crate) fn added(expansion: &str) -> Option<&str> {
    let (_, operation) = parameter(expansion)?;
    let operation = operation.strip_prefix(':').unwrap_or(operation);
    match operation.chars().next()? {
        '-' | '+' | '=' => Some(&operation[1..]),
        '/' => {
            let pattern = operation.trim_start_matches('/');
            let mut is_escaped = false;
            let end = pattern.find(|c| {
                let ends = c == '/' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            end.map(|end| &pattern[end + 1..])
        }
        _ => None,
    }
}
