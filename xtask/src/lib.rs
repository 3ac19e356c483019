//! What all chores stand on: the repository, other programs, the terminal. Few and light dependencies: `cargo xtask ci`
//! builds this before anything else.

pub mod program;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The repository.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Runs a chore with the words of the command line; an error is told and becomes the exit code.
pub fn conclude(chore: impl FnOnce(&[&str]) -> anyhow::Result<()>) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match chore(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "chores talk to the terminal")]
pub fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "chores talk to the terminal")]
fn complain(text: &str) {
    eprintln!("{text}");
}
