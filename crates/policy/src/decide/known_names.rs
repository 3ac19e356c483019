//! What stands for words in which the shell or `xargs` puts what commands of the script print.

use crate::shell::{Command, Form, GLOBS, Listing, Listings, Word, expansions, program_name};

/// The words that stand for a word in which the shell puts what commands of the script print, if that is of a known kind.
pub(super) fn listed(word: &Word, command: &Command, listings: &Listings) -> Option<Vec<Word>> {
    let program = command.words().first().and_then(program_name);
    // Without a word it goes home.
    if matches!(program, Some("cd" | "pushd")) {
        return None;
    }
    if is_put_in_by_xargs(word, command) {
        let name = Word::put_in(NAME, Form::Found, false);
        return Some(vec![name; if puts_in_one(command) { 1 } else { 2 }]);
    }
    if listings.are_names(word, &command.dirs) {
        let one = matches!(listings.of(word), Some(Listing::Names { one: true, .. }));
        // Where there may be several, each has a place of its own among the words.
        return Some(vec![Word::found(&word.text); if one { 1 } else { 2 }]);
    }
    if word.form != Form::Dynamic {
        return None;
    }
    let (outside, put_in) = expansions(&word.text);
    let are_commits = !put_in.is_empty() && put_in.iter().all(|(_, text)| listings.are_commits(text));
    match put_in.as_slice() {
        [(0, first), others @ ..] if are_commits => {
            let behind = word.text[first.len()..].to_owned();
            let behind = others.iter().fold(behind, |behind, (_, text)| behind.replace(text, "HEAD"));
            Some(vec![Word::commit(&behind)])
        }
        // Hashes do not come apart, and make no pattern.
        _ if are_commits && word.lead && !outside.contains(GLOBS) => {
            Some(vec![Word { splits: false, ..word.clone() }])
        }
        _ => None,
    }
}

/// Whether some of the words stand for names of files that the shell puts in.
pub(super) fn has_names(command: &Command) -> bool {
    command.words().iter().any(Word::is_found_by_shell)
}

/// Whether some of the words stand for names of files that `xargs` puts in.
pub(super) fn has_names_of_xargs(command: &Command) -> bool {
    command.words().iter().any(|word| word.form == Form::Found && word.text == NAME)
}

/// What stands for a name that `xargs` puts in and that is no option.
const NAME: &str = "(name)";

fn is_put_in_by_xargs(word: &Word, command: &Command) -> bool {
    word.form == Form::Found && word.text == "{}" && xargs(command).is_some()
}

/// The words of the `xargs` that runs a command.
fn xargs(command: &Command) -> Option<&[Word]> {
    let wrapper = command.layers.iter().rev().nth(1)?;
    let (program, rest) = wrapper.words.split_first()?;
    (program_name(program) == Some("xargs")).then_some(rest)
}

/// Whether `xargs` puts in one name at a time, wherever a mark stands.
fn puts_in_one(command: &Command) -> bool {
    let marks = |word: &Word| ["-I", "-i", "--replace"].iter().any(|option| word.text.starts_with(option));
    xargs(command).is_some_and(|rest| rest.iter().any(marks))
}
