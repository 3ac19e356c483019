//! Where the cursor can go: byte offsets from byte offsets.

use std::ops::Range;

use crate::input::grapheme::{clusters, next, previous};

/// What a sign is to somebody who jumps over words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Blank,
    Word,
    Other,
}

/// How finely words are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// Letters and digits are words, runs of other signs are words, too.
    Fine,
    /// Everything between blanks is a word.
    Coarse,
}

impl Grain {
    pub(super) fn class(self, cluster: &str) -> Class {
        match cluster.chars().next() {
            None => Class::Blank,
            Some(letter) if letter.is_whitespace() => Class::Blank,
            Some(_) if self == Self::Coarse => Class::Word,
            Some(letter) if letter.is_alphanumeric() || letter == '_' => Class::Word,
            Some(_) => Class::Other,
        }
    }
}

/// The sign at an offset; empty at the end.
pub(super) fn at(text: &str, offset: usize) -> &str {
    &text[offset..next(text, offset)]
}

/// The sign before an offset; empty at the beginning.
pub(super) fn before(text: &str, offset: usize) -> &str {
    &text[previous(text, offset)..offset]
}

pub(super) fn line_start(text: &str, from: usize) -> usize {
    text[..from].rfind('\n').map_or(0, |newline| newline + 1)
}

pub(super) fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |newline| from + newline)
}

/// The line around an offset, without its end.
pub(super) fn line(text: &str, from: usize) -> Range<usize> {
    line_start(text, from)..line_end(text, from)
}

/// The first sign of the line that is not blank.
pub(super) fn line_indent(text: &str, from: usize) -> usize {
    let line = line(text, from);
    let blank = text[line.clone()].find(|letter: char| !letter.is_whitespace());
    blank.map_or(line.end, |offset| line.start + offset)
}

/// Goes on from an offset as long as signs are like this.
pub(super) fn skip(text: &str, from: usize, like: impl Fn(&str) -> bool) -> usize {
    let stop = clusters(&text[from..]).find(|(_, cluster)| !like(cluster));
    stop.map_or(text.len(), |(offset, _)| from + offset)
}

/// Goes back from an offset as long as signs are like this.
pub(super) fn skip_back(text: &str, from: usize, like: impl Fn(&str) -> bool) -> usize {
    let mut offset = from;
    while offset > 0 && like(before(text, offset)) {
        offset = previous(text, offset);
    }
    offset
}

/// The end of the word here or behind, as Emacs sees it: letters and digits only.
pub(super) fn word_right(text: &str, from: usize) -> usize {
    let word = |cluster: &str| Grain::Fine.class(cluster) == Class::Word;
    skip(text, skip(text, from, |cluster| !word(cluster)), word)
}

/// The beginning of the word here or before.
pub(super) fn word_left(text: &str, from: usize) -> usize {
    let word = |cluster: &str| Grain::Fine.class(cluster) == Class::Word;
    skip_back(text, skip_back(text, from, |cluster| !word(cluster)), word)
}

/// The beginning of what stands between blanks before.
pub(super) fn blank_left(text: &str, from: usize) -> usize {
    let blank = |cluster: &str| Grain::Coarse.class(cluster) == Class::Blank;
    skip_back(text, skip_back(text, from, blank), |cluster| !blank(cluster))
}
