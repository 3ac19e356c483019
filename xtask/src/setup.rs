//! `cargo xtask setup`: what tests need from outside. The model provider's own client judges the scripted server, in a
//! Python environment; a browser shows the pages that Tiller writes.

use std::path::Path;

use anyhow::{Context, bail};

use crate::program::{command, must_succeed, succeeds};
use crate::say;

/// The package that tests import, by the name it has in the package index and in Python.
const PACKAGE: &str = "anthropic";
/// Names another interpreter; it has to have the package already.
const OWN_PYTHON: &str = "TILLER_TEST_PYTHON";

/// The browser and letters for it, by the names of Debian's packages; the second where the first is unknown.
const BROWSERS: [&[&str]; 2] =
    [&["chromium-headless-shell", "fonts-dejavu-core"], &["chromium", "fonts-dejavu-core"]];

/// Gets everything that is not there.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    python(root)?;
    browser(root)
}

fn browser(root: &Path) -> anyhow::Result<()> {
    if tiller_testkit::find_browser().is_some() {
        return Ok(());
    }
    let advice = "a browser is needed to test pages; install Chromium (on Debian: apt-get install \
                  chromium-headless-shell), or set TILLER_TEST_BROWSER to one";
    ensure_apt(root, advice)?;
    say("installing a browser");
    let installed = BROWSERS.iter().any(|packages| install(root, packages).is_ok());
    if !installed || tiller_testkit::find_browser().is_none() {
        bail!("{advice}");
    }
    Ok(())
}

/// Makes the Python environment, unless it is there.
fn python(root: &Path) -> anyhow::Result<()> {
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
    ensure_apt(
        root,
        "Python 3 with its venv module is needed; install it (on Debian: apt-get install python3-venv)",
    )?;
    install(root, &["python3-venv"])
}

/// Packages can be installed here, and the list of them is fresh; else what to do instead.
fn ensure_apt(root: &Path, advice: &str) -> anyhow::Result<()> {
    let is_root = succeeds(command(root, "sh", &["-c", "test \"$(id -u)\" = 0"]));
    let has_apt = succeeds(command(root, "apt-get", &["--version"]));
    if !is_root || !has_apt {
        bail!("{advice}");
    }
    must_succeed(command(root, "apt-get", &["update", "-qq"]))
}

fn install(root: &Path, packages: &[&str]) -> anyhow::Result<()> {
    let mut install = command(root, "apt-get", &["install", "-y", "-qq", "--no-install-recommends"]);
    install.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    must_succeed(install)
}
