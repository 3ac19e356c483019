//! Which candidates fit what was typed, and how well.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::Candidate;

/// Entries that a menu holds at most: nobody scrolls further.
const MOST: usize = 100;

/// What kind of texts are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Names: the best match first, and the shorter of equals.
    Names,
    /// Paths: the same, and what stands behind a slash counts as a beginning.
    Paths,
    /// Texts that contain every word, in the order of the list.
    Texts,
}

/// A candidate that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) index: usize,
    /// The signs of the text that were matched, by their number.
    pub(super) signs: Vec<u32>,
}

pub(super) fn search(query: &str, candidates: &[Candidate], order: Order) -> Vec<Found> {
    if query.trim().is_empty() {
        return (0..candidates.len().min(MOST)).map(|index| Found { index, signs: Vec::new() }).collect();
    }
    match order {
        Order::Texts => containing(query, candidates),
        Order::Names => ranked(query, candidates, Config::DEFAULT),
        Order::Paths => ranked(query, candidates, Config::DEFAULT.match_paths()),
    }
}

fn ranked(query: &str, candidates: &[Candidate], mut config: Config) -> Vec<Found> {
    config.prefer_prefix = true;
    let mut matcher = Matcher::new(config);
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut letters = Vec::new();
    let mut scored: Vec<(u32, usize)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(index, candidate)| {
            let score = pattern.score(Utf32Str::new(&candidate.text, &mut letters), &mut matcher)?;
            Some((score, index))
        })
        .collect();
    let key =
        |(score, index): &(u32, usize)| (std::cmp::Reverse(*score), candidates[*index].text.len(), *index);
    scored.sort_unstable_by_key(key);
    scored.truncate(MOST);
    let signs = |index: usize, letters: &mut Vec<char>, matcher: &mut Matcher| {
        let mut signs = Vec::new();
        pattern.indices(Utf32Str::new(&candidates[index].text, letters), matcher, &mut signs);
        signs.sort_unstable();
        signs.dedup();
        signs
    };
    scored
        .into_iter()
        .map(|(_, index)| Found { index, signs: signs(index, &mut letters, &mut matcher) })
        .collect()
}

fn containing(query: &str, candidates: &[Candidate]) -> Vec<Found> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let fits = |candidate: &Candidate| {
        let text = candidate.text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let found = candidates.iter().enumerate().filter(|(_, candidate)| fits(candidate));
    found.take(MOST).map(|(index, _)| Found { index, signs: Vec::new() }).collect()
}
