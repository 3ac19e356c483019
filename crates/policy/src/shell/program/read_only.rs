//! Whether a simple command only looks (conservatively: what is not known to be harmless is not).

use super::lookers::{Operands, Options, looker, program_name};
use super::options::{before_end, ends_options};
use super::versions::asks_for_version;
use super::{
    archives, awk, bc, condition, date, find, git, jq, lookers, object_files, printf, ps, search,
    second_file, sed, yq,
};
use crate::shell::variables::{harmless_assignment, harmless_declaration, harmless_variable, is_own_name};
use crate::shell::{Assignment, Command, Kind, Word, is_sink};

/// Whether a command only looks, wherever its paths lead.
pub(crate) fn only_looks(command: &Command) -> bool {
    match command.kind {
        Kind::Test => true,
        Kind::Assign => command.assignments.iter().all(harmless_variable),
        Kind::Declare => harmless_declaration(command.words(), &command.assignments),
        Kind::Run => {
            command.is_plainly_wrapped()
                && command.assignments.iter().all(|given| harmless_assignment(given) || parts(command, given))
                && looks(command.words())
        }
    }
}

/// Whether a variable says where `read` parts what it reads, and nothing else.
fn parts(command: &Command, given: &Assignment) -> bool {
    let reads = command.layers.len() == 1 && command.words().first().and_then(Word::known) == Some("read");
    reads && given.name == "IFS" && given.value.is_literal()
}

fn looks(words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first() else { return true };
    let Some(name) = program_name(program) else { return false };
    match name {
        _ if asks_for_version(name, rest) => true,
        "git" => git::looks(rest),
        "sed" | "gsed" => sed::looks(rest),
        "awk" | "gawk" | "mawk" => awk::looks(rest),
        "find" | "gfind" => find::looks(rest),
        "jq" => jq::looks(rest),
        "printf" => printf::looks(rest),
        "date" => date::looks(rest),
        "ps" => ps::looks(rest),
        "grep" | "egrep" | "fgrep" | "rg" | "fd" => search::looks(name, rest),
        // What is no name in a list of names is shown in a complaint.
        "du" => {
            // This one is no abbreviation of one that names a file.
            let is_pattern = |word: &&Word| word.text.split('=').next() != Some("--exclude");
            let others: Vec<Word> = rest.iter().filter(is_pattern).cloned().collect();
            let follows = &["-D", "-H", "-L", "-X", "--dereference", "--exclude-from", "--files0-from"];
            !has_any(&others, follows) && !rest.iter().any(Word::is_unclear_option)
        }
        // Names behind links may be those of anything.
        "ls" if has_any(rest, &["-L", "--dereference"]) && has_any(rest, &["-R", "--recursive"]) => false,
        "popd" => rest.is_empty(),
        "cd" | "pushd" => rest.iter().all(|word| !word.text.starts_with('-') || word.text == "--"),
        "command" => matches!(rest.first().and_then(Word::known), Some("-v" | "-V")),
        "exec" => rest.is_empty(),
        "read" => reads(rest),
        // Alone it shows all variables.
        "set" => !rest.is_empty() && sets(rest),
        "test" => condition::looks(rest),
        "[" => rest
            .split_last()
            .is_some_and(|(last, inner)| last.known() == Some("]") && condition::looks(inner)),
        "wait" => rest.iter().all(|word| word.text == "$!" || word.known().is_some_and(is_awaited)),
        "docker" => docker_looks(rest),
        // What it is given is judged where all of the script is known.
        "bc" => bc::looks(rest),
        "yq" => yq::looks(rest),
        // A file with names, whose content shows in what is said about them.
        "wc" if has_any(rest, &["--files0-from"]) => false,
        "tee" => rest.iter().all(|word| is_sink(word) || word.known() == Some("-a")),
        "tput" | "ulimit" | "umask" | "printenv" => asks_only(name, rest),
        _ => archives::looks(name, rest).or_else(|| object_files::looks(name, rest)).unwrap_or_else(|| {
            looker(name).is_some_and(|looker| listed(looker.name, &looker.options, looker.operands, rest))
        }),
    }
}

