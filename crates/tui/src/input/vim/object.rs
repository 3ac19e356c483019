//! Text objects: the word, the quotes, the brackets around the cursor.

use std::ops::Range;

use super::super::motion::{Class, Grain, at, line, skip, skip_back};
use crate::input::grapheme::next;

/// Whether what surrounds an object belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Inner,
    Around,
}

/// The object of a key around an offset.
pub(super) fn object(key: char, scope: Scope, text: &str, from: usize) -> Option<Range<usize>> {
    match key {
        'w' => Some(word(text, from, Grain::Fine, scope)),
        'W' => Some(word(text, from, Grain::Coarse, scope)),
        '"' | '\'' | '`' => quoted(key, scope, text, from),
        '(' | ')' | 'b' => enclosed('(', ')', scope, text, from),
        '[' | ']' => enclosed('[', ']', scope, text, from),
        '{' | '}' | 'B' => enclosed('{', '}', scope, text, from),
        '<' | '>' => enclosed('<', '>', scope, text, from),
        _ => None,
    }
}

fn word(text: &str, from: usize, grain: Grain, scope: Scope) -> Range<usize> {
    let line = line(text, from);
    let class = grain.class(at(text, from));
    let like = |wanted: Class| move |cluster: &str| grain.class(cluster) == wanted && cluster != "\n";
    let start = skip_back(text, from, like(class)).max(line.start);
    let end = skip(text, from, like(class)).min(line.end).max(start);
    if scope == Scope::Inner {
        return start..end;
    }
    if class == Class::Blank {
        let next = grain.class(at(text, end));
        return start..skip(text, end, like(next)).min(line.end).max(end);
    }
    // The blanks behind belong to a word, or those before if there are none.
    match skip(text, end, like(Class::Blank)).min(line.end) {
        blanks if blanks > end => start..blanks,
        _ => skip_back(text, start, like(Class::Blank)).max(line.start)..end,
    }
}

fn quoted(quote: char, scope: Scope, text: &str, from: usize) -> Option<Range<usize>> {
    let line = line(text, from);
    let quotes: Vec<usize> = text[line.clone()].match_indices(quote).map(|(at, _)| line.start + at).collect();
    let pair = quotes.chunks_exact(2).find(|pair| from <= pair[1])?;
    match scope {
        Scope::Inner => Some(pair[0] + 1..pair[1]),
        Scope::Around => Some(pair[0]..pair[1] + 1),
    }
}

fn enclosed(open: char, close: char, scope: Scope, text: &str, from: usize) -> Option<Range<usize>> {
    let mut depth = 0_usize;
    let before = text[..next(text, from)].char_indices().rev();
    let start = before.filter(|(offset, _)| *offset <= from).find_map(|(offset, letter)| match letter {
        letter if letter == open && depth == 0 => Some(offset),
        letter if letter == open => {
            depth -= 1;
            None
        }
        letter if letter == close && offset < from => {
            depth += 1;
            None
        }
        _ => None,
    })?;
    let mut depth = 0_usize;
    let end = text[start + 1..].char_indices().find_map(|(offset, letter)| match letter {
        letter if letter == close && depth == 0 => Some(start + 1 + offset),
        letter if letter == close => {
            depth -= 1;
            None
        }
        letter if letter == open => {
            depth += 1;
            None
        }
        _ => None,
    })?;
    match scope {
        Scope::Inner => Some(start + 1..end),
        Scope::Around => Some(start..end + 1),
    }
}
