//! Repository chores, one module each: `cargo xtask CHORE`.

mod bench;
mod ci;
mod program;
mod requirements;
mod screenshots;
mod setup;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;

const HELP: &str = "\
Usage: cargo xtask CHORE

Chores:
  setup                          Get what some tests need: a Python environment (target/test-venv), a browser, npm
  ci                             Everything that must pass: setup, format, lints, tests
  requirements                   List the requirements that no test carries
  requirements --check AREA...   The same for some areas; fails if anything is missing
  bench [--quick] [--json]       Measure Tiller beside a minimal client (docs/benchmarks.md)
  screenshots                    Make the pictures in docs/screenshots anew";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> anyhow::Result<()> {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            say(HELP);
            Ok(())
        }
        ["setup"] => setup::run(&root()),
        ["ci"] => ci::run(&root()),
        ["bench", options @ ..] => bench::run(&root(), options),
        ["screenshots"] => screenshots::run(&root()),
        ["requirements", options @ ..] => requirements::run(&root(), options),
        [chore, ..] => {
            bail!("there is no chore \"{}\"\n\n{HELP}", [&[*chore], &words[1..]].concat().join(" "))
        }
    }
}

/// The repository.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

#[expect(clippy::print_stdout, reason = "chores talk to the terminal")]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "chores talk to the terminal")]
fn complain(text: &str) {
    eprintln!("{text}");
}
