//! Programs that run other programs.

use super::lookers::program_name;
use super::name_ends::{Ends, of_taken};
use super::options::{Given, Grammar, leading};
use super::versions::asks_for_version;
use crate::shell::dialect::is_for_bash;
use crate::shell::{Assignment, Form, Word};

const OTHER_KIND: &str = "it runs another kind of shell";
const FOR_BASH: &str = "it is written for bash and run by another shell";

/// How a wrapper's own words are told from the command it runs.
struct Wrapper {
    name: &'static str,
    options: Grammar,
    /// Words of its own before the command.
    operands: usize,
    /// Whether it adds no powers, so that a rule for the inner command is enough.
    plain: bool,
}

const fn plain(name: &'static str, flags: &'static str, valued: &'static str) -> Wrapper {
    Wrapper { name, options: Grammar { flags, valued, ..Grammar::NONE }, operands: 0, plain: true }
}

impl Wrapper {
    const fn long(self, long: &'static [&'static str], long_valued: &'static [&'static str]) -> Self {
        Self { options: Grammar { long, long_valued, ..self.options }, ..self }
    }

    const fn optional(self, optional: &'static str, long_optional: &'static [&'static str]) -> Self {
        Self { options: Grammar { optional, long_optional, ..self.options }, ..self }
    }

    const fn after(self, operands: usize) -> Self {
        Self { operands, ..self }
    }

    const fn mighty(self) -> Self {
        Self { plain: false, ..self }
    }
}

const WRAPPERS: &[Wrapper] = &[
    plain("env", "i0v", "uC").long(&["ignore-environment", "debug"], &["unset", "chdir"]),
    plain("timeout", "vf", "ks")
        .long(&["foreground", "preserve-status", "verbose"], &["kill-after", "signal"])
        .after(1),
    plain("nice", "0123456789", "n").long(&[], &["adjustment"]),
    plain("ionice", "t", "cn").long(&[], &["class", "classdata"]),
    plain("nohup", "", ""),
    plain("setsid", "cfw", "").long(&["ctty", "fork", "wait"], &[]),
    plain("stdbuf", "", "ioe").long(&[], &["input", "output", "error"]),
    plain("time", "pv", "").long(&["portability", "verbose"], &[]),
    plain("command", "p", ""),
    plain("builtin", "", ""),
    plain("exec", "cl", "a"),
    plain("chronic", "ev", ""),
    plain("unbuffer", "p", ""),
    plain("caffeinate", "disu", "tw"),
    plain("sudo", "nEHkSbAKB", "ughpCrtTUD")
        .long(&["non-interactive", "set-home"], &["user", "group", "host", "chdir", "prompt"])
        .optional("", &["preserve-env"])
        .mighty(),
    plain("doas", "nL", "uC").mighty(),
    plain("xargs", "0rtx", "ILnPsdE")
        .long(
            &["null", "no-run-if-empty", "verbose", "exit"],
            &["max-args", "max-procs", "max-chars", "delimiter"],
        )
        .optional("eil", &["replace", "max-lines", "eof"]),
];

/// Shells that take a script after `-c`.
pub(super) const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// Whether a program by this name runs others.
pub(in crate::shell) fn is_wrapper(name: &str) -> bool {
    const OTHERS: &[&str] =
        &["csh", "eval", "find", "fish", "gfind", "powershell", "pwsh", "source", "tcsh", "."];
    SHELLS.contains(&name) || OTHERS.contains(&name) || WRAPPERS.iter().any(|wrapper| wrapper.name == name)
}

