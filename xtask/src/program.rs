//! Running other programs.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// A program with its arguments, to be run in a directory.
pub fn command(dir: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).args(arguments);
    command
}

/// Cargo, as if called from the shell. `cargo run` describes xtask to its children in variables; build scripts that
/// watch these would all run again.
pub fn cargo(dir: &Path, arguments: &[&str]) -> Command {
    let mut cargo = command(dir, "cargo", arguments);
    let about_xtask = |name: &str| {
        name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || matches!(name, "CARGO" | "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE")
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(about_xtask) {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs a program and lets it talk to the terminal.
///
/// # Errors
/// When it cannot be started or fails; the error repeats the command line.
pub fn must_succeed(mut command: Command) -> anyhow::Result<()> {
    let line = line(&command);
    let status = command.status().with_context(|| format!("`{line}` could not be started"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Whether a program runs and succeeds; what it prints is not shown.
pub fn succeeds(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command() {
        let error = must_succeed(command(Path::new("."), "sh", &["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.contains("`sh -c exit 3` failed") && error.contains('3'), "{error}");
        let error = must_succeed(command(Path::new("."), "no-such-program", &[])).unwrap_err().to_string();
        assert!(error.contains("`no-such-program` could not be started"), "{error}");
    }

    #[test]
    fn cargo_is_not_told_about_xtask() {
        let cargo = cargo(Path::new("."), &[]);
        let removed = cargo.get_envs().filter(|(_, value)| value.is_none());
        let removed: Vec<_> = removed.filter_map(|(name, _)| name.to_str()).collect();
        assert!(
            removed.contains(&"CARGO_MANIFEST_DIR") && removed.contains(&"CARGO_PKG_NAME"),
            "{removed:?}"
        );
    }
}
