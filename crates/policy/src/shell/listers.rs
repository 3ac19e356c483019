//! Programs whose output is names, and files whose content is run.

use super::effects::{Deed, Touch};
use super::lookers::program_name;
use super::wrapper::SHELLS;
use super::{Command, Kind, Word};

/// What joins or turns round the conditions of `find`.
const JOINED: &[&str] = &["!", "(", ",", "-not", "-o", "-or"];

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
        _ => false,
    }
}

fn finds_only_files(rest: &[Word]) -> bool {
    let follows = rest.iter().any(|word| matches!(word.text.as_str(), "-L" | "-follow"));
    !follows && conditions(rest, "-type").contains(&"f")
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
    if rest.iter().any(|word| JOINED.contains(&word.text.as_str())) {
        return Vec::new();
    }
    rest.windows(2).filter(|pair| pair[0].text == test).filter_map(|pair| pair[1].known()).collect()
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

/// The files that `-f` names, attached to it or in the next word.
fn named_by_option(rest: &[Word]) -> Vec<Word> {
    let mut named = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        let value = match word.text.strip_prefix("--") {
            Some(long) => long.split_once('=').filter(|(name, _)| name.ends_with("file")),
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