/// What a command line runs.
#[derive(Debug)]
pub(crate) enum Inner {
    /// Nothing else.
    Nothing,
    /// Other commands.
    Commands { commands: Vec<Vec<Word>>, own: usize, assignments: Vec<Assignment>, plain: bool },
    /// Other commands, in directories that nobody knows beforehand.
    Elsewhere { commands: Vec<Vec<Word>> },
    /// Other commands, in a directory of their own.
    Moved { commands: Vec<Vec<Word>>, dir: Word, assignments: Vec<Assignment> },
    /// A script. `here`: in this very shell.
    Script { text: String, here: bool },
    /// A script for a shell that may take it otherwise than bash.
    Foreign { text: String, why: &'static str },
    /// Something that cannot be told.
    Unclear(&'static str),
}

/// Names that are put into a command, as `xargs` does.
#[derive(Debug)]
pub(crate) struct PutIn {
    /// What stands for one of them.
    pub(crate) name: Word,
    /// What each ends with where it is listed.
    pub(crate) ends: Ends,
}

/// Looks through a command line.
pub(crate) fn look_through(words: &[Word], names: &PutIn) -> Inner {
    let Some(program) = words.first().and_then(program_name) else { return Inner::Nothing };
    match program {
        "eval" => evaluated(&words[1..]),
        "find" | "gfind" => found(words),
        "command" if words.get(1).is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) => {
            Inner::Nothing
        }
        "fish" | "csh" | "tcsh" | "pwsh" | "powershell" if !asks_for_version(program, &words[1..]) => {
            Inner::Unclear(OTHER_KIND)
        }
        "source" | "." if words.get(1).is_some_and(is_input) => Inner::Unclear(FROM_INPUT),
        shell if asks_for_version(shell, &words[1..]) => Inner::Nothing,
        shell if SHELLS.contains(&shell) => match shell_script(&words[1..]) {
            // Words that only look in bash compute there, and computing can run commands.
            Inner::Script { text, .. } if ["ksh", "mksh", "zsh"].contains(&shell) => {
                Inner::Foreign { text, why: OTHER_KIND }
            }
            // What is evaluated there is not looked at with the eyes of that shell.
            Inner::Script { text, .. }
                if shell != "bash" && (is_for_bash(&text) || text.contains("eval")) =>
            {
                Inner::Foreign { text, why: FOR_BASH }
            }
            inner => inner,
        },
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
pub(super) fn is_input(word: &Word) -> bool {
    word.text == "-" || ["<(", "/dev/", "/proc/"].iter().any(|begin| word.text.starts_with(begin))
}

/// Splits at the end of the options: assignments of `env`, operands, then the command.
fn wrapped(wrapper: &Wrapper, words: &[Word], names: &PutIn) -> Inner {
    let unclear = Inner::Unclear("an option of a program that runs another is not understood");
    let Some(options) = leading(&wrapper.options, &words[1..]) else { return unclear };
    // Many programs do what the name says by which they are called.
    if wrapper.name == "exec" && options.given.iter().any(|given| given.name == "a") {
        return Inner::Unclear("a program is called by another name");
    }
    let mut at = 1 + options.end;
    let mut assignments = Vec::new();
    let takes_assignments = wrapper.name == "env";
    while let Some((name, value)) =
        words.get(at).filter(|_| takes_assignments).and_then(|word| word.text.split_once('='))
    {
        if words[at].splits {
            return unclear;
        }
        let value = Word { text: value.to_owned(), ..words[at].clone() };
        assignments.push(Assignment { name: name.to_owned(), value });
        at += 1;
    }
    let own = words.iter().skip(at).take(wrapper.operands);
    if !own.into_iter().all(|word| word.lead && word.is_single()) {
        return unclear;
    }
    at += wrapper.operands;
    let mut inner: Vec<Word> = words.get(at..).unwrap_or_default().to_vec();
    if wrapper.name == "xargs" {
        let Some(filled) = filled(inner, &options.given, names) else { return unclear };
        inner = filled;
    }
    if inner.is_empty() {
        return Inner::Nothing;
    }
    let moves = |given: &&Given<'_>| {
        matches!(
            (wrapper.name, given.name),
            ("env", "C" | "chdir") | ("sudo", "D" | "R" | "chdir" | "chroot")
        )
    };
    if let Some(given) = options.given.iter().rfind(moves) {
        let Some(dir) = given.value.clone() else { return unclear };
        return Inner::Moved { commands: vec![inner], dir, assignments };
    }
    let plain = wrapper.plain && !clears_variables(wrapper, &options.given);
    Inner::Commands { commands: vec![inner], own: at.min(words.len()), assignments, plain }
}

/// Whether variables are taken away that keep programs from running what a project names, as `git` does.
fn clears_variables(wrapper: &Wrapper, options: &[Given<'_>]) -> bool {
    let takes_away = |option: &Given<'_>| match (wrapper.name, option.name) {
        ("env", "i" | "ignore-environment") | ("exec", "c") => true,
        ("env", "u" | "unset") => {
            option.value.as_ref().and_then(Word::known).is_none_or(|name| name.starts_with("GIT_"))
        }
        _ => false,
    };
    options.iter().any(takes_away)
}

/// What `xargs` takes for the end of a name, by the words after it.
pub(super) fn ends_of_names(rest: &[Word]) -> Option<Ends> {
    let xargs = WRAPPERS.iter().find(|wrapper| wrapper.name == "xargs")?;
    Some(of_taken(&leading(&xargs.options, rest)?.given))
}

/// A command with what `xargs` puts in: at its end, or wherever a mark stands. `None` if that is not clear.
fn filled(mut command: Vec<Word>, options: &[Given<'_>], names: &PutIn) -> Option<Vec<Word>> {
    if command.is_empty() {
        command.push(Word::literal("echo"));
    }
    // What is told apart otherwise than it was listed is no name of what was listed.
    let is_told_apart = of_taken(options) == names.ends && names.ends != Ends::Unclear;
    let name = if is_told_apart { names.name.clone() } else { Word::unknown("{}") };
    let has = |names: &[&str]| options.iter().any(|option| names.contains(&option.name));
    let mut marks = options.iter().filter(|option| ["I", "i", "replace"].contains(&option.name));
    let Some(mark) = marks.next() else {
        // Without an end of their own, names come apart at blanks, and anything may follow.
        let whole = has(&["0", "null", "d", "delimiter"]);
        command.push(if whole { name } else { Word { lead: false, ..name } });
        return Some(command);
    };
    // Of these and the mark, only the last counts.
    if marks.next().is_some() || has(&["n", "L", "l", "max-args", "max-lines"]) {
        return None;
    }
    let mark = match &mark.value {
        Some(value) => value.known().filter(|mark| !mark.is_empty())?,
        None if mark.name == "I" => return None,
        None => "{}",
    };
    for word in command.iter_mut().filter(|word| word.text.contains(mark)) {
        // Only a word that is nothing but the mark is the name itself.
        *word = if word.text == mark { name.clone() } else { Word::unknown(&word.text) };
    }
    Some(command)
}

/// The commands that `find` runs on what it finds.
fn found(words: &[Word]) -> Inner {
    let mut commands = Vec::new();
    let mut is_elsewhere = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "-exec" | "-ok" => {}
            "-execdir" | "-okdir" => is_elsewhere = true,
            _ => continue,
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
            text if text.contains("{}") => Word::unknown(text),
            _ => word.clone(),
        });
        commands.push(put_in.collect());
    }
    if commands.is_empty() {
        return Inner::Nothing;
    }
    if is_elsewhere {
        return Inner::Elsewhere { commands };
    }
    Inner::Commands { commands, own: usize::MAX, assignments: Vec::new(), plain: true }
}

fn is_name(word: &Word) -> bool {
    word.text == "{}"
}