fn listed(name: &str, options: &Options, operands: Operands, rest: &[Word]) -> bool {
    if matches!(options, Options::Any) {
        let is_unclear = operands != Operands::Text && rest.iter().any(Word::is_unclear_option);
        return !is_unclear
            && match operands {
                Operands::One => second_file::is_spared(name, rest),
                Operands::None => rest.iter().all(is_option),
                _ => true,
            };
    }
    if let Options::Without(bad) = options {
        return !has_any(rest, bad) && !rest.iter().any(Word::is_unclear_option);
    }
    let mut operand_seen = false;
    for (at, word) in rest.iter().enumerate() {
        if ends_options(rest, at) {
            return operands != Operands::None || at + 1 == rest.len();
        }
        if word.known() == Some("--") {
            continue;
        }
        if !is_option(word) {
            // What the shell puts in could be one of the options that do harm.
            let sneaks = !word.lead || word.splits;
            let is_text = operands == Operands::Text && operand_seen;
            if (sneaks && !is_text) || operands == Operands::None {
                return false;
            }
            operand_seen = true;
            continue;
        }
        if word.is_unclear_option() || !options.permit(&word.text) {
            return false;
        }
    }
    true
}

/// Whether there is one of these options among words.
fn has_any(rest: &[Word], options: &[&str]) -> bool {
    before_end(rest).iter().any(|word| options.iter().any(|option| lookers::is_option(&word.text, option)))
}

fn is_option(word: &Word) -> bool {
    word.text.len() > 1 && word.text.starts_with('-')
}

/// `read` sets variables of the shell.
fn reads(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.known() {
            Some("-r" | "-s" | "-e" | "-rs") => {}
            // What becomes several words would name further variables.
            Some("-p" | "-d" | "-n" | "-t" | "-u") if words.next().is_some_and(Word::is_single) => {}
            Some(name) if is_own_name(name) => {}
            _ => return false,
        }
    }
    true
}

/// Options of the shell that change neither what words mean nor what programs are given.
fn sets(rest: &[Word]) -> bool {
    const NAMES: &[&str] = &["errexit", "nounset", "pipefail", "xtrace"];
    let mut words = rest.iter().map(Word::known);
    while let Some(word) = words.next() {
        let Some(letters) = word.and_then(|word| word.strip_prefix(['-', '+'])) else { return false };
        let named = letters.ends_with('o');
        let plain = letters.strip_suffix('o').unwrap_or(letters);
        if !plain.chars().all(|letter| "eux".contains(letter)) || plain.is_empty() && !named {
            return false;
        }
        if named && !words.next().flatten().is_some_and(|name| NAMES.contains(&name)) {
            return false;
        }
    }
    true
}

/// Programs that change something unless they are asked for no more than this.
fn asks_only(name: &str, rest: &[Word]) -> bool {
    const PLAIN: &[&str] = &["HOME", "LANG", "PATH", "PWD", "SHELL", "TERM", "TZ", "USER"];
    let known: Option<Vec<&str>> = rest.iter().map(Word::known).collect();
    match (name, known.as_deref()) {
        ("tput", Some(["cols" | "colors" | "lines"])) => true,
        ("ulimit", Some([] | ["-a" | "-c" | "-n" | "-s" | "-u" | "-v" | "-Hn" | "-Sn"])) => true,
        ("umask", Some([] | ["-S"])) => true,
        ("printenv", Some([name])) => PLAIN.contains(name),
        _ => false,
    }
}

/// Whether a word of `wait` names a process or asks for one, and no variable.
fn is_awaited(word: &str) -> bool {
    matches!(word, "-n" | "-f") || !word.starts_with('-')
}

fn docker_looks(rest: &[Word]) -> bool {
    let known: Option<Vec<&str>> = rest.iter().map(Word::known).collect();
    match known.as_deref() {
        Some(["ps" | "images" | "inspect" | "logs" | "version" | "info" | "top" | "port", ..]) => true,
        Some(["container" | "image" | "network" | "volume", "ls" | "inspect", ..]) => true,
        // Its configuration shows the content of files that it names.
        Some(["compose", "ps" | "logs", rest @ ..]) => {
            !rest.iter().any(|word| word.starts_with("-o") || word.starts_with("--o"))
        }
        _ => false,
    }
}
