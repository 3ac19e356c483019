//! What `find` looks at and does.

use super::lookers::program_name;
use super::meaning::OPERATORS;
use crate::shell::{Command, Word};

/// What makes `find` run something.
const RUNNING: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Whether a command with values put into its words runs nothing but what is written there, which is looked at by itself.
pub(crate) fn runs_no_more(command: &Command, filled: &Command) -> bool {
    let is_find = matches!(command.words().first().and_then(program_name), Some("find" | "gfind"));
    let runs = |command: &Command| {
        command.words().iter().filter(|word| RUNNING.contains(&word.text.as_str())).count()
    };
    !is_find || runs(command) == runs(filled)
}

/// Actions and options that change or run something, follow links, or show what a file holds.
const ACTIONS: &[&str] =
    &["-L", "-delete", "-files0-from", "-fls", "-follow", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];

/// What runs a command, whose words follow.
const RUN: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// What joins or turns round the tests of an expression.
const JOINED: &[&str] = &["!", "(", ",", "-not", "-o", "-or"];

/// Words of an expression that stand alone, and options of all kinds of `find` before its places.
const ALONE: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "--",
    "--version",
    "-E",
    "-H",
    "-L",
    "-P",
    "-X",
    "-a",
    "-and",
    "-d",
    "-daystart",
    "-delete",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-help",
    "-ignore_readdir_race",
    "-ls",
    "-mount",
    "-nogroup",
    "-noignore_readdir_race",
    "-noleaf",
    "-not",
    "-nouser",
    "-nowarn",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-s",
    "-true",
    "-version",
    "-warn",
    "-writable",
    "-x",
    "-xdev",
];

/// Words of an expression that take the next one, and the option that does.
const VALUED: &[&str] = &[
    "-D",
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-files0-from",
    "-fls",
    "-fprint",
    "-fprint0",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

/// Whether a call only looks; what it runs by `-exec` is judged as a command of its own. `rest`: the words after `find`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let plain = rest.iter().all(|word| {
        let sneaks = !word.lead || word.splits;
        let is_option = word.text.len() > 1 && word.text.starts_with('-');
        let may_be_operator = OPERATORS.iter().any(|operator| word.certain().starts_with(operator));
        !sneaks
            && !ACTIONS.contains(&word.text.as_str())
            && (word.is_literal() || !is_option && !may_be_operator)
    });
    // Some programs take the names of what is found there for those of files with further words.
    plain && !places(rest).iter().any(|place| place.text.starts_with('@'))
}

/// Where it looks. What is not understood could be a place, or make one of what follows.
pub(crate) fn places(rest: &[Word]) -> Vec<Word> {
    let mut places = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        match text {
            _ if RUN.contains(&text) => skip_command(&mut words),
            "-fprintf" => drop(words.nth(1)),
            _ if ALONE.contains(&text) || text.starts_with("-O") => {}
            // The words that braces make of its value are places, too.
            "-D" => places.extend(words.next().filter(|value| !value.is_literal()).cloned()),
            _ if VALUED.contains(&text) || is_comparison(text) => drop(words.next()),
            _ if text.len() > 1 && text.starts_with('-') => places.push(Word::unknown(text)),
            _ => places.push(word.clone()),
        }
    }
    if places.is_empty() { vec![Word::literal(".")] } else { places }
}

/// The tests that all must pass that an expression does something with, with what they test for.
pub(crate) fn tests(rest: &[Word]) -> Vec<(&str, &Word)> {
    let mut tests = Vec::new();
    let mut words = rest.iter();
    let mut has_acted = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        match text {
            // A place, which comes before any test.
            _ if !word.is_literal() && tests.is_empty() && !has_acted => {}
            _ if !word.is_literal() || JOINED.contains(&text) => return Vec::new(),
            _ if RUN.contains(&text) => {
                has_acted = true;
                skip_command(&mut words);
            }
            "-fls" | "-fprint" | "-fprint0" | "-fprintf" | "-printf" => {
                has_acted = true;
                words.nth(usize::from(text == "-fprintf"));
            }
            "-delete" | "-ls" | "-print" | "-print0" | "-quit" => has_acted = true,
            _ if ALONE.contains(&text) || text.starts_with("-O") => {}
            _ if VALUED.contains(&text) || is_comparison(text) => {
                tests.extend(words.next().filter(|_| !has_acted).map(|value| (text, value)));
            }
            _ if text.len() > 1 && text.starts_with('-') => return Vec::new(),
            _ => {}
        }
    }
    tests
}

/// The words of an expression that are no values, and neither are those of commands that are run.
pub(crate) fn actions(rest: &[Word]) -> Vec<&str> {
    let mut actions = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        match text {
            _ if RUN.contains(&text) => skip_command(&mut words),
            "-fprintf" => drop(words.nth(1)),
            _ if VALUED.contains(&text) || is_comparison(text) => drop(words.next()),
            _ => actions.push(text),
        }
    }
    actions
}

/// Skips the words of a command that is run on what is found.
fn skip_command(words: &mut std::slice::Iter<'_, Word>) {
    let mut last_is_name = false;
    words
        .take_while(|word| {
            let ends = word.text == ";" || word.text == "+" && last_is_name;
            last_is_name = word.text == "{}";
            !ends
        })
        .for_each(drop);
}

/// `-newerXY`.
fn is_comparison(text: &str) -> bool {
    text.strip_prefix("-newer").is_some_and(|kinds| kinds.len() == 2)
}

/// The files that what is found is written to.
pub(crate) fn written(rest: &[Word]) -> Vec<&Word> {
    const WRITE: &[&str] = &["-fls", "-fprint", "-fprint0", "-fprintf"];
    rest.windows(2).filter(|pair| WRITE.contains(&pair[0].text.as_str())).map(|pair| &pair[1]).collect()
}

/// The file that holds the names of places.
pub(crate) fn list_of_places(rest: &[Word]) -> Option<&Word> {
    rest.iter().skip_while(|word| word.text != "-files0-from").nth(1)
}
