//! What `yq` can be asked whichever of the programs of that name it is: paths into a file, and a few words that all of them
//! know and that read nothing else.

use crate::shell::Word;

const OPTIONS: &[&str] = &["-P", "-r", "--raw-output"];

const WORDS: &[&str] = &[
    "false",
    "first",
    "flatten",
    "has",
    "keys",
    "last",
    "length",
    "map",
    "not",
    "null",
    "reverse",
    "select",
    "sort",
    "to_entries",
    "true",
    "type",
    "unique",
    "values",
];

/// Whether a call only looks. `rest`: the words after `yq`.
pub(super) fn looks(rest: &[Word]) -> bool {
    let Some(words) = rest.iter().map(Word::known).collect::<Option<Vec<_>>>() else { return false };
    let (options, others): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let others = match others.as_slice() {
        ["e" | "eval", others @ ..] => others,
        others => others,
    };
    let is_harmless = others.first().is_some_and(|program| is_path(program));
    is_harmless && options.iter().all(|option| OPTIONS.contains(option))
}

/// Whether a program only says where in a file something stands, and what to tell of it.
fn is_path(program: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut before = ' ';
    let mut rest = program;
    while let Some(next) = rest.chars().next() {
        let end = match next {
            '"' => match rest[1..].find('"') {
                Some(end) if !rest[1..=end].contains('\\') => end + 2,
                _ => return false,
            },
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
                if before != '.' && !WORDS.contains(&&rest[..end]) {
                    return false;
                }
                end
            }
            c if c.is_ascii_digit() || " .[]|,:()?-".contains(c) => 1,
            _ => return false,
        };
        before = rest[..end].chars().next_back().unwrap_or(next);
        rest = &rest[end..];
    }
    true
}
