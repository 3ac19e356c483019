//! Which files a command touches, as far as its words tell.

use super::lookers::{Operands, is_known_program, is_option, looker, program_name};
use super::options::ends_options;
use super::runners::Runs;
use super::{
    archives, awk, date, find, git, jq, revision, search, sed, separators,
    writers::{self, has_any},
    yq,
};
use crate::shell::{Command, Dirs, Form, Kind, Redirect, Word, alternatives, expansion, is_sink};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Its content is read.
    Read,
    /// Everything below is read.
    ReadBelow,
    /// If it is a directory, the files in it are read, those behind links too.
    ReadInside,
    /// Everything below is read, and wherever links lead.
    ReadThrough,
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
        let words = listed(command.words()).map(|word| (Deed::Look, word.clone()));
        let words = words.map(|(deed, word)| Touch { deed, word, dirs: command.dirs.clone() });
        return listed_by_values(command).into_iter().chain(words).collect();
    }
    let Some((program, rest)) = command.words().split_first() else { return Vec::new() };
    let Some(name) = program_name(program) else { return mentions(rest, &command.dirs) };
    let name = name.rsplit('/').next().unwrap_or(name);
    let mut all = touched(name, rest, command);
    let read: Vec<Word> =
        all.iter().filter(|touch| touch.deed == Deed::Read).map(|touch| touch.word.clone()).collect();
    let instead = read.iter().flat_map(|word| archives::in_its_place(name, word));
    all.extend(instead.map(|word| Touch { deed: Deed::Read, word, dirs: command.dirs.clone() }));
    let written = writers::written(name, rest).into_iter();
    all.extend(written.map(|word| Touch { deed: Deed::Write, word, dirs: command.dirs.clone() }));
    let packed = writers::packed(name, rest).into_iter();
    all.extend(packed.map(|word| Touch { deed: Deed::Read, word, dirs: command.dirs.clone() }));
    all
}

