//! Motions: where a key of normal mode leads, and what an operator takes along.

use super::super::motion::{
    Class, Grain, at, before, line, line_end, line_indent, line_start, skip, skip_back,
};
use crate::input::grapheme::{clusters, next, previous};

/// What of the text between two places an operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Up to the place.
    Exclusive,
    /// With the sign at the place.
    Inclusive,
    /// Whole lines.
    Lines,
}

/// Where a motion leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) to: usize,
    pub(super) reach: Reach,
}

/// A search for a sign in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) letter: char,
    pub(super) forward: bool,
    /// Whether it stops one short of the sign.
    pub(super) till: bool,
}

/// The motion of a key, so many times; with no number some of them mean something else.
pub(super) fn motion(key: char, count: Option<usize>, text: &str, from: usize) -> Option<Target> {
    let times = count.unwrap_or(1);
    let repeat = |step: &dyn Fn(usize) -> usize| (0..times.min(text.len() + 1)).fold(from, |to, _| step(to));
    let line = line(text, from);
    let (to, reach) = match key {
        'h' => (repeat(&|to| previous(text, to).max(line.start)), Reach::Exclusive),
        'l' | ' ' => (repeat(&|to| next(text, to).min(line.end)), Reach::Exclusive),
        'w' => (repeat(&|to| word_start(text, to, Grain::Fine)), Reach::Exclusive),
        'W' => (repeat(&|to| word_start(text, to, Grain::Coarse)), Reach::Exclusive),
        'b' => (repeat(&|to| word_back(text, to, Grain::Fine)), Reach::Exclusive),
        'B' => (repeat(&|to| word_back(text, to, Grain::Coarse)), Reach::Exclusive),
        'e' => (repeat(&|to| word_end(text, to, Grain::Fine)), Reach::Inclusive),
        'E' => (repeat(&|to| word_end(text, to, Grain::Coarse)), Reach::Inclusive),
        '0' => (line.start, Reach::Exclusive),
        '^' => (line_indent(text, from), Reach::Exclusive),
        '$' => (line_end(text, lines_down(text, from, times - 1)), Reach::Exclusive),
        'G' => (line_number(text, count.unwrap_or(usize::MAX)), Reach::Lines),
        'j' => (lines_down(text, from, times), Reach::Lines),
        'k' => (lines_up(text, from, times), Reach::Lines),
        _ => return None,
    };
    Some(Target { to, reach })
}

/// The end of the word at a place, and of further ones: what `cw` changes.
pub(super) fn rest_of_words(count: usize, text: &str, from: usize, grain: Grain) -> Target {
    let class = grain.class(at(text, from));
    let end = skip(text, from, |cluster| grain.class(cluster) == class);
    let first = previous(text, end).max(from);
    let to = (1..count).fold(first, |to, _| word_end(text, to, grain));
    Target { to, reach: Reach::Inclusive }
}

/// `gg`: the first line, or the one with this number.
pub(super) fn first_line(count: Option<usize>, text: &str) -> Target {
    Target { to: line_number(text, count.unwrap_or(1)), reach: Reach::Lines }
}

fn line_number(text: &str, number: usize) -> usize {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1));
    let start = starts.take(number.max(1)).last().unwrap_or(0);
    line_indent(text, start)
}

fn lines_down(text: &str, from: usize, times: usize) -> usize {
    let column = text[line_start(text, from)..from].chars().count();
    (0..times).fold(from, |to, _| match line_end(text, to) {
        end if end == text.len() => to,
        end => in_column(text, end + 1, column),
    })
}

fn lines_up(text: &str, from: usize, times: usize) -> usize {
    let column = text[line_start(text, from)..from].chars().count();
    (0..times).fold(from, |to, _| match line_start(text, to) {
        0 => to,
        start => in_column(text, line_start(text, start - 1), column),
    })
}

fn in_column(text: &str, start: usize, column: usize) -> usize {
    let end = line_end(text, start);
    clusters(&text[start..end]).nth(column).map_or(end, |(offset, _)| start + offset)
}

fn word_start(text: &str, from: usize, grain: Grain) -> usize {
    let class = grain.class(at(text, from));
    let behind =
        if class == Class::Blank { from } else { skip(text, from, |cluster| grain.class(cluster) == class) };
    // An empty line is a word, too.
    let newline = |offset: usize| at(text, offset) == "\n" && line_start(text, offset) == offset;
    let mut to = behind;
    while to < text.len() && grain.class(at(text, to)) == Class::Blank && !(to > from && newline(to)) {
        to = next(text, to);
    }
    to
}

fn word_back(text: &str, from: usize, grain: Grain) -> usize {
    let behind = skip_back(text, from, |cluster| grain.class(cluster) == Class::Blank);
    let class = grain.class(before(text, behind));
    skip_back(text, behind, |cluster| grain.class(cluster) == class && class != Class::Blank)
}

fn word_end(text: &str, from: usize, grain: Grain) -> usize {
    let begin = skip(text, next(text, from), |cluster| grain.class(cluster) == Class::Blank);
    let class = grain.class(at(text, begin));
    let end = skip(text, begin, |cluster| grain.class(cluster) == class && class != Class::Blank);
    if end > from { previous(text, end).max(from) } else { from }
}

/// The next sign like this in the line.
pub(super) fn find(find: Find, count: usize, text: &str, from: usize) -> Option<Target> {
    let line = line(text, from);
    let is = |(_, cluster): &(usize, &str)| cluster.starts_with(find.letter);
    let all: Vec<usize> =
        clusters(&text[line.clone()]).filter(is).map(|(offset, _)| line.start + offset).collect();
    let nth = count.max(1) - 1;
    let skip_adjacent =
        |found: usize| if find.forward { next(text, from) == found } else { next(text, found) == from };
    if find.forward {
        let mut ahead =
            all.into_iter().filter(|found| *found > from && !(find.till && skip_adjacent(*found)));
        let to = ahead.nth(nth)?;
        Some(Target { to: if find.till { previous(text, to) } else { to }, reach: Reach::Inclusive })
    } else {
        let mut back =
            all.into_iter().rev().filter(|found| *found < from && !(find.till && skip_adjacent(*found)));
        let to = back.nth(nth)?;
        Some(Target { to: if find.till { next(text, to) } else { to }, reach: Reach::Exclusive })
    }
}
