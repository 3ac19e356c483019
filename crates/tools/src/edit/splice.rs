//! Putting the new text in: what the model did not change stays as it is in the file, byte for byte.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::locate::Located;
use super::tokens::{Leniency, Token, tokens};
use crate::encoding::LineEnding;

/// Above this many comparisons the changed middle is replaced as a whole.
const DIFF_WORK: usize = 25_000_000;

/// The text with the new string at the located places.
pub(super) fn splice(text: &str, located: &Located, old: &str, new: &str) -> String {
    let ending = LineEnding::of(text);
    let pieces: Vec<(Range<usize>, String)> = match located {
        Located::Exact(places) => {
            places.iter().map(|place| (place.clone(), exact(&text[place.clone()], new, ending))).collect()
        }
        Located::Lenient { places, leniency } => {
            let change = Change::new(old, new, *leniency);
            places.iter().map(|place| (cover(place), change.apply(text, place, ending))).collect()
        }
    };
    let mut spliced = String::with_capacity(text.len() + new.len());
    let mut from = 0;
    for (place, piece) in pieces {
        spliced.push_str(&text[from..place.start]);
        spliced.push_str(&piece);
        from = place.end;
    }
    spliced + &text[from..]
}

/// Line feeds become what the place, or else the file, has for line ends.
fn exact(found: &str, new: &str, ending: LineEnding) -> String {
    let ending = if found.contains('\n') { LineEnding::of(found) } else { ending };
    ending.adapt(new)
}

fn cover(place: &[Token]) -> Range<usize> {
    let start = place.first().map_or(0, |token| token.span().start);
    start..place.last().map_or(start, |token| token.span().end)
}

/// The step from the old string to the new one, token by token.
struct Change<'a> {
    new: &'a str,
    new_tokens: Vec<Token>,
    leniency: Leniency,
    ops: Vec<DiffOp>,
}

impl<'a> Change<'a> {
    fn new(old: &str, new: &'a str, leniency: Leniency) -> Self {
        let (old_tokens, new_tokens) = (tokens(old, leniency), tokens(new, leniency));
        // Compared as written: if the model turned one quote into another, that is a change.
        let (old_words, new_words) = (words(old, &old_tokens), words(new, &new_tokens));
        Self { new, ops: diff(&old_words, &new_words), new_tokens, leniency }
    }

    fn apply(&self, text: &str, place: &[Token], ending: LineEnding) -> String {
        let newline = place.iter().find(|token| token.is_newline()).map(|token| &text[token.span()]);
        let style = Style {
            newline: newline.unwrap_or(ending.as_str()),
            tab: self.leniency.tabs,
            tabbed: place.iter().any(|token| token.indent().is_some() && text[token.span()].contains('\t')),
        };
        let mut piece = String::new();
        for op in &self.ops {
            match *op {
                DiffOp::Equal { old_index, len, .. } => {
                    piece.push_str(&text[cover(&place[old_index..old_index + len])]);
                }
                DiffOp::Delete { .. } => {}
                DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                    self.insert(&mut piece, new_index..new_index + new_len, &style);
                }
            }
        }
        piece
    }

    fn insert(&self, piece: &mut String, run: Range<usize>, style: &Style<'_>) {
        let mut from = None;
        for token in &self.new_tokens[run] {
            let span = token.span();
            // Characters without a token, such as blanks at a line's end, are the model's wish as well.
            piece.push_str(&self.new[from.unwrap_or(span.start)..span.start]);
            match (token.is_newline(), token.indent()) {
                (true, _) => piece.push_str(style.newline),
                (_, Some(width)) => piece.push_str(&style.indentation(width, &self.new[span.clone()])),
                _ => piece.push_str(&self.new[span.clone()]),
            }
            from = Some(span.end);
        }
    }
}

/// How the file writes what the model wrote its own way.
struct Style<'a> {
    newline: &'a str,
    tab: Option<u32>,
    tabbed: bool,
}

impl Style<'_> {
    fn indentation(&self, width: u32, written: &str) -> String {
        match self.tab {
            Some(tab) if self.tabbed => {
                "\t".repeat((width / tab) as usize) + &" ".repeat((width % tab) as usize)
            }
            Some(_) => " ".repeat(width as usize),
            None => written.to_owned(),
        }
    }
}

/// The tokens as written; line ends all look the same.
fn words<'a>(text: &'a str, tokens: &[Token]) -> Vec<&'a str> {
    tokens.iter().map(|token| if token.is_newline() { "\n" } else { &text[token.span()] }).collect()
}

fn diff(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_len, new_len) = (old_rest.len() - after, new_rest.len() - after);
    if old_len.saturating_mul(new_len) <= DIFF_WORK {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: before },
        DiffOp::Replace { old_index: before, old_len, new_index: before, new_len },
        DiffOp::Equal { old_index: before + old_len, new_index: before + new_len, len: after },
    ]
}
