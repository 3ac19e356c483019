//! Which expansions of parameters run and set nothing, whatever the parameter holds.

use super::condition::is_name;

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
