//! What stands in quotes, as the shell reads it.

/// Takes the backslashes away that count inside double quotes.
pub(super) fn unescape_double(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied()) {
            ('\\', Some('\n')) => drop(chars.next()),
            ('\\', Some(next @ ('$' | '`' | '"' | '\\'))) => {
                text.push(next);
                chars.next();
            }
            _ => text.push(c),
        }
    }
    text
}

/// Beyond these, escapes stand for bytes, and octal ones begin anew.
const ASCII: u32 = 0x7f;
const ANY: u32 = u32::MAX;

/// Decodes `$'…'`. `None` for an escape that is not known.
pub(super) fn decode_ansi(raw: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = raw.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let escape = rest.next()?;
        if let Some(plain) = plain_escape(escape) {
            text.push(plain);
            continue;
        }
        let (radix, most, mut code, highest) = match escape {
            'x' => (16, 2, 0, ASCII),
            'u' => (16, 4, 0, ANY),
            'U' => (16, 8, 0, ANY),
            '0'..='7' => (8, 2, escape.to_digit(8)?, ASCII),
            _ => return None,
        };
        for _ in 0..most {
            let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
            code = code.checked_mul(radix)?.checked_add(digit)?;
            rest.next();
        }
        text.push(char::from_u32(code).filter(|c| *c != '\0' && code <= highest)?);
    }
    Some(text)
}

fn plain_escape(escape: char) -> Option<char> {
    Some(match escape {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '?' => escape,
        _ => return None,
    })
}
