//! Which files a command touches, as far as its words tell.

use super::lookers::{Operands, is_known_program, is_option, looker, program_name};
use super::runners::Runs;
use super::{
    Command, Dirs, Form, Kind, Redirect, Word, alternatives, awk, date, expansion, find, git, jq, revision,
    search, writers,
};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Its content is read.
    Read,
    /// Everything below is read.
    ReadBelow,
    /// If it is a directory, the files in it are read, those behind links too.
    ReadInside,
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
        return listed_by_values(command);
    }
    let Some((program, rest)) = command.words().split_first() else { return Vec::new() };
    let Some(name) = program_name(program) else { return mentions(rest, &command.dirs) };
    let name = name.rsplit('/').next().unwrap_or(name);
    let mut all = touched(name, rest, command);
    let written = writers::written(name, rest).into_iter();
    all.extend(written.map(|word| Touch { deed: Deed::Write, word, dirs: command.dirs.clone() }));
    all
}

fn touched(name: &str, rest: &[Word], command: &Command) -> Vec<Touch> {
    let touch = |deed: Deed, word: &Word| Touch { deed, word: word.clone(), dirs: command.dirs.clone() };
    let all = |deed: Deed| operands(rest).map(|word| touch(deed, &word)).collect::<Vec<_>>();
    // The shell makes several words of these: where the first is what is looked for, the next is a file.
    let expanded = || rest.iter().filter(|word| word.form == Form::Pattern);
    match name {
        "cd" | "pushd" => {
            // The shell goes up by the letters of a path, not by where its links lead.
            let lexical = operands(rest).map(|word| Word { text: without_turns(&word.text), ..word });
            // Without a word it goes home.
            let home = Word { tilde: true, ..Word::literal("~") };
            let home = Some(home).filter(|_| name == "cd" && operands(rest).next().is_none());
            let all = all(Deed::Look).into_iter();
            all.chain(lexical.chain(home).map(|word| touch(Deed::Look, &word))).collect()
        }
        "rm" | "rmdir" | "touch" | "mkdir" | "tee" | "truncate" | "unlink" | "shred" | "chmod" | "chown"
        | "chgrp" => all(Deed::Write),
        "mv" => moves(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "cp" | "install" | "ln" => copies(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "dd" => data_copy(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "sed" | "gsed" => {
            let in_place =
                rest.iter().any(|word| is_option(&word.text, "-i") || word.text.starts_with("--in"));
            let others = without_scripts(rest);
            let files = operands(&others).skip(usize::from(!has_script_option(rest)));
            files.map(|word| touch(if in_place { Deed::Write } else { Deed::Read }, &word)).collect()
        }
        "find" | "gfind" => {
            let listed = find::list_of_places(rest).map(|word| touch(Deed::Read, word));
            let written = find::written(rest).into_iter().map(|word| touch(Deed::Write, word));
            let places = find::places(rest);
            places.iter().map(|word| touch(Deed::Look, word)).chain(listed).chain(written).collect()
        }
        // What is given another name first could be anything.
        "git" if git::runs(rest) == Runs::Unseen => mentions(rest, &command.dirs),
        "git" => {
            let dirs = git::directory(rest, &command.dirs);
            let moved = rest.iter().skip_while(|word| word.text != "-C").nth(1);
            let listed = rest.iter().filter(|word| word.form == Form::Pattern && lists_elsewhere(word));
            let inside =
                git_touches(rest).into_iter().map(|(deed, word)| Touch { deed, word, dirs: dirs.clone() });
            let looked_at = moved.into_iter().chain(listed).map(|word| touch(Deed::Look, word));
            looked_at.chain(inside).collect()
        }
        "rg" | "grep" | "egrep" | "fgrep" | "ag" | "fd" => {
            let named = search::touches(name, rest).into_iter().map(|(deed, word)| touch(deed, &word));
            named.chain(expanded().map(|word| touch(Deed::Read, word))).collect()
        }
        "date" => {
            let listed = rest.iter().filter(|word| lists_elsewhere(word));
            listed.chain(&date::files(rest)).map(|word| touch(Deed::Look, word)).collect()
        }
        "jq" => {
            let given = jq::without_given(rest);
            let named = operands(&given).skip(1).map(|word| touch(Deed::Read, &word));
            named.chain(expanded().map(|word| touch(Deed::Read, word))).collect()
        }
        "awk" | "gawk" | "mawk" => awk::files(rest).iter().map(|word| touch(Deed::Read, word)).collect(),
        _ => match looker(name).map(|looker| looker.operands) {
            // The shell lists what a pattern fits.
            Some(Operands::Text) => {
                rest.iter().filter(|word| lists_elsewhere(word)).map(|word| touch(Deed::Look, word)).collect()
            }
            Some(Operands::None) => Vec::new(),
            Some(Operands::Places) => all(Deed::Look),
            Some(Operands::Paths | Operands::One) => all(Deed::Read),
            Some(Operands::Inside) => all(Deed::ReadInside),
            Some(Operands::PatternThenPaths) => {
                operands(rest).skip(1).map(|word| touch(Deed::Read, &word)).collect()
            }
            None if is_known_program(name) => Vec::new(),
            None => mentions(rest, &command.dirs),
        },
    }
}

/// Whether a word is a pattern for names in other directories than that in which the command runs, or may be one: they may
/// lie outside, or behind a link.
fn lists_elsewhere(word: &Word) -> bool {
    let leads_out = |text: &String| text.contains('/');
    match word.form {
        Form::Pattern => word.tilde || alternatives(&word.text).is_none_or(|all| all.iter().any(leads_out)),
        Form::Dynamic => word.splits && expansion::may_list(&word.text),
        Form::Literal | Form::Found => false,
    }
}

/// The places that patterns among the values of variables stand for. Where such a variable is put in without quotes, the
/// shell lists what they fit, be they quoted here or not.
fn listed_by_values(command: &Command) -> Vec<Touch> {
    let touch = |word| Touch { deed: Deed::Look, word, dirs: command.dirs.clone() };
    let values = command.assignments.iter().flat_map(|assignment| pieces(&assignment.value));
    values.filter(lists_elsewhere).map(touch).collect()
}

/// The words that a value comes apart into.
fn pieces(value: &Word) -> Vec<Word> {
    if !value.is_literal() {
        return vec![value.clone()];
    }
    let pieces = value.text.split_whitespace().filter(|piece| piece.contains(['*', '?', '[']));
    pieces.map(|piece| Word { text: piece.to_owned(), form: Form::Pattern, ..value.clone() }).collect()
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

pub(crate) fn mentions(words: &[Word], dirs: &Dirs) -> Vec<Touch> {
    let named =
        operands(words).filter(|word| !word.text.is_empty() && !word.text.contains(char::is_whitespace));
    named.map(|word| Touch { deed: Deed::Mention, word, dirs: dirs.clone() }).collect()
}

/// Words that are no options, and what options hold after `=` or right behind their letter.
pub(crate) fn operands(words: &[Word]) -> impl Iterator<Item = Word> + '_ {
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
            // Behind the letters of a cluster, a path may follow at once.
            None => word.text.find(['/', '.', '~']).filter(|at| *at > 1).and_then(|at| word.text.get(at..)),
        };
        value.map(|value| Word { text: value.to_owned(), lead: true, ..word.clone() })
    })
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
        // A shell expands it there as well.
        Some((deed, Word { text: value.to_owned(), tilde: value.starts_with('~'), ..word.clone() }))
    });
    named.collect()
}

