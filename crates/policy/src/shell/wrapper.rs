//! Programs that run other programs.

use super::lookers::program_name;
use super::{Assignment, Form, Word};

/// How a wrapper's own words are told from the command it runs.
struct Wrapper {
    name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with a value, attached or in the next word.
    valued: &'static str,
    /// Long options without a value.
    long: &'static [&'static str],
    /// Long options with a value, after `=` or in the next word.
    long_valued: &'static [&'static str],
    /// Words of its own before the command.
    operands: usize,
    /// Whether it adds no powers, so that a rule for the inner command is enough.
    plain: bool,
}

const NONE: Wrapper =
    Wrapper { name: "", flags: "", valued: "", long: &[], long_valued: &[], operands: 0, plain: true };

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "env",
        flags: "i0v",
        valued: "u",
        long: &["ignore-environment", "debug"],
        long_valued: &["unset"],
        ..NONE
    },
    Wrapper {
        name: "timeout",
        flags: "vf",
        valued: "ks",
        long: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..NONE
    },
    Wrapper { name: "nice", flags: "0123456789", valued: "n", long_valued: &["adjustment"], ..NONE },
    Wrapper { name: "ionice", flags: "t", valued: "cn", long_valued: &["class", "classdata"], ..NONE },
    Wrapper { name: "nohup", ..NONE },
    Wrapper { name: "setsid", flags: "cfw", long: &["ctty", "fork", "wait"], ..NONE },
    Wrapper { name: "stdbuf", valued: "ioe", long_valued: &["input", "output", "error"], ..NONE },
    Wrapper { name: "time", flags: "pv", long: &["portability", "verbose"], ..NONE },
    Wrapper { name: "command", flags: "p", ..NONE },
    Wrapper { name: "builtin", ..NONE },
    Wrapper { name: "exec", flags: "cl", valued: "a", ..NONE },
    Wrapper { name: "chronic", flags: "ev", ..NONE },
    Wrapper { name: "unbuffer", flags: "p", ..NONE },
    Wrapper { name: "caffeinate", flags: "disu", valued: "tw", ..NONE },
    Wrapper {
        name: "sudo",
        flags: "nEHkSbAKB",
        valued: "ughpCrtTUD",
        long: &["non-interactive", "preserve-env", "set-home"],
        long_valued: &["user", "group", "host", "chdir", "prompt"],
        plain: false,
        ..NONE
    },
    Wrapper { name: "doas", flags: "nL", valued: "uC", plain: false, ..NONE },
    Wrapper {
        name: "xargs",
        flags: "0rtx",
        valued: "ILnPsdE",
        long: &["null", "no-run-if-empty", "verbose", "exit"],
        long_valued: &["max-args", "max-procs", "max-lines", "max-chars", "delimiter", "replace"],
        ..NONE
    },
];

/// Shells that take a script after `-c`.
pub(super) const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// What a command line runs.
#[derive(Debug)]
pub(crate) enum Inner {
    /// Nothing else.
    Nothing,
    /// Other commands.
    Commands { commands: Vec<Vec<Word>>, own: usize, assignments: Vec<Assignment>, plain: bool },
    /// A script. `here`: in this very shell.
    Script { text: String, here: bool },
    /// Something that cannot be told.
    Unclear(&'static str),
}

/// Looks through a command line. `names` says what stands in for names that are put in, as `xargs` does.
pub(crate) fn look_through(words: &[Word], names: &Word) -> Inner {
    let Some(program) = words.first().and_then(program_name) else { return Inner::Nothing };
    match program {
        "eval" => evaluated(&words[1..]),
        "find" | "gfind" => found(words),
        "command" if words.get(1).is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) => {
            Inner::Nothing
        }
        "fish" | "csh" | "tcsh" | "pwsh" | "powershell" => Inner::Unclear("it runs another kind of shell"),
        "source" | "." if words.get(1).is_some_and(is_input) => Inner::Unclear(FROM_INPUT),
        shell if SHELLS.contains(&shell) => shell_script(&words[1..]),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
            Some(wrapper) => wrapped(wrapper, words, names),
            None => Inner::Nothing,
        },
    }
}

fn evaluated(words: &[Word]) -> Inner {
    let literal: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    match literal {
        Some(words) => Inner::Script { text: words.join(" "), here: true },
        None => Inner::Unclear("it evaluates text that is made while it runs"),
    }
}

fn shell_script(words: &[Word]) -> Inner {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.known() else { return Inner::Unclear("the options of a shell are unclear") };
        if is_input(word) {
            return Inner::Unclear(FROM_INPUT);
        }
        let Some(letters) = text.strip_prefix('-') else {
            // A script file is a program like any other.
            return Inner::Nothing;
        };
        if !letters.chars().all(|c| "ceuxvl".contains(c)) {
            return Inner::Unclear("the options of a shell are unclear");
        }
        if letters.contains('c') {
            return match words.next().and_then(Word::known) {
                Some(script) if script.contains("{}") => {
                    Inner::Unclear("names are put into a script that a shell runs")
                }
                Some(script) => Inner::Script { text: script.to_owned(), here: false },
                None => Inner::Unclear("a shell runs text that is made while it runs"),
            };
        }
    }
    Inner::Unclear(FROM_INPUT)
}

