//! What words become when the shell has put in the values of variables: that may be an option, or nothing special.

use std::collections::BTreeMap;

use super::place::{beginning, is_one_name};
use crate::access::Script;
use crate::shell::{self, Command, Form, Word, only_looks, program_name};

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

/// Whether `git` only looks in some part of a script.
pub(crate) fn looks_with_git(script: &Script) -> bool {
    let analysis = shell::analyse(&script.command, &script.cwd);
    let looks = |command: &Command| {
        let filled = filled(command, &analysis.variables);
        only_looks(command) || !filled.is_empty() && filled.iter().all(only_looks)
    };
    let is_git = |command: &Command| command.words().first().and_then(program_name) == Some("git");
    analysis.commands.iter().any(|command| is_git(command) && looks(command))
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