/// The words of `sed` without the scripts that options take from the next word.
fn without_scripts(rest: &[Word]) -> Vec<Word> {
    let ends_in = |word: &Word, letter: char, long: &str| {
        let letters = word.text.strip_prefix('-').and_then(|letters| letters.strip_suffix(letter));
        let is_cluster = letters.is_some_and(|letters| letters.chars().all(|c| "nErsuz".contains(c)));
        is_cluster || word.text == long
    };
    let mut others = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        others.push(word.clone());
        if word.text == "--" {
            others.extend(words.by_ref().cloned());
        } else if ends_in(word, 'e', "--expression") {
            words.next();
        } else if ends_in(word, 'f', "--file") || ends_in(word, 'l', "--line-length") {
            // Whatever that looks like, it is no option.
            others.extend(words.next().cloned());
        }
    }
    others
}

fn has_script_option(rest: &[Word]) -> bool {
    rest.iter().any(|word| {
        is_option(&word.text, "-e") || is_option(&word.text, "-f") || word.text.starts_with("--expression")
    })
}

/// Whether the word after an option of `git grep` says how many.
fn takes_a_count(option: &Word) -> bool {
    let letters = option.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    let long =
        ["--context", "--after-context", "--before-context", "--max-count", "--max-depth", "--threads"];
    letters.is_some_and(|letters| letters.ends_with(['A', 'B', 'C', 'm']))
        || long.contains(&option.text.as_str())
}

