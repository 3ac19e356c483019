//! What a command may change, as far as its words name it: what it writes, and what a program gets that does not plainly
//! only read.

use super::effects::{Deed, Touch, mentions, touches};
use super::lookers::{is_known_program, program_name};
use super::wrapper::SHELLS;
use super::{git, listers, read_only::only_looks, writers};
use crate::path::names_guarded;
use crate::shell::{Command, Dirs, Form, Kind, Word};

/// Parts of the names of options whose values are left alone.
const LEFT_OUT: &[&str] = &["exclude", "ignore", "skip"];

/// Programs that show what they are given.
const PAGERS: &[&str] = &["bat", "less", "more"];

/// The places that a command may change.
pub(crate) fn changes(command: &Command) -> Vec<Touch> {
    let Some((program, rest)) = command.words().split_first().filter(|_| command.kind == Kind::Run) else {
        return Vec::new();
    };
    if only_looks(command) {
        return Vec::new();
    }
    let all = touches(command);
    let written = all.iter().filter(|touch| touch.deed == Deed::Write).cloned();
    match base_name(program) {
        Some("git") if !is_mv(rest) => {
            let dirs = git::directory(rest, &command.dirs);
            let written = git::written(rest).into_iter();
            written.map(|word| Touch { deed: Deed::Write, word, dirs: dirs.clone() }).collect()
        }
        Some("find" | "gfind") if rest.iter().any(|word| word.text == "-delete") => all,
        Some("fd") => all,
        // What is reached by another name from now on is changed by that name.
        Some("ln") => {
            let named = mentions(rest, &command.dirs);
            written.chain(named).collect()
        }
        Some("sed" | "gsed" | "awk" | "gawk" | "mawk") => written.chain(in_code(command, rest)).collect(),
        // What is put in comes from the input.
        Some(name) if is_known_program(name) && name != "cargo" => {
            let puts_in = rest.iter().any(|word| word.form == Form::Dynamic);
            let fed = command.fed.iter().filter(|_| puts_in);
            written.chain(fed.flat_map(|text| named_in(text, &command.dirs))).collect()
        }
        Some(name)
            if PAGERS.contains(&name)
                && !writers::has_any(rest, &["-O", "-o", "--log-file", "--LOG-FILE"]) =>
        {
            Vec::new()
        }
        name => {
            let runs = name.is_some_and(|name| SHELLS.contains(&name) || listers::is_interpreter(name));
            let given = meant(&rest[usize::from(runs && rest.first().is_some_and(is_file))..]);
            let mentioned = mentions(&given, &command.dirs).into_iter().filter(|touch| is_place(&touch.word));
            // It may write to where it runs.
            let here = Touch { deed: Deed::Mention, word: Word::literal("."), dirs: command.dirs.clone() };
            written.chain(mentioned).chain([here]).chain(in_code(command, rest)).collect()
        }
    }
}

fn base_name(program: &Word) -> Option<&str> {
    program_name(program)?.rsplit('/').next()
}

fn is_mv(rest: &[Word]) -> bool {
    git::possible_subcommands(rest).iter().any(|(word, _)| word.known() == Some("mv"))
}

/// Whether the first word of a program that runs files is one: it is run, not changed.
fn is_file(word: &Word) -> bool {
    !word.text.starts_with('-')
}

/// Words without those that say what is left out.
fn meant(rest: &[Word]) -> Vec<Word> {
    let leaves_out = |word: &Word| {
        word.text
            .strip_prefix("--")
            .is_some_and(|name| LEFT_OUT.iter().any(|left_out| name.contains(left_out)))
    };
    let is_left_out = |at: usize| {
        leaves_out(&rest[at])
            || at
                .checked_sub(1)
                .is_some_and(|before| leaves_out(&rest[before]) && !rest[before].text.contains('='))
    };
    let words = (0..rest.len()).filter(|at| !is_left_out(*at)).map(|at| &rest[at]);
    words.flat_map(|word| [Some(word.clone()), value(word)]).flatten().collect()
}

/// What stands behind a `=`, or behind the letters of a cluster of options where a path begins.
fn value(word: &Word) -> Option<Word> {
    let cluster = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let path = cluster.and_then(|letters| letters.find(['/', '.', '~']).map(|at| &letters[at..]));
    let value = word.text.split_once('=').map(|(_, value)| value).or(path)?;
    // A shell expands it behind a `=` as well.
    Some(Word { text: value.to_owned(), lead: true, tilde: value.starts_with('~'), ..word.clone() })
}

/// Whether a word is more likely the name of a file than an address or a revision.
fn is_place(word: &Word) -> bool {
    let is_address = word.text.contains("://");
    !is_address && (word.text.rsplit('/').next() != Some("HEAD") || names_guarded(&word.text))
}

/// What is named in texts that a program takes for code of its own kind: among its words, or in its input.
fn in_code(command: &Command, rest: &[Word]) -> Vec<Touch> {
    let is_code = |text: &&str| text.contains(|c: char| c.is_whitespace() || "'\"();".contains(c));
    let words = rest.iter().map(|word| word.text.as_str()).filter(is_code);
    let texts = words.chain(command.fed.iter().map(String::as_str));
    texts.flat_map(|text| named_in(text, &command.dirs)).collect()
}

/// The places that code of some language names, whatever it means.
fn named_in(text: &str, dirs: &Dirs) -> Vec<Touch> {
    // Without a slash it is more likely something that the code leaves out.
    named(text, dirs, |name| name.contains('/') || name == ".mcp.json")
}

/// The places that shell text names, whatever it means.
pub(crate) fn named_in_script(text: &str, dirs: &Dirs) -> Vec<Touch> {
    named(text, dirs, |name| name.contains('/') || names_guarded(name))
}

fn named(text: &str, dirs: &Dirs, is_meant: impl Fn(&str) -> bool) -> Vec<Touch> {
    let names = text.split(|c: char| c.is_whitespace() || "'\"`;|&<>(){}=,$:".contains(c));
    // What looks like an option may follow a sign.
    let names = names.flat_map(|name| [Some(name), name.strip_prefix('-')]).flatten();
    let named = names.filter(|name| is_meant(name));
    let words = named.map(|name| Word { tilde: name.starts_with('~'), ..Word::literal(name) });
    let touch = |word| Touch { deed: Deed::Mention, word, dirs: dirs.clone() };
    words.filter(is_place).map(touch).collect()
}
