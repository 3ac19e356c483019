//! Where programs put what they copy, move and link: not only where their last word says, but below it by its own name.

use super::effects::operands;
use super::lookers::program_name;
use super::{git, writers};
use crate::shell::{Command, Dirs, Form, Kind, Word};

/// One thing that is put somewhere.
#[derive(Clone, Debug)]
pub(crate) struct Landing {
    pub(crate) source: Word,
    pub(crate) target: Word,
    pub(crate) dirs: Dirs,
    pub(crate) name: Name,
    /// Whether all that lies below it is put there as well.
    pub(crate) with_all: bool,
    pub(crate) manner: Manner,
}

/// How something comes to where it is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// What it holds is copied: no link is put there.
    Content,
    /// It is copied as it is, links too.
    Copied,
    /// It is there from now on, and no longer where it was.
    Moved,
    /// A link to it is made.
    Linked,
}

/// The name that something gets where it is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// Its own below the target, if that is a directory, and otherwise that of the target.
    Own,
    /// That of the target, whatever that is.
    OfTarget,
    /// Its whole path below the target.
    Path,
}

/// What a command puts where.
pub(crate) fn landings(command: &Command) -> Vec<Landing> {
    let Some((program, rest)) = command.words().split_first().filter(|_| command.kind == Kind::Run) else {
        return Vec::new();
    };
    let Some(name) = program_name(program).and_then(|name| name.rsplit('/').next()) else {
        return Vec::new();
    };
    let (rest, dirs) = match name {
        "cp" | "install" | "ln" | "mv" => (rest, command.dirs.clone()),
        "git" => match git::subcommand(rest) {
            Some(("mv", named)) => (named, git::directory(rest, &command.dirs)),
            _ => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let named_as = if writers::has_any(rest, &["-T", "--no-target-directory"]) {
        Name::OfTarget
    } else if name == "cp" && writers::has_any(rest, &["--parents"]) {
        Name::Path
    } else {
        Name::Own
    };
    let recurses = writers::has_any(rest, &["-r", "-R", "-a", "--recursive", "--archive"]);
    let with_all = matches!(name, "mv" | "git") || name == "cp" && recurses;
    let manner = match name {
        "mv" | "git" => Manner::Moved,
        "ln" => Manner::Linked,
        "cp" if !follows_links(rest) => Manner::Copied,
        _ => Manner::Content,
    };
    let (sources, targets) = sources_and_targets(name, rest);
    let landing = |source: &Word, target: &Word| Landing {
        source: source.clone(),
        target: target.clone(),
        dirs: dirs.clone(),
        name: named_as,
        with_all,
        manner,
    };
    targets.iter().flat_map(|target| sources.iter().map(|source| landing(source, target))).collect()
}

/// Whether `cp` copies what links lead to, and not the links.
fn follows_links(rest: &[Word]) -> bool {
    const LONG: &[&str] = &["", "force", "interactive", "no-clobber", "parents", "update", "verbose"];
    let leaves_links = |word: &Word| match word.text.strip_prefix("--") {
        Some(long) => !LONG.contains(&long),
        None => !word.text[1..].chars().all(|letter| "finptuvT".contains(letter)),
    };
    let mut options = rest.iter().filter(|word| word.text.len() > 1 && word.text.starts_with('-'));
    // What is put in could be an option; but where two words are left at most, one of them could not be spared.
    let may_be_option =
        |word: &Word| !word.lead && (rest.len() > 2 || word.splits || word.form == Form::Pattern);
    !options.any(leaves_links) && !rest.iter().any(may_be_option)
}

fn sources_and_targets(name: &str, rest: &[Word]) -> (Vec<Word>, Vec<Word>) {
    let mut words: Vec<Word> = operands(rest).collect();
    let told = match name {
        "git" => Vec::new(),
        _ => writers::values(rest, &["-t", "--target-directory"]),
    };
    if !told.is_empty() {
        words.retain(|word| told.iter().all(|target| target.text != word.text));
        return (words, told);
    }
    // A link that is told no place is put here.
    if name == "ln" && words.len() == 1 {
        words.push(Word::literal("."));
    }
    let target = words.pop();
    (words, target.into_iter().collect())
}
