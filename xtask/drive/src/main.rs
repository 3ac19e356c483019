//! The chores that need the built program and a scripted model server; `cargo xtask` starts them.

mod bench;
mod screenshots;

use std::process::ExitCode;

use anyhow::bail;

fn main() -> ExitCode {
    xtask::conclude(|words| match words {
        ["bench", options @ ..] => bench::run(&xtask::root(), options),
        ["screenshots"] => screenshots::run(&xtask::root()),
        _ => bail!("use `cargo xtask bench` or `cargo xtask screenshots`"),
    })
}
