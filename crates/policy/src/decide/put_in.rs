//! Words that turn out to be options only when the shell has put something in.

use std::collections::BTreeMap;

use crate::shell::{Command, Form, Word, program_name};

/// Programs that only look, some of whose options read what no word names.
const PROGRAMS: &[&str] = &["ag", "du", "egrep", "fgrep", "grep", "ls", "wc"];

/// Whether a command that only looks may be given options that its words do not show.
pub(super) fn has_options(command: &Command, variables: &BTreeMap<String, Option<Vec<Word>>>) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    let Some(name) = program_name(program).filter(|name| PROGRAMS.contains(name)) else { return false };
    let before_end = || rest.iter().take_while(|word| word.known() != Some("--"));
    // The pattern of a search is no file, so nothing else is asked about it.
    let first = before_end().find(|word| !word.certain().starts_with('-'));
    let is_pattern =
        |word: &Word| name.ends_with("grep") && first.is_some_and(|first| std::ptr::eq(first, word));
    before_end().filter(|word| word.form == Form::Dynamic && (!word.lead || word.splits)).any(|word| {
        match variable(&word.text) {
            Some(name) => match variables.get(name) {
                Some(Some(values)) => values.iter().any(|value| may_begin_option(value, word.splits)),
                Some(None) => is_pattern(word),
                // It comes from the user's environment.
                None => false,
            },
            None => is_pattern(word),
        }
    })
}

/// Whether a value, or one of the words that it comes apart into, is an option.
fn may_begin_option(value: &Word, splits: bool) -> bool {
    let mut pieces = value.text.split_whitespace().take(if splits { usize::MAX } else { 1 });
    value.form == Form::Dynamic || pieces.any(|piece| piece.starts_with('-'))
}

/// The variable that a word begins with.
fn variable(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    let rest = rest.strip_prefix('{').unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}
