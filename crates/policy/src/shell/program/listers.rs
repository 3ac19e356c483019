//! Programs whose output is names, and files whose content is run.

use super::effects::{Deed, Touch};
use super::find;
use super::lookers::{Operands, looker, program_name};
use super::name_ends::Ends;
use super::wrapper::{SHELLS, ends_of_names, is_input};
use crate::shell::tree::are_on_disk;
use crate::shell::{Command, Form, Kind, Output, Word};

/// Programs that run the file that they are given.
const INTERPRETERS: &[&str] = &[
    ".",
    "bun",
    "deno",
    "expect",
    "lua",
    "luajit",
    "node",
    "osascript",
    "perl",
    "php",
    "pypy",
    "pypy3",
    "python",
    "python2",
    "python3",
    "Rscript",
    "ruby",
    "source",
    "tclsh",
];

/// Whether a program runs the file that it is given.
pub(crate) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name)
}

/// The files that `make` looks for by itself.
const MAKEFILES: &[&str] = &["GNUmakefile", "Makefile", "makefile"];

/// Whether a command prints names among which there may be links. Searches in contents pass links over.
pub(crate) fn lists_links(command: &Command) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    match base_name(program) {
        Some("find" | "gfind") => !finds_only_files(rest),
        Some("fd" | "git" | "ls") => true,
        Some("printf") => command.output == Output::Fed && rest.iter().any(|word| word.form == Form::Pattern),
        _ => false,
    }
}

/// The patterns of which `ls` shows what the directories hold that they fit, without saying which ones these are.
pub(crate) fn shown_inside(command: &Command) -> Vec<&Word> {
    let Some((program, rest)) = command.words().split_first() else { return Vec::new() };
    let itself =
        |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('d');
    if base_name(program) != Some("ls") || command.output != Output::Fed || rest.iter().any(itself) {
        return Vec::new();
    }
    rest.iter().filter(|word| word.form == Form::Pattern).collect()
}

fn finds_only_files(rest: &[Word]) -> bool {
    let follows = rest.iter().any(|word| matches!(word.text.as_str(), "-L" | "-follow"));
    !follows && conditions(rest, "-type").contains(&"f")
}

/// Whether a command prints names that others may read.
pub(crate) fn lists_names(command: &Command) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    match base_name(program) {
        Some("find" | "gfind" | "fd" | "git" | "ls") => true,
        Some("printf") => lists_links(command),
        Some("rg" | "grep") => rest.iter().any(|word| {
            let cluster = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            word.text.starts_with("--files") || cluster.is_some_and(|letters| letters.contains('l'))
        }),
        _ => false,
    }
}

/// Whether the names that a command prints may be taken for options: nothing stands in front of them.
pub(crate) fn lists_bare_names(command: &Command) -> bool {
    !matches!(command.words().first().and_then(base_name), Some("find" | "gfind"))
}

/// Whether a command prints names that need not be those of files on disk.
pub(crate) fn lists_revisions(command: &Command) -> bool {
    match command.words().split_first() {
        Some((program, [subcommand, rest @ ..])) => {
            base_name(program) == Some("git") && subcommand.text == "diff" && !are_on_disk(rest)
        }
        _ => false,
    }
}

/// Whether no further word of a command is an option. Behind other options than these, `--` could be a value.
pub(crate) fn ends_options(command: &Command) -> bool {
    let is_end = |words: &[Word]| match words {
        [before, end] => {
            let takes_none = !before.text.starts_with('-') || matches!(before.known(), Some("-l" | "-n"));
            end.known() == Some("--") && before.is_literal() && takes_none
        }
        _ => false,
    };
    command.words().windows(2).any(is_end)
}

/// Whether a command takes all its words for text.
pub(crate) fn only_prints(command: &Command) -> bool {
    let looker = command.words().first().and_then(base_name).and_then(looker);
    looker.is_some_and(|looker| looker.operands == Operands::Text)
}

/// Whether names are put into a command by `xargs`.
pub(crate) fn gets_names(command: &Command) -> bool {
    putting_names_in(command).next().is_some()
}

/// Whether names that are put into a command come apart at blanks and quotes: `xargs` takes them so, unless they have an
/// end of their own.
pub(crate) fn takes_names_apart(command: &Command) -> bool {
    putting_names_in(command).any(|rest| ends_of_names(rest) != Some(Ends::Nul))
}

/// What is said to each `xargs` around a command.
fn putting_names_in(command: &Command) -> impl Iterator<Item = &[Word]> {
    let wrappers = command.layers.iter().rev().skip(1).filter_map(|layer| layer.words.split_first());
    wrappers.filter(|(program, _)| base_name(program) == Some("xargs")).map(|(_, rest)| rest)
}

/// The names that what `find` finds must fit, one and all.
pub(crate) fn found_names(lister: &Command) -> Vec<&str> {
    match lister.words().split_first() {
        Some((program, rest)) if matches!(base_name(program), Some("find" | "gfind")) => {
            conditions(rest, "-name")
        }
        _ => Vec::new(),
    }
}

/// What all that `find` finds must fulfil.
fn conditions<'a>(rest: &'a [Word], test: &str) -> Vec<&'a str> {
    let tests = find::tests(rest).into_iter().filter(|(name, _)| *name == test);
    tests.filter_map(|(_, value)| value.known()).collect()
}

/// The files whose content a command runs, as far as its words name them.
pub(crate) fn run_files(command: &Command) -> Vec<Touch> {
    let Some((program, rest)) = command.words().split_first().filter(|_| command.kind == Kind::Run) else {
        return Vec::new();
    };
    let given = || rest.iter().filter(|word| !word.text.starts_with('-')).cloned().collect::<Vec<_>>();
    let mut words = match base_name(program) {
        Some(name) if SHELLS.contains(&name) || INTERPRETERS.contains(&name) => given(),
        Some("make" | "gmake") => {
            let named = named_by_option(rest);
            let by_itself = MAKEFILES.iter().map(|name| Word::literal(name)).collect();
            if named.is_empty() { by_itself } else { named }
        }
        Some("awk" | "gawk" | "mawk" | "sed" | "gsed") => named_by_option(rest),
        _ => Vec::new(),
    };
    words.extend(program.text.contains('/').then(|| program.clone()));
    words.into_iter().map(|word| Touch { deed: Deed::Read, word, dirs: command.dirs.clone() }).collect()
}

/// Whether a script that `-f` names comes from the input, or from a pipe.
pub(crate) fn takes_script_from_input(rest: &[Word]) -> bool {
    named_by_option(rest).iter().any(is_input)
}

/// The files that `-f` names, attached to it or in the next word.
fn named_by_option(rest: &[Word]) -> Vec<Word> {
    let mut named = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        let value = match word.text.strip_prefix("--") {
            Some(long) => {
                let (name, value) = long.split_once('=').unwrap_or((long, ""));
                let is_file = |option: &str| !name.is_empty() && option.starts_with(name);
                ["file", "makefile"].iter().any(|option| is_file(option)).then_some((name, value))
            }
            None => word.text.split_once('f').filter(|(letters, _)| letters.starts_with('-')),
        };
        match value {
            Some((_, "")) => named.extend(rest.get(at + 1).cloned()),
            Some((_, value)) => named.push(Word { text: value.to_owned(), ..word.clone() }),
            None => {}
        }
    }
    named
}

fn base_name(program: &Word) -> Option<&str> {
    program_name(program)?.rsplit('/').next()
}
