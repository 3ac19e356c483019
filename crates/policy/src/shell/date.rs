//! What `date` can be asked: to tell a time, in no other way than this. Other words would set the clock, or show what a file
//! holds.

use super::Word;
use super::options::{Grammar, Sorted, sorted};

const DATE: Grammar = Grammar {
    flags: "Ru",
    valued: "dr",
    optional: "I",
    long: &["rfc-email", "universal", "utc"],
    long_valued: &["date", "reference", "rfc-3339"],
    long_optional: &["iso-8601"],
};

/// Whether a call of `date` only looks. `rest`: the words after `date`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let Sorted { given, operands, unclear, .. } = sorted(&DATE, rest);
    let is_format = |word: &&Word| word.lead && !word.splits && word.text.starts_with('+');
    unclear.is_empty()
        && given.iter().all(|given| given.value.as_ref().is_none_or(Word::is_single))
        && operands.iter().all(is_format)
}

/// The files whose times are told.
pub(crate) fn files(rest: &[Word]) -> Vec<Word> {
    let given = sorted(&DATE, rest).given.into_iter();
    given.filter(|given| matches!(given.name, "r" | "reference")).filter_map(|given| given.value).collect()
}