fn touched(name: &str, rest: &[Word], command: &Command) -> Vec<Touch> {
    let touch = |deed: Deed, word: &Word| Touch { deed, word: word.clone(), dirs: command.dirs.clone() };
    let all = |deed: Deed| operands(rest).map(|word| touch(deed, &word)).collect::<Vec<_>>();
    let files = |deed: Deed| match separators::files(name, rest) {
        Some(files) => files.iter().map(|word| touch(deed, word)).collect(),
        None => all(deed),
    };
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
        "tee" => {
            let files = operands(rest).filter(|word| !is_sink(word));
            files.map(|word| touch(Deed::Write, &word)).collect()
        }
        "rm" | "rmdir" | "touch" | "mkdir" | "truncate" | "unlink" | "shred" | "chmod" | "chown"
        | "chgrp" => all(Deed::Write),
        "mv" => moves(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "cp" | "install" | "ln" => copies(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "dd" => data_copy(rest).into_iter().map(|(deed, word)| touch(deed, &word)).collect(),
        "sed" | "gsed" => {
            let in_place =
                rest.iter().any(|word| is_option(&word.text, "-i") || word.text.starts_with("--in"));
            let others = without_scripts(rest);
            let files = operands(&others).skip(usize::from(!has_script_option(rest)));
            let files = files.map(|word| touch(if in_place { Deed::Write } else { Deed::Read }, &word));
            files.chain(sed::files(rest).iter().map(|(deed, word)| touch(*deed, word))).collect()
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
            let looked_at =
                listed.chain(&date::files(rest)).map(|word| touch(Deed::Look, word)).collect::<Vec<_>>();
            let read = date::read_files(rest);
            looked_at.into_iter().chain(read.iter().map(|word| touch(Deed::Read, word))).collect()
        }
        "test" => listed(rest).map(|word| touch(Deed::Look, word)).collect(),
        "awk" | "gawk" | "mawk" => {
            let files = awk::files(rest).into_iter().map(|word| (Deed::Read, word));
            files.chain(awk::reached(rest)).map(|(deed, word)| touch(deed, &word)).collect()
        }
        // What it sends somewhere it reads.
        "gh" => operands(rest).chain(at_files(rest)).map(|word| touch(Deed::Read, &word)).collect(),
        "tree" => {
            let read = writers::values(rest, &["--hintro", "--houtro", "--infofile", "--gitfile"]);
            all(Deed::Look).into_iter().chain(read.iter().map(|word| touch(Deed::Read, word))).collect()
        }
        "yq" if yq::looks(rest) => all(Deed::Read),
        _ if archives::looks(name, rest) == Some(true) => {
            archives::files(name, rest).iter().map(|word| touch(Deed::Read, word)).collect()
        }
        "jq" => {
            let named = jq::files(rest).into_iter().map(|word| touch(Deed::Read, &word));
            named.chain(expanded().map(|word| touch(Deed::Read, word))).collect()
        }
        _ => match looker(name).map(|looker| looker.operands) {
            // The shell lists what a pattern fits.
            Some(Operands::Text) => listed(rest).map(|word| touch(Deed::Look, word)).collect(),
            Some(Operands::None) => Vec::new(),
            Some(Operands::Places) => all(Deed::Look),
            Some(Operands::Paths | Operands::One) => files(Deed::Read),
            Some(Operands::Inside) => all(match has_any(rest, &["-r", "--recursive"]) {
                true => Deed::ReadThrough,
                false => Deed::ReadInside,
            }),
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

fn listed(words: &[Word]) -> impl Iterator<Item = &Word> {
    words.iter().filter(|word| lists_elsewhere(word))
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
    let named = operands(words)
        .chain(at_files(words))
        .filter(|word| !word.text.is_empty() && !word.text.contains(char::is_whitespace));
    named.map(|word| Touch { deed: Deed::Mention, word, dirs: dirs.clone() }).collect()
}

/// The files whose content is put in the place of a word or of a value: their names follow an `@`.
fn at_files(words: &[Word]) -> impl Iterator<Item = Word> + '_ {
    let name = |word: &Word| {
        let name =
            word.text.strip_prefix('@').or_else(|| word.text.split_once("=@").map(|(_, name)| name))?;
        Some(Word { text: name.to_owned(), lead: true, ..word.clone() })
    };
    words.iter().filter_map(name)
}

/// Words that are no options, and what options hold after `=` or right behind their letter.
pub(crate) fn operands(words: &[Word]) -> impl Iterator<Item = Word> + '_ {
    let mut options_ended = false;
    // Whether they have ended if no option takes that for its value.
    let mut may_have_ended = false;
    words.iter().enumerate().flat_map(move |(at, word)| {
        if options_ended || !(word.text.len() > 1 && word.text.starts_with('-')) {
            return vec![word.clone()];
        }
        if word.text == "--" {
            options_ended = ends_options(words, at);
            may_have_ended = true;
            return Vec::new();
        }
        let value = match word.text.split_once('=') {
            Some((_, value)) => Some(value),
            // Behind the letters of a cluster, a path may follow at once.
            None => word.text.find(['/', '.', '~']).filter(|at| *at > 1).and_then(|at| word.text.get(at..)),
        };
        let value = value.map(|value| Word { text: value.to_owned(), lead: true, ..word.clone() });
        value.into_iter().chain(may_have_ended.then(|| word.clone())).collect()
    })
}

fn copies(rest: &[Word]) -> Vec<(Deed, Word)> {
    let mut words: Vec<Word> = operands(rest).collect();
    let target_first =
        rest.iter().any(|word| is_option(&word.text, "-t") || word.text.starts_with("--target"));
    if target_first {
        return words.into_iter().map(|word| (Deed::Write, word)).collect();
    }
    // A link to a single file is made here.
    let here = (words.len() == 1).then(|| (Deed::Write, Word::literal(".")));
    let target = words.pop().map(|word| (Deed::Write, word)).into_iter().chain(here);
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

/// Options of `git` behind which another one has no value left to take.
const WITHOUT_VALUE: &[&str] =
    &["--all", "--oneline", "--stat", "-E", "-F", "-P", "-c", "-i", "-in", "-l", "-n", "-p", "-w"];

/// Whether a word is what an option right before it looks for, or says which lines, however much it looks like a path.
fn is_asked_for(subcommand: &str, rest: &[Word], at: usize) -> bool {
    let known = |back: usize| at.checked_sub(back).and_then(|at| rest.get(at)).and_then(Word::known);
    // The option could itself be the value of the one before.
    let is_option = at == 1 || known(2).is_some_and(|before| WITHOUT_VALUE.contains(&before));
    let Some(word) = rest[at].known().filter(|_| !rest[..at].iter().any(|word| word.text == "--")) else {
        return false;
    };
    match (subcommand, known(1)) {
        // From a line that fits a pattern.
        ("annotate" | "blame", Some("-L")) => {
            let behind =
                word.strip_prefix('/').and_then(|rest| rest.split_once('/')).map(|(_, behind)| behind);
            behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(','))
        }
        ("log" | "show", Some("-S" | "-G")) | ("grep", Some("-e")) => is_option,
        // The path behind the lines is named by itself.
        ("log", Some("-L")) => is_option && word.contains(':'),
        _ => false,
    }
}

/// `git` names files as operands and after `:`.
fn git_touches(rest: &[Word]) -> Vec<(Deed, Word)> {
    let mut found = Vec::new();
    let Some((subcommand, rest)) = git::subcommand(rest) else { return found };
    found.extend(git::named_files(subcommand, rest).into_iter().map(|word| (Deed::Read, word)));
    found.extend(git::written_by(subcommand, rest).into_iter().map(|word| (Deed::Write, word)));
    found.extend(git::read_by(subcommand, rest).into_iter().map(|word| (Deed::Read, word)));
    let deed = match subcommand {
        // What a patch is about is compared with it.
        "apply" if git::examines_patch(rest) => {
            let checks = rest.iter().any(|word| word.text == "--check");
            found.extend(checks.then(|| (Deed::ReadBelow, Word::literal("."))));
            Deed::Read
        }
        "checkout" | "checkout-index" | "restore" | "rm" | "mv" | "clean" | "apply" | "merge-file" => {
            Deed::Write
        }
        "grep" => {
            found.push((Deed::ReadBelow, Word::literal(".")));
            Deed::ReadBelow
        }
        "ls-files" => Deed::Look,
        "show" | "diff" | "diff-files" | "diff-index" | "diff-tree" | "difftool" | "whatchanged"
        | "blame" | "cat-file" | "annotate" | "log" | "add" | "archive" | "format-patch" | "hash-object"
        | "interpret-trailers" | "stash" | "update-index" | "check-attr" => Deed::Read,
        _ => return found,
    };
    // `diff` reads whatever files it is given, of a repository or not, if there are two; a name without a slash is more
    // likely a revision.
    let any_files = rest.iter().any(|word| word.text != "--" && is_option(&word.text, "--no-index"));
    let deed = if any_files && deed == Deed::Read { Deed::ReadBelow } else { deed };
    let first = rest.iter().position(|word| word.text == "--" || !word.text.starts_with('-'));
    let given = first.map_or(0, |at| rest.len() - at - usize::from(rest[at].text == "--"));
    let is_pair = given <= 2 && rest.iter().any(|word| word.splits) || given == 2;
    let is_path =
        |word: &Word| any_files || is_pair || !word.text.starts_with('$') || word.text.contains('/');
    // Whatever `git` tells, there may be a file of that name.
    let is_told =
        |word: &Word| revision::is_told(word) && !any_files && !(given > 1 && revision::may_lead_up(word));
    // What these are told to look at is a path as well.
    let leads_up = |word: &Word| ["grep", "ls-files"].contains(&subcommand) && revision::may_lead_up(word);
    let may_be_path = |word: &Word| subcommand == "diff" && is_path(word) && !is_told(word) || leads_up(word);
    let is_named = |word: &&Word| word.form != Form::Dynamic || may_be_path(word);
    // The first word that `grep` gets is its pattern, unless an option holds that.
    let has_pattern = rest.iter().any(|word| is_option(&word.text, "-e") || is_option(&word.text, "-f"));
    let patterns = usize::from(subcommand == "grep" && !has_pattern);
    let is_number = |word: &&Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
    let operands = rest.iter().enumerate().filter(|(at, word)| {
        let is_count =
            is_number(word) && at.checked_sub(1).is_some_and(|before| takes_a_count(&rest[before]));
        !word.text.starts_with('-') && !is_count && !is_asked_for(subcommand, rest, *at)
    });
    let operands = operands.map(|(_, word)| word).skip(patterns);
    found.extend(rest.iter().filter_map(revision::told_path).map(|path| (deed, path)));
    for word in operands.filter(|word| !is_number(word)).filter(is_named) {
        // From the top of the repository, which may lie above.
        if subcommand == "grep" && (word.text.starts_with(":/") || word.text.starts_with(":(")) {
            found.push((deed, Word::unknown(&word.text)));
            continue;
        }
        // A path, or what a commit's message says, from the top of the repository.
        let text = word.text.strip_prefix(":/").unwrap_or(&word.text);
        // A colon may as well be part of a name.
        let path = text.rsplit_once(':').map(|(_, path)| path);
        for text in [Some(text), path].into_iter().flatten() {
            let word = Word { text: text.to_owned(), ..word.clone() };
            found.extend(["mv", "merge-file"].contains(&subcommand).then(|| (Deed::Read, word.clone())));
            found.push((deed, word));
        }
    }
    found
}
