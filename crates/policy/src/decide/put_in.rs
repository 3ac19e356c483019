//! What words become when the shell has put in the values of variables: that may be an option, or nothing special.

use std::collections::BTreeMap;
use std::path::Path;

use super::listed::fits_name;
use super::place::{beginning, is_one_name};
use crate::context::Context;
use crate::shell::{Command, Form, Word, before_end, program_name};

/// So many ways to put values in are looked at.
const MOST: usize = 16;

type Variables = BTreeMap<String, Option<Vec<Word>>>;

/// A command in every way that values are put into its words, where all of them are known and plain; nothing otherwise. The
/// program itself is not put in.
pub(super) fn filled(command: &Command, variables: &Variables) -> Vec<Command> {
    let Some((program, rest)) = command.words().split_first() else { return Vec::new() };
    if !rest.iter().any(|word| word.form == Form::Dynamic && beginning(&word.text).is_some()) {
        return Vec::new();
    }
    let mut ways = vec![vec![program.clone()]];
    for word in rest {
        let values = match plain_values(word, variables) {
            Some(values) => values,
            None if is_whole_variable(word) => return Vec::new(),
            None => vec![word.clone()],
        };
        ways = ways
            .iter()
            .flat_map(|way| values.iter().map(|value| [way.clone(), vec![value.clone()]].concat()))
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
const PROGRAMS: &[&str] = &[
    "ag",
    "b2sum",
    "cksum",
    "du",
    "egrep",
    "fgrep",
    "grep",
    "ls",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "wc",
];

/// Whether a command that only looks may be given options that its words do not show.
pub(super) fn has_options(command: &Command, variables: &Variables) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    let Some(name) = program_name(program).filter(|name| PROGRAMS.contains(name)) else { return false };
    let before_end = || before_end(rest).iter();
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

/// Whether a pattern among the words of such a command fits a name that looks like an option.
pub(super) fn finds_options(command: &Command, variables: &Variables, cx: &Context) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    if !program_name(program).is_some_and(|name| PROGRAMS.contains(&name)) {
        return false;
    }
    let values = |word: &Word| match word.form {
        Form::Dynamic => beginning(&word.text).and_then(|(name, _)| variables.get(name)?.clone()),
        _ => Some(vec![word.clone()]),
    };
    let patterns = before_end(rest).iter().filter_map(values).flatten();
    let begins = |text: &str| {
        text.split('/').next().filter(|part| part.starts_with(['*', '?', '['])).map(str::to_owned)
    };
    let parts: Vec<String> = patterns.filter_map(|pattern| begins(&pattern.text)).collect();
    let is_option = |name: &Path, dir: &Path| {
        let first = name.strip_prefix(dir).ok().and_then(|below| below.iter().next());
        let first = first.filter(|first| first.as_encoded_bytes().starts_with(b"-"));
        first.is_some_and(|first| parts.iter().any(|part| fits_name(part, first)))
    };
    let mut dirs = command.dirs.iter().flatten().filter(|_| !parts.is_empty()).map(|dir| cx.place(dir).real);
    dirs.any(|dir| cx.resolver.odd_names(&dir).is_none_or(|odd| odd.iter().any(|name| is_option(name, &dir))))
}

/// Whether a value, or one of the words that it comes apart into, is an option.
fn may_begin_option(value: &Word, splits: bool) -> bool {
    let mut pieces = value.text.split_whitespace().take(if splits { usize::MAX } else { 1 });
    value.form == Form::Dynamic || pieces.any(|piece| piece.starts_with('-'))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
