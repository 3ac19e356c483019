//! `bc` calculates. Some kinds of it run what stands behind a `!` in their input, so all that it may be given has to be seen.

use super::lookers::program_name;
use crate::shell::{Analysis, Command, Kind, Output, Word};

const OPTIONS: &[&str] = &["--mathlib", "--quiet", "-l", "-lq", "-q", "-ql", "-s"];

/// How the lines of a list are made into one sum.
const JOINS: &[&[&str]] = &[&["-sd+"], &["-sd+", "-"], &["-s", "-d+"], &["-s", "-d+", "-"]];

/// Whether a call reads nothing but its input.
pub(super) fn looks(rest: &[Word]) -> bool {
    rest.iter().all(|word| word.known().is_some_and(|option| OPTIONS.contains(&option)))
}

impl Analysis {
    /// Whether all that a `bc` may be given are calculations that the script spells out.
    pub(crate) fn spells_calculations(&self) -> bool {
        if !self.commands.iter().any(is_calculator) {
            return true;
        }
        let is_seen = |command: &Command| match is_calculator(command) {
            true => command.fed.iter().all(|text| is_plain(text, "\"'\n")),
            false => command.output == Output::Shown || command.kind != Kind::Run || prints_numbers(command),
        };
        self.redirects.iter().all(|redirect| redirect.writes) && self.commands.iter().all(is_seen)
    }
}

fn is_calculator(command: &Command) -> bool {
    command.words().first().and_then(program_name) == Some("bc")
}

/// Whether a command that prints for others prints nothing but numbers and what is done with them.
fn prints_numbers(command: &Command) -> bool {
    let Some((program, rest)) = command.words().split_first().filter(|_| command.layers.len() == 1) else {
        return false;
    };
    let rest: Option<Vec<&str>> = rest.iter().map(Word::known).collect();
    match (program_name(program), rest) {
        (Some("echo" | "printf" | "seq"), Some(rest)) => rest.iter().all(|word| is_plain(word, "")),
        (Some("paste"), Some(rest)) => JOINS.contains(&rest.as_slice()),
        _ => false,
    }
}

/// Whether a text holds nothing but numbers, names and signs.
fn is_plain(text: &str, more: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || " _.,;+-*/%^()=<>".contains(c) || more.contains(c))
}
