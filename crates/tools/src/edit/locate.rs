//! Finding the text to replace (EDIT-01): exactly, or at the one place that differs only in what models do not see.

use std::ops::Range;

use super::tokens::{Leniency, Token, positions, tokens};

/// Larger texts are searched exactly only.
const LENIENT_UP_TO: usize = 4 * 1024 * 1024;
/// Line numbers listed of an ambiguous text.
pub(super) const LISTED: usize = 10;
/// Widths of a tab that models take for granted.
const TAB_WIDTHS: [u32; 4] = [4, 8, 2, 3];

/// Where the old text stands.
#[derive(Debug, PartialEq)]
pub(super) enum Located {
    /// As it was given; one place, or several when all are wanted.
    Exact(Vec<Range<usize>>),
    /// Modulo differences.
    Lenient { places: Vec<Vec<Token>>, leniency: Leniency },
}

/// Why there is no one place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missed {
    Nowhere,
    Ambiguous(Candidates),
}

/// Where a text could be meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    /// How many places there are.
    pub(super) places: usize,
    /// The lines on which they begin, each once; one more than is listed tells that there are more.
    pub(super) lines: Vec<usize>,
}

/// Which places are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The only place, overlooking what can be overlooked.
    Only,
    /// The only place, exactly.
    OnlyExactly,
    /// All places, overlooking line endings alone.
    All,
}

/// Finds `old` in `text`.
pub(super) fn locate(text: &str, old: &str, wanted: Wanted) -> Result<Located, Missed> {
    if let Some(first) = text.find(old) {
        return exactly(text, old, wanted, first);
    }
    if wanted == Wanted::OnlyExactly || text.len() > LENIENT_UP_TO {
        return Err(Missed::Nowhere);
    }
    for leniency in ladder(text, old, wanted) {
        let (text_tokens, old_tokens) = (tokens(text, leniency), tokens(old, leniency));
        let found = positions(&text_tokens, &old_tokens);
        let place = |at: &usize| text_tokens[*at..*at + old_tokens.len()].to_vec();
        match found.as_slice() {
            [] => {}
            [only] => return Ok(Located::Lenient { places: vec![place(only)], leniency }),
            all if wanted == Wanted::All => {
                let places = apart(all, old_tokens.len()).iter().map(place).collect();
                return Ok(Located::Lenient { places, leniency });
            }
            several => return Err(ambiguous(text, several.iter().map(|at| text_tokens[*at].span().start))),
        }
    }
    Err(Missed::Nowhere)
}

fn exactly(text: &str, old: &str, wanted: Wanted, first: usize) -> Result<Located, Missed> {
    let place = |start: usize| start..start + old.len();
    if wanted == Wanted::All {
        return Ok(Located::Exact(text.match_indices(old).map(|(at, _)| place(at)).collect()));
    }
    // A place that overlaps the first one makes a text ambiguous, too.
    let behind = first + old.chars().next().map_or(1, char::len_utf8);
    let others = text[behind..].match_indices(old).map(|(at, _)| behind + at);
    match others.clone().next() {
        None => Ok(Located::Exact(vec![place(first)])),
        Some(_) => Err(ambiguous(text, std::iter::once(first).chain(others))),
    }
}

/// The positions that do not overlap an earlier one.
fn apart(positions: &[usize], length: usize) -> Vec<usize> {
    let mut free_from = 0;
    let free = positions.iter().copied().filter(|at| {
        let free = *at >= free_from;
        if free {
            free_from = at + length;
        }
        free
    });
    free.collect()
}

fn ambiguous(text: &str, starts: impl Iterator<Item = usize> + Clone) -> Missed {
    let places = starts.clone().count();
    let mut lines = Vec::new();
    for line in line_numbers(text, starts) {
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        if lines.len() > LISTED {
            break;
        }
    }
    Missed::Ambiguous(Candidates { places, lines })
}

/// The numbers of the lines that positions are on, which have to come in order: the text is gone through once.
pub(super) fn line_numbers(
    text: &str,
    positions: impl Iterator<Item = usize>,
) -> impl Iterator<Item = usize> {
    let (mut line, mut counted) = (1, 0);
    positions.map(move |position| {
        line += line_breaks(&text[counted..position]);
        counted = position;
        line
    })
}

/// The line ends in a text.
pub(super) fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// What to overlook, the least first. Only what could make a difference is tried.
fn ladder(text: &str, old: &str, wanted: Wanted) -> Vec<Leniency> {
    if wanted == Wanted::All {
        return vec![Leniency::default()];
    }
    let either = |test: fn(&str) -> bool| test(text) || test(old);
    let tabs: Vec<Option<u32>> = if either(|text| text.contains('\t')) {
        std::iter::once(None).chain(TAB_WIDTHS.map(Some)).collect()
    } else {
        vec![None]
    };
    let lookalikes: &[bool] = if either(|text| !text.is_ascii()) { &[false, true] } else { &[false] };
    let mut ladder = Vec::new();
    for tabs in tabs {
        for lookalikes in lookalikes.iter().copied() {
            for trailing in [false, true] {
                ladder.push(Leniency { trailing, lookalikes, tabs });
            }
        }
    }
    ladder.sort_by_key(|l| u8::from(l.trailing) + u8::from(l.lookalikes) + u8::from(l.tabs.is_some()));
    ladder
}

impl Leniency {
    /// What was overlooked, in words.
    pub(super) fn describe(self) -> String {
        let parts = [
            (self.tabs.is_some(), "tabs and spaces"),
            (self.trailing, "white space at line ends"),
            (self.lookalikes, "look-alike characters such as quotes, dashes and special spaces"),
        ];
        let parts: Vec<&str> =
            parts.iter().filter(|(overlooked, _)| *overlooked).map(|(_, name)| *name).collect();
        if parts.is_empty() { "line endings".to_owned() } else { parts.join(" and ") }
    }
}
