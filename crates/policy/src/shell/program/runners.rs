//! Known programs that run what some of their words say.

use super::lookers::{is_known_program, is_option};
use super::{awk, git, listers, printf, sed};
use crate::shell::Word;

/// Whether the words of a program can be commands that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// None of them is.
    Nothing,
    /// Any of them may be.
    Words,
    /// What they are to run is given another name first, or comes from elsewhere.
    Unseen,
}

/// Options that name a program.
const OPTIONS: &[(&str, &[&str])] = &[
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("install", &["--strip-program"]),
    ("printf", &["-v"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["--compress-program"]),
];

/// Subcommands of `cargo` that take names, features and options.
const CARGO: &[&str] = &[
    "add",
    "b",
    "bench",
    "build",
    "c",
    "check",
    "clean",
    "clippy",
    "d",
    "doc",
    "fetch",
    "fix",
    "fmt",
    "info",
    "init",
    "install",
    "metadata",
    "new",
    "nextest",
    "owner",
    "package",
    "publish",
    "r",
    "remove",
    "rm",
    "run",
    "rustc",
    "search",
    "t",
    "test",
    "tree",
    "uninstall",
    "update",
    "vendor",
    "yank",
];

/// What a program makes of its words. `name`: without its directory.
pub(crate) fn runs(name: &str, rest: &[Word]) -> Runs {
    let runs_words = match name {
        // Whatever the shell makes of such a word, an option that runs something may come of it.
        "git" | "fd" | "rg" | "sort" if rest.iter().any(Word::is_unclear_option) => return Runs::Unseen,
        "git" => return git::runs(rest),
        "awk" | "gawk" | "mawk" if awk::may_run(rest) => return Runs::Unseen,
        "awk" | "gawk" | "mawk" => false,
        "sed" | "gsed" if listers::takes_script_from_input(rest) => return Runs::Unseen,
        "sed" | "gsed" => sed::may_run(rest),
        "printf" if printf::may_run(rest) => true,
        // Builtins that look into subscripts.
        "[" | "test" | "read" | "wait" => rest.iter().any(|word| word.text.contains('[')),
        "cargo" => {
            let subcommand = rest.iter().find(|word| !word.text.starts_with(['-', '+']));
            subcommand.is_some_and(|word| !CARGO.contains(&word.text.as_str()))
                || rest.iter().any(|word| is_option(&word.text, "--config"))
        }
        // What stands behind `--` is passed on to git.
        "gh" => {
            rest.first().is_some_and(|word| !is_plain_gh(&word.text))
                || rest.iter().any(|word| word.text == "--")
        }
        _ => match OPTIONS.iter().find(|(program, _)| *program == name) {
            Some((_, options)) => rest.iter().any(|word| {
                let sneaks = !word.is_literal() && word.may_be_option();
                sneaks || options.iter().any(|option| word.text != "--" && is_option(&word.text, option))
            }),
            None => !is_known_program(name),
        },
    };
    if runs_words { Runs::Words } else { Runs::Nothing }
}

/// Whether a subcommand of `gh` talks to the service only.
fn is_plain_gh(subcommand: &str) -> bool {
    matches!(
        subcommand,
        "api"
            | "browse"
            | "cache"
            | "gist"
            | "issue"
            | "label"
            | "org"
            | "pr"
            | "project"
            | "release"
            | "repo"
            | "ruleset"
            | "run"
            | "search"
            | "secret"
            | "status"
            | "variable"
            | "workflow"
    )
}
