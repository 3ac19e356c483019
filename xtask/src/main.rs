//! Repository chores, one module each: `cargo xtask CHORE`. Those that drive the built program are in `xtask/drive`.

mod ci;
mod requirements;
mod setup;

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use xtask::program::{cargo, must_succeed};
use xtask::{conclude, root, say};

const HELP: &str = "\
Usage: cargo xtask CHORE

Chores:
  setup                          Get what some tests need: a Python environment (target/test-venv), a browser, npm,
                                 MCP servers and their conformance suite (target/test-npm)
  ci                             Everything that must pass: setup, format, lints, tests
  requirements                   List the requirements that no test carries
  requirements --check AREA...   The same for some areas; fails if anything is missing
  bench [--quick] [--json]       Measure Tiller beside a minimal client (docs/benchmarks.md)
  screenshots                    Make the pictures in docs/screenshots anew";

fn main() -> ExitCode {
    conclude(run)
}

fn run(words: &[&str]) -> anyhow::Result<()> {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            say(HELP);
            Ok(())
        }
        ["setup"] => setup::run(&root()),
        ["ci"] => ci::run(&root()),
        ["bench", ..] => drive(&root(), &["--release"], words),
        ["screenshots"] => drive(&root(), &[], words),
        ["requirements", options @ ..] => requirements::run(&root(), options),
        [chore, ..] => {
            bail!("there is no chore \"{}\"\n\n{HELP}", [&[*chore], &words[1..]].concat().join(" "))
        }
    }
}

/// Has `xtask-drive` do it: what it is built of takes minutes, and the other chores should not wait for that.
fn drive(root: &Path, profile: &[&str], words: &[&str]) -> anyhow::Result<()> {
    let build = ["run", "--quiet", "--package", "xtask-drive"];
    must_succeed(cargo(root, &[&build, profile, &["--"], words].concat()))
}
