//! What `jq` can be asked without reading more than its command line names.

use super::effects;
use super::lookers::is_option;
use crate::shell::Word;

/// Options that take no value.
const FLAGS: &[&str] = &[
    "--ascii-output",
    "--color-output",
    "--compact-output",
    "--exit-status",
    "--join-output",
    "--monochrome-output",
    "--null-input",
    "--raw-input",
    "--raw-output",
    "--slurp",
    "--sort-keys",
    "--stream",
    "--tab",
    "--unbuffered",
];

/// Words of a program that read modules, other inputs or the environment.
const REACHING: &[&str] =
    &["import", "include", "env", "ENV", "get_search_list", "input_filename", "modulemeta"];

/// What values of variables are given with: no files.
const GIVEN: [&str; 2] = ["--arg", "--argjson"];

/// What they are given with that holds what a file does.
const READ: [&str; 2] = ["--rawfile", "--slurpfile"];

/// The words without those that give variables their values. Behind `--` there are no options.
fn without_given(rest: &[Word]) -> Vec<Word> {
    let mut words = rest.iter();
    let mut left = Vec::new();
    while let Some(word) = words.next() {
        match word.known() {
            Some(option) if GIVEN.contains(&option) || READ.contains(&option) => _ = words.nth(1),
            Some("--") => {
                left.push(word.clone());
                left.extend(words.by_ref().cloned());
            }
            _ => left.push(word.clone()),
        }
    }
    left
}

/// The files that a call reads.
pub(crate) fn files(rest: &[Word]) -> Vec<Word> {
    let others = without_given(rest);
    let operands = effects::operands(&others).skip(usize::from(!has_program_file(rest)));
    // More of them than are read, if one stands behind `--`.
    let is_read = |at: &usize| rest[*at].known().is_some_and(|option| READ.contains(&option));
    let named = (0..rest.len()).filter(is_read).filter_map(|at| rest.get(at + 2).cloned());
    operands.chain(named).collect()
}

/// Whether the program comes from a file, so that every operand is one.
fn has_program_file(rest: &[Word]) -> bool {
    rest.iter()
        .any(|word| is_option(&word.text, "-f") || word.text != "--" && is_option(&word.text, "--from-file"))
}

/// Whether a call of `jq` only looks. `rest`: the words after `jq`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    let mut program_seen = false;
    let mut ended = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if !ended && word.known() == Some("--") {
            ended = true;
            continue;
        }
        if ended || text.len() < 2 || !text.starts_with('-') {
            if !program_seen && word.known().is_none_or(reaches) {
                return false;
            }
            program_seen = true;
            if !word.lead || word.splits {
                return false;
            }
            continue;
        }
        let is_letter = |letter: char| "nrRscCMSaej".contains(letter);
        match word.known() {
            Some(option) if GIVEN.contains(&option) || READ.contains(&option) => {
                if !(0..2).all(|_| words.next().is_some_and(Word::is_single)) {
                    return false;
                }
            }
            Some("--indent") if words.next().is_some_and(Word::is_literal) => {}
            Some(flag) if FLAGS.contains(&flag) || flag[1..].chars().all(is_letter) => {}
            _ => return false,
        }
    }
    true
}

/// Whether a program has one of the words that reach further. Behind a dot, in quotation marks or before the colon of an
/// object it is the name of a field.
fn reaches(program: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    program.char_indices().any(|(at, _)| {
        let (before, here) = program.split_at(at);
        REACHING.iter().any(|word| {
            let is_key = |after: &str| {
                after.trim_start().starts_with(':') && !before.ends_with('$') && is_in_object(before)
            };
            let is_word = |after: &str| !after.starts_with(is_name) && !is_key(after);
            here.strip_prefix(word).is_some_and(is_word)
                && !before.ends_with(|c: char| is_name(c) || matches!(c, '.' | '"'))
        })
    })
}

/// Whether the innermost bracket that is open is that of an object. Brackets in texts are none; what a text puts in stands
/// in brackets of its own. Where a comment ends is not the same everywhere.
fn is_in_object(before: &str) -> bool {
    if before.contains('#') {
        return false;
    }
    let mut open = Vec::new();
    let mut chars = before.chars();
    while let Some(c) = chars.next() {
        match (c, open.last() == Some(&'"')) {
            ('"', true) => _ = open.pop(),
            ('\\', true) if chars.next() == Some('(') => open.push('('),
            (_, true) => {}
            ('"' | '{' | '[' | '(', false) => open.push(c),
            ('}' | ']' | ')', false) => _ = open.pop(),
            _ => {}
        }
    }
    open.last() == Some(&'{')
}
