//! What `date` can be asked: to tell a time, in no other way than this. Other words would set the clock, or show what a file
//! holds.

use super::effects;
use super::options::{Given, Grammar, Sorted, sorted};
use crate::shell::Word;

const DATE: Grammar = Grammar {
    flags: "Ru",
    valued: "dfrs",
    optional: "I",
    long: &["rfc-email", "universal", "utc"],
    long_valued: &["date", "file", "reference", "rfc-3339", "set"],
    long_optional: &["iso-8601"],
};

/// Whether a call of `date` only looks. `rest`: the words after `date`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let Sorted { given, operands, unclear, .. } = sorted(&DATE, rest);
    let is_format = |word: &&Word| word.lead && !word.splits && word.text.starts_with('+');
    let is_told = |given: &Given<'_>| !["f", "file", "s", "set"].contains(&given.name);
    unclear.is_empty()
        && given.iter().all(is_told)
        && given.iter().all(|given| given.value.as_ref().is_none_or(Word::is_single))
        && operands.iter().all(is_format)
}

/// The files whose times are told.
pub(crate) fn files(rest: &[Word]) -> Vec<Word> {
    let given = sorted(&DATE, rest).given.into_iter();
    given.filter(|given| matches!(given.name, "r" | "reference")).filter_map(|given| given.value).collect()
}

/// The files whose content is shown, as times or in complaints that it is none. Behind an option that is not understood it
/// could be that of any word.
pub(crate) fn read_files(rest: &[Word]) -> Vec<Word> {
    let Sorted { given, operands, unclear, .. } = sorted(&DATE, rest);
    let given = given.into_iter().filter(|given| matches!(given.name, "f" | "file"));
    let doubtful = unclear.iter().chain(operands.iter().filter(|_| !unclear.is_empty()));
    let doubtful = doubtful.flat_map(|word| effects::operands(std::slice::from_ref(*word)));
    given.filter_map(|given| given.value).chain(doubtful).collect()
}
