//! What words become when the shell has put in the values of variables: that may be an option, or nothing special.

use std::collections::BTreeMap;

use super::place::{beginning, is_one_name};
use crate::shell::{Analysis, Command, Form, GLOBS, Listing, Word, expansions, program_name};

/// So many ways to put values in are looked at.
const MOST: usize = 16;

type Variables = BTreeMap<String, Option<Vec<Word>>>;

/// A command in every way that values are put into its words, where all of them are known and plain; nothing otherwise. The
/// program itself is not put in.
pub(super) fn filled(command: &Command, analysis: &Analysis) -> Vec<Command> {
    let Some((program, rest)) = command.words().split_first() else { return Vec::new() };
    if !rest.iter().any(|word| word.form >= Form::Found) {
        return Vec::new();
    }
    let mut ways = vec![vec![program.clone()]];
    for word in rest {
        let values = match (listed(word, command, analysis), plain_values(word, &analysis.variables)) {
            (Some(words), _) => vec![words],
            (None, Some(values)) => values.into_iter().map(|value| vec![value]).collect(),
            (None, None) if is_whole_variable(word) => return Vec::new(),
            (None, None) => vec![vec![word.clone()]],
        };
        ways = ways
            .iter()
            .flat_map(|way| values.iter().map(|words| [way.as_slice(), words.as_slice()].concat()))
            .collect();
        if ways.len() > MOST {
            return Vec::new();
        }
    }
    let mut commands = Vec::new();
    for words in ways {
        let mut filled = command.clone();
        let Some(last) = filled.layers.last_mut() else { return Vec::new() };
        last.words = words;
        commands.push(filled);
    }
    commands
}

/// The words that stand for a word in which the shell puts what commands of the script print, if that is of a known kind.
fn listed(word: &Word, command: &Command, analysis: &Analysis) -> Option<Vec<Word>> {
    let listings = &analysis.listings;
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

/// Whether a word is a variable and nothing else.
fn is_whole_variable(word: &Word) -> bool {
    word.form == Form::Dynamic && beginning(&word.text).is_some_and(|(_, behind)| behind.is_empty())
}

/// What becomes of a word that begins with a variable, if each value is one plain word and no option. Behind a certain
/// beginning, the rest of a pattern makes none of it.
fn plain_values(word: &Word, variables: &Variables) -> Option<Vec<Word>> {
    let (name, behind) = beginning(&word.text).filter(|_| word.form == Form::Dynamic)?;
    let values = variables.get(name)?.as_ref()?;
    let is_pattern = |value: &Word| value.form == Form::Pattern && !word.splits && behind.is_empty();
    let is_plain = |value: &Word| {
        let begins = value.certain();
        !begins.is_empty() && !begins.starts_with('-') && (is_one_name(value) || is_pattern(value))
    };
    let is_rest = |c: char| c.is_ascii_alphanumeric() || "_-./@+,=:~^".contains(c);
    let put_in = |value: &Word| Word {
        text: format!("{}{behind}", value.text),
        splits: false,
        lead: true,
        ..value.clone()
    };
    let is_known = !values.is_empty() && behind.chars().all(is_rest) && values.iter().all(is_plain);
    is_known.then(|| values.iter().map(put_in).collect())
}

/// Programs that only look, some of whose options read what no word names.
const PROGRAMS: &[&str] = &["ag", "du", "egrep", "fgrep", "grep", "ls", "wc"];

/// Whether a command that only looks may be given options that its words do not show.
pub(super) fn has_options(command: &Command, variables: &Variables) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    let Some(name) = program_name(program).filter(|name| PROGRAMS.contains(name)) else { return false };
    let before_end = || rest.iter().take_while(|word| word.known() != Some("--"));
    // The pattern of a search is no file, so nothing else is asked about it.
    let first = before_end().find(|word| !word.certain().starts_with('-'));
    let is_pattern =
        |word: &Word| name.ends_with("grep") && first.is_some_and(|first| std::ptr::eq(first, word));
    before_end().filter(|word| word.form == Form::Dynamic && (!word.lead || word.splits)).any(|word| {
        match beginning(&word.text).map(|(name, _)| name).filter(|name| is_name(name)) {
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

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
