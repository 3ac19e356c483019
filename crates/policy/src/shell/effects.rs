//! Which files a command touches, as far as its words tell.

use super::lookers::{Operands, is_known_program, is_option, looker, program_name};
use super::runners::Runs;
use super::{Command, Dirs, Form, Kind, Redirect, Word, git, jq};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Its content is read.
    Read,
    /// Everything below is read.
    ReadBelow,
    /// Its name and properties are looked at.
    Look,
    /// It is created, changed, moved or removed.
    Write,
    /// A program of unknown manners gets its name.
    Mention,
}

/// A file that a command touches.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    pub(crate) deed: Deed,
    pub(crate) word: Word,
    pub(crate) dirs: Dirs,
}

/// The files a command's words name.
pub(crate) fn touches(command: &Command) -> Vec<Touch> {
    if command.kind != Kind::Run {
        return Vec::new();
    }
    let Some((program, rest)) = command.words().split_first() else { return Vec::new() };
    let Some(name) = program_name(program) else { return mentions(rest, &command.dirs) };
    let name = name.rsplit('/').next().unwrap_or(name);
    let touch = |deed: Deed, word: &Word| Touch { deed, word: word.clone(), dirs: command.dirs.clone() };
    let all = |deed: Deed| operands(rest).map(|word| touch(deed, &word)).collect::<Vec<_>>();
    match name {
        "cd" | "pushd" => {
            // The shell goes up by the letters of a path, not by where its links lead.
            let lexical = operands(rest).map(|word| Word { text: without_turns(&word.text), ..word });
            all(Deed::Look).into_iter().chain(lexical.map(|word| touch(Deed::Look, &word))).collect()
        }
        "rm" | "rmdir" | "touch" | "mkdir" | "tee" | "truncate" | "unlink" | "shred" | "chmod" | "chown"
        | "chgrp" => all(Deed::Write),
        "mv" => moves(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "cp" | "install" | "ln" => copies(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "dd" => data_copy(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "sed" | "gsed" => {
            let in_place =
                rest.iter().any(|word| is_option(&word.text, "-i") || word.text.starts_with("--in"));
            let files = operands(rest).skip(usize::from(!has_script_option(rest)));
            files.map(|word| touch(if in_place { Deed::Write } else { Deed::Read }, &word)).collect()
        }
        "find" | "gfind" => {
            let options = rest.iter().take_while(|word| is_find_option(word)).count();
            let places = rest[options..].iter().take_while(|word| !is_expression(word));
            let listed = rest.iter().skip_while(|word| word.text != "-files0-from").nth(1);
            let listed = listed.map(|word| touch(Deed::Read, word));
            places.map(|word| touch(Deed::Look, word)).chain(listed).collect()
        }
        // What is given another name first could be anything.
        "git" if git::runs(rest) == Runs::Unseen => mentions(rest, &command.dirs),
        "git" => {
            let dirs = git::directory(rest, &command.dirs);
            let moved = rest.iter().skip_while(|word| word.text != "-C").nth(1);
            let inside =
                git_touches(rest).into_iter().map(|(deed, word)| Touch { deed, word, dirs: dirs.clone() });
            moved.map(|word| touch(Deed::Look, word)).into_iter().chain(inside).collect()
        }
        "rg" | "grep" | "egrep" | "fgrep" | "ag" | "fd" => {
            searches(name, rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect()
        }
        "jq" => operands(&jq::without_given(rest)).skip(1).map(|word| touch(Deed::Read, &word)).collect(),
        "awk" | "gawk" | "mawk" => awk_files(rest).iter().map(|word| touch(Deed::Read, word)).collect(),
        _ => match looker(name).map(|looker| looker.operands) {
            Some(Operands::Text | Operands::None) => Vec::new(),
            Some(Operands::Places) => all(Deed::Look),
            Some(Operands::Paths | Operands::AtMost(_)) => all(Deed::Read),
            Some(Operands::PatternThenPaths) => {
                operands(rest).skip(1).map(|word| touch(Deed::Read, &word)).collect()
            }
            None if is_known_program(name) => Vec::new(),
            None => mentions(rest, &command.dirs),
        },
    }
}

/// A path in which nothing is entered that is left again.
fn without_turns(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/').filter(|step| !step.is_empty() && *step != ".") {
        match steps.last() {
            Some(last) if step == ".." && *last != ".." => drop(steps.pop()),
            _ => steps.push(step),
        }
    }
    format!("{}{}", if path.starts_with('/') { "/" } else { "" }, steps.join("/"))
}

/// The file a redirect touches.
pub(crate) fn redirect_touch(redirect: &Redirect) -> Touch {
    let deed = if redirect.writes { Deed::Write } else { Deed::Read };
    Touch { deed, word: redirect.target.clone(), dirs: redirect.dirs.clone() }
}

fn mentions(words: &[Word], dirs: &Dirs) -> Vec<Touch> {
    let named =
        operands(words).filter(|word| !word.text.is_empty() && !word.text.contains(char::is_whitespace));
    named.map(|word| Touch { deed: Deed::Mention, word, dirs: dirs.clone() }).collect()
}

/// Words that are no options, and what options hold after `=` or right behind their letter.
fn operands(words: &[Word]) -> impl Iterator<Item = Word> + '_ {
    let mut options_ended = false;
    words.iter().filter_map(move |word| {
        if options_ended || !(word.text.len() > 1 && word.text.starts_with('-')) {
            return Some(word.clone());
        }
        if word.text == "--" {
            options_ended = true;
            return None;
        }
        let value = match word.text.split_once('=') {
            Some((_, value)) => Some(value),
            None => word.text.get(2..).filter(|rest| rest.starts_with(['/', '.', '~'])),
        };
        value.map(|value| Word { text: value.to_owned(), lead: true, ..word.clone() })
    })
}

/// What stands behind the program of `awk`, and the files that options name.
fn awk_files(rest: &[Word]) -> Vec<Word> {
    let valued = rest
        .iter()
        .enumerate()
        .filter(|(at, _)| *at > 0 && ["-F", "-v"].contains(&rest[at - 1].text.as_str()));
    let values: Vec<usize> = valued.map(|(at, _)| at).collect();
    let others = rest.iter().enumerate().filter(|(at, _)| !values.contains(at)).map(|(_, word)| word.clone());
    let others: Vec<Word> = others.collect();
    let has_file = others.iter().any(|word| is_option(&word.text, "-f") || word.text.starts_with("--file"));
    operands(&others).skip(usize::from(!has_file)).collect()
}

fn copies(rest: &[Word]) -> Vec<(Deed, Word)> {
    let mut words: Vec<Word> = operands(rest).collect();
    let target_first =
        rest.iter().any(|word| is_option(&word.text, "-t") || word.text.starts_with("--target"));
    if target_first {
        return words.into_iter().map(|word| (Deed::Write, word)).collect();
    }
    let target = words.pop().map(|word| (Deed::Write, word));
    words.into_iter().map(|word| (Deed::ReadBelow, word)).chain(target).collect()
}

/// What is moved away from its name is there to be read under another, with all it holds.
fn moves(rest: &[Word]) -> Vec<(Deed, Word)> {
    let words: Vec<Word> = operands(rest).collect();
    let target_first =
        rest.iter().any(|word| is_option(&word.text, "-t") || word.text.starts_with("--target"));
    let sources = words.len().saturating_sub(usize::from(!target_first));
    let read = words.iter().take(sources).map(|word| {
        let deed = if word.is_literal() { Deed::Read } else { Deed::ReadBelow };
        (deed, word.clone())
    });
    let mut touched: Vec<_> = read.collect();
    touched.extend(words.into_iter().map(|word| (Deed::Write, word)));
    touched
}

fn data_copy(rest: &[Word]) -> Vec<(Deed, Word)> {
    let named = rest.iter().filter_map(|word| {
        let (key, value) = word.text.split_once('=')?;
        let deed = match key {
            "if" => Deed::Read,
            "of" => Deed::Write,
            _ => return None,
        };
        Some((deed, Word { text: value.to_owned(), ..word.clone() }))
    });
    named.collect()
}

fn has_script_option(rest: &[Word]) -> bool {
    rest.iter().any(|word| {
        is_option(&word.text, "-e") || is_option(&word.text, "-f") || word.text.starts_with("--expression")
    })
}

/// Options of `find` that stand before the places it looks in.
fn is_find_option(word: &Word) -> bool {
    matches!(word.text.as_str(), "-H" | "-L" | "-P") || word.text.starts_with("-O")
}

fn is_expression(word: &Word) -> bool {
    word.text.starts_with('-') || matches!(word.text.as_str(), "(" | "!" | ")")
}

/// `git` names files as operands and after `:`.
fn git_touches(rest: &[Word]) -> Vec<(Deed, Word)> {
    let mut found = Vec::new();
    let Some((subcommand, rest)) = git::subcommand(rest) else { return found };
    found.extend(git::named_files(subcommand, rest).into_iter().map(|word| (Deed::Read, word)));
    let deed = match subcommand {
        "checkout" | "restore" | "rm" | "mv" | "clean" | "apply" => Deed::Write,
        "grep" => {
            found.push((Deed::ReadBelow, Word::literal(".")));
            return found;
        }
        "show" | "diff" | "blame" | "cat-file" | "annotate" | "log" | "add" => Deed::Read,
        _ => return found,
    };
    // `diff` reads whatever files it is given, of a repository or not; a name without a slash is more likely a revision.
    let is_named =
        |word: &&Word| word.form != Form::Dynamic || subcommand == "diff" && word.text.contains('/');
    for word in rest.iter().filter(|word| !word.text.starts_with('-')).filter(is_named) {
        let path = word.text.rsplit_once(':').map_or(word.text.as_str(), |(_, path)| path);
        let word = Word { text: path.to_owned(), ..word.clone() };
        found.extend((subcommand == "mv").then(|| (Deed::Read, word.clone())));
        found.push((deed, word));
    }
    found
}

/// Long options of search programs whose value may stand in the next word.
const SEARCH_VALUES: &[&str] = &[
    "--after-context",
    "--before-context",
    "--color",
    "--colors",
    "--context",
    "--encoding",
    "--exclude",
    "--exclude-dir",
    "--extension",
    "--file",
    "--glob",
    "--iglob",
    "--include",
    "--max-count",
    "--max-depth",
    "--regexp",
    "--replace",
    "--sort",
    "--sortr",
    "--threads",
    "--type",
    "--type-not",
];

/// What a search program reads: everything after its pattern.
fn searches(name: &str, rest: &[Word]) -> Vec<(Deed, Word)> {
    let valued = match name {
        "rg" => "ABCmdefgtTjMEr",
        "fd" => "dteEcjS",
        _ => "ABCmdDef",
    };
    let mut pattern_given = rest.iter().any(|word| word.text == "--files");
    let mut recursive = matches!(name, "rg" | "ag");
    let mut files = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text.len() < 2 || !text.starts_with('-') {
            files.push(word.clone());
            continue;
        }
        if text == "--" {
            files.extend(words.by_ref().cloned());
            break;
        }
        recursive |= name.ends_with("grep")
            && ["-r", "-R", "--recursive", "--dereference-recursive"].iter().any(|r| is_option(text, r));
        let takes_next = match text.strip_prefix("--") {
            Some(_) => SEARCH_VALUES.contains(&text),
            None => text.ends_with(|last| valued.contains(last)),
        };
        let short = !text.starts_with("--") && name != "fd";
        let is_file = is_option(text, "--file") || (short && text.contains('f'));
        pattern_given |= is_file || is_option(text, "--regexp") || (short && text.contains('e'));
        let value = takes_next.then(|| words.next()).flatten();
        if is_file {
            files.extend(value.cloned());
            let behind = text.split_once('f').filter(|(_, behind)| short && !behind.is_empty());
            files.extend(behind.map(|(_, behind)| Word {
                text: behind.to_owned(),
                lead: true,
                ..word.clone()
            }));
        }
        let attached = operands(std::slice::from_ref(word));
        files.extend(attached.filter(|value| is_file || value.text.starts_with(['/', '.', '~'])));
    }
    if !pattern_given && !files.is_empty() {
        files.remove(0);
    }
    let deed = match (name, recursive) {
        ("fd", _) => Deed::Look,
        (_, true) => Deed::ReadBelow,
        (_, false) => Deed::Read,
    };
    if files.is_empty() && recursive {
        return vec![(deed, Word::literal("."))];
    }
    files.into_iter().map(|word| (deed, word)).collect()
}
