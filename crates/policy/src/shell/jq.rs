//! What `jq` can be asked without showing more than the files that its command line names.

use super::Word;
use super::lookers::is_option;

/// Options that name files with programs or data.
const FILES: &[&str] =
    &["-f", "-L", "--from-file", "--library-path", "--rawfile", "--slurpfile", "--argfile", "--run-tests"];

/// Words of programs that load files, or show the environment.
const REACHING: &[&str] = &["env", "ENV", "import", "include"];

/// Whether a call of `jq` only looks. `rest`: the words after `jq`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let is_fine = |word: &Word| {
        let names_file = FILES.iter().any(|option| word.text != "--" && is_option(&word.text, option));
        // What the shell puts in where an option could stand could be one of these.
        !names_file && !word.splits && !reaches(&word.text)
    };
    rest.iter().all(is_fine)
}

/// Whether a text has one of the words that reach further. Behind a dot, in quotation marks or before a colon it is the name
/// of a field; behind a slash, part of a path.
fn reaches(program: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    program.char_indices().any(|(at, _)| {
        let (before, here) = program.split_at(at);
        REACHING.iter().any(|word| {
            let is_word = |after: &str| !after.starts_with(is_name) && !after.trim_start().starts_with(':');
            here.strip_prefix(word).is_some_and(is_word)
                && !before.ends_with(|c: char| is_name(c) || matches!(c, '.' | '"' | '/' | '-'))
        })
    })
}