/// `git` names files as operands and after `:`.
fn git_touches(rest: &[Word]) -> Vec<(Deed, Word)> {
    let mut found = Vec::new();
    let Some((subcommand, rest)) = git::subcommand(rest) else { return found };
    found.extend(git::named_files(subcommand, rest).into_iter().map(|word| (Deed::Read, word)));
    found.extend(git::written_by(subcommand, rest).into_iter().map(|word| (Deed::Write, word)));
    let deed = match subcommand {
        "checkout" | "restore" | "rm" | "mv" | "clean" | "apply" => Deed::Write,
        "grep" => {
            found.push((Deed::ReadBelow, Word::literal(".")));
            Deed::Read
        }
        "ls-files" => Deed::Look,
        "show" | "diff" | "blame" | "cat-file" | "annotate" | "log" | "add" => Deed::Read,
        _ => return found,
    };
    // `diff` reads whatever files it is given, of a repository or not, if there are two; a name without a slash is more
    // likely a revision.
    let any_files = rest.iter().any(|word| word.text != "--" && is_option(&word.text, "--no-index"));
    let first = rest.iter().position(|word| word.text == "--" || !word.text.starts_with('-'));
    let given = first.map_or(0, |at| rest.len() - at - usize::from(rest[at].text == "--"));
    let is_pair = given <= 2 && rest.iter().any(|word| word.splits) || given == 2;
    let is_path =
        |word: &Word| any_files || is_pair || !word.text.starts_with('$') || word.text.contains('/');
    let may_be_path = |word: &Word| subcommand == "diff" && is_path(word) && !revision::is_told(word);
    let is_named = |word: &&Word| word.form != Form::Dynamic || may_be_path(word);
    // The first word that `grep` gets is its pattern, unless an option holds that.
    let has_pattern = rest.iter().any(|word| is_option(&word.text, "-e") || is_option(&word.text, "-f"));
    let patterns = usize::from(subcommand == "grep" && !has_pattern);
    let is_number = |word: &&Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
    let operands = rest.iter().enumerate().filter(|(at, word)| {
        let is_count =
            is_number(word) && at.checked_sub(1).is_some_and(|before| takes_a_count(&rest[before]));
        !word.text.starts_with('-') && !is_count
    });
    let operands = operands.map(|(_, word)| word).skip(patterns);
    for word in operands.filter(|word| !is_number(word)).filter(is_named) {
        // From the top of the repository, which may lie above.
        if subcommand == "grep" && (word.text.starts_with(":/") || word.text.starts_with(":(")) {
            found.push((deed, Word::unknown(&word.text)));
            continue;
        }
        // A path, or what a commit's message says, from the top of the repository.
        let text = word.text.strip_prefix(":/").unwrap_or(&word.text);
        let path = text.rsplit_once(':').map_or(text, |(_, path)| path);
        let word = Word { text: path.to_owned(), ..word.clone() };
        found.extend((subcommand == "mv").then(|| (Deed::Read, word.clone())));
        found.push((deed, word));
    }
    found
}
