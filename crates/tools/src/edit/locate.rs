//! Finding the text to replace (EDIT-01): exactly, or at the one place that differs only in what models do not see.

use std::ops::Range;

use super::tokens::{Leniency, Token, positions, tokens};

/// Larger texts are searched exactly only.
const LENIENT_UP_TO: usize = 4 * 1024 * 1024;
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
    /// The lines where it could be.
    Ambiguous(Vec<usize>),
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
    let exact = exact_places(text, old, wanted);
    match exact.as_slice() {
        [] => {}
        [_] => return Ok(Located::Exact(exact)),
        _ if wanted == Wanted::All => return Ok(Located::Exact(exact)),
        several => return Err(ambiguous(text, several.iter().map(|place| place.start))),
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

fn exact_places(text: &str, old: &str, wanted: Wanted) -> Vec<Range<usize>> {
    let step = match wanted {
        Wanted::All => old.len(),
        // Overlapping places make a text ambiguous, too.
        Wanted::Only | Wanted::OnlyExactly => old.chars().next().map_or(1, char::len_utf8),
    };
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        places.push(from + at..from + at + old.len());
        from += at + step;
    }
    places
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

fn ambiguous(text: &str, starts: impl Iterator<Item = usize>) -> Missed {
    Missed::Ambiguous(starts.map(|start| line_at(text, start)).collect())
}

/// The number of the line that a position is on.
pub(super) fn line_at(text: &str, position: usize) -> usize {
    1 + text.as_bytes()[..position].iter().filter(|byte| **byte == b'\n').count()
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
