//! `cargo xtask setup`: the Python environment in which the model provider's own client judges the scripted server.

use std::path::Path;

use anyhow::{Context, bail};

use crate::program::{command, must_succeed, succeeds};
use crate::say;

/// The package that tests import, by the name it has in the package index and in Python.
const PACKAGE: &str = "anthropic";
/// Names another interpreter; it has to have the package already.
const OWN_PYTHON: &str = "TILLER_TEST_PYTHON";

/// Makes the environment, unless it is there.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    if let Some(python) = std::env::var_os(OWN_PYTHON) {
        let python = python.to_string_lossy();
        if !has_package(root, &python) {
            bail!(
                "{OWN_PYTHON} is {python}, which cannot import {PACKAGE}; install it there or unset the variable"
            );
        }
        return Ok(());
    }
    let environment = root.join("target/test-venv");
    let python = environment.join("bin/python3").to_string_lossy().into_owned();
    if has_package(root, &python) {
        return Ok(());
    }
    say(&format!("making {}", environment.display()));
    ensure_venv_module(root)?;
    must_succeed(command(root, "python3", &["-m", "venv", "--clear", &environment.to_string_lossy()]))?;
    must_succeed(command(root, &python, &["-m", "pip", "install", "--quiet", PACKAGE])).with_context(|| {
        format!(
            "{PACKAGE} could not be installed; check the network, or set {OWN_PYTHON} to a Python that has it"
        )
    })
}

fn has_package(root: &Path, python: &str) -> bool {
    succeeds(command(root, python, &["-c", &format!("import {PACKAGE}")]))
}

/// Debian keeps the module that `python3 -m venv` needs in a package of its own.
fn ensure_venv_module(root: &Path) -> anyhow::Result<()> {
    if succeeds(command(root, "python3", &["-c", "import venv, ensurepip"])) {
        return Ok(());
    }
    let is_root = succeeds(command(root, "sh", &["-c", "test \"$(id -u)\" = 0"]));
    let has_apt = succeeds(command(root, "apt-get", &["--version"]));
    if !is_root || !has_apt {
        bail!(
            "Python 3 with its venv module is needed; install it (on Debian: apt-get install python3-venv)"
        );
    }
    must_succeed(command(root, "apt-get", &["update", "-qq"]))?;
    must_succeed(command(root, "apt-get", &["install", "-y", "python3-venv"]))
}