const FROM_INPUT: &str = "a shell takes commands from its input";

/// Whether a word stands for what a program reads from a pipe.
fn is_input(word: &Word) -> bool {
    word.text == "-" || word.text.starts_with("/dev/") || word.text.starts_with("/proc/")
}

fn wrapped(wrapper: &Wrapper, words: &[Word], names: &Word) -> Inner {
    let unclear = Inner::Unclear("an option of a program that runs another is not understood");
    let mut at = 1;
    let mut replaced = None;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            return if word.may_be_option() {
                unclear
            } else {
                break_at(wrapper, words, at, names, replaced)
            };
        };
        if text == "--" {
            at += 1;
            break;
        }
        let taken = match (text.strip_prefix("--"), text.strip_prefix('-')) {
            (Some(long), _) => long_option(wrapper, long),
            (None, Some(short)) if !short.is_empty() => short_option(wrapper, short),
            _ => break,
        };
        let Some(taken) = taken else { return unclear };
        if wrapper.name == "xargs" && (text.starts_with("-I") || text.starts_with("--replace")) {
            let attached = text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace="));
            let mark = attached.filter(|mark| !mark.is_empty()).map(str::to_owned);
            replaced = mark.or_else(|| words.get(at + 1).map(|next| next.text.clone()));
        }
        at += taken;
    }
    break_at(wrapper, words, at, names, replaced)
}

/// Splits at the end of the options: assignments of `env`, operands, then the command.
fn break_at(
    wrapper: &Wrapper,
    words: &[Word],
    mut at: usize,
    names: &Word,
    replaced: Option<String>,
) -> Inner {
    let mut assignments = Vec::new();
    let takes_assignments = wrapper.name == "env";
    while let Some((name, value)) =
        words.get(at).filter(|_| takes_assignments).and_then(|word| word.text.split_once('='))
    {
        let value = Word { text: value.to_owned(), ..words[at].clone() };
        assignments.push(Assignment { name: name.to_owned(), value });
        at += 1;
    }
    at += wrapper.operands;
    let mut inner: Vec<Word> = words.get(at..).unwrap_or_default().to_vec();
    if wrapper.name == "xargs" {
        if inner.is_empty() {
            inner.push(Word::literal("echo"));
        }
        match replaced {
            Some(mark) => inner.iter_mut().filter(|word| word.text.contains(&mark)).for_each(|word| {
                // Only a word that is nothing but the mark is the name itself.
                *word = if word.text == mark {
                    names.clone()
                } else {
                    Word::put_in(&word.text, Form::Dynamic, true)
                };
            }),
            None => inner.push(names.clone()),
        }
    }
    if inner.is_empty() {
        return Inner::Nothing;
    }
    Inner::Commands { commands: vec![inner], own: at.min(words.len()), assignments, plain: wrapper.plain }
}

/// How many words an option takes; `None` if it is not known.
fn long_option(wrapper: &Wrapper, long: &str) -> Option<usize> {
    let (name, attached) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
    if wrapper.long_valued.contains(&name) {
        return Some(if attached { 1 } else { 2 });
    }
    (wrapper.long.contains(&name) && !attached).then_some(1)
}

fn short_option(wrapper: &Wrapper, letters: &str) -> Option<usize> {
    for (at, letter) in letters.char_indices() {
        if wrapper.valued.contains(letter) {
            let attached = at + letter.len_utf8() < letters.len();
            return Some(if attached { 1 } else { 2 });
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(1)
}

/// The commands that `find` runs on what it finds.
fn found(words: &[Word]) -> Inner {
    let mut commands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut command = Vec::new();
        loop {
            match words.next() {
                None => return Inner::Unclear("a command of find has no end"),
                Some(word) if word.known() == Some(";") => break,
                Some(word) if word.known() == Some("+") && command.last().is_some_and(is_name) => break,
                Some(word) => command.push(word.clone()),
            }
        }
        let put_in = command.iter().map(|word| match word.text.as_str() {
            "{}" => Word::put_in("{}", Form::Found, false),
            text if text.contains("{}") => Word::put_in(text, Form::Dynamic, true),
            _ => word.clone(),
        });
        commands.push(put_in.collect());
    }
    if commands.is_empty() {
        return Inner::Nothing;
    }
    Inner::Commands { commands, own: usize::MAX, assignments: Vec::new(), plain: true }
}

fn is_name(word: &Word) -> bool {
    word.text == "{}"
}
