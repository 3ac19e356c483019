//! Programs of the package index for JavaScript.

use std::path::{Path, PathBuf};

/// A program that `cargo xtask setup` gets from the package index for JavaScript.
///
/// # Panics
///
/// When it is not there, saying how to get it.
pub fn npm_program(name: &str) -> PathBuf {
    let path = modules().join(".bin").join(name);
    assert!(path.exists(), "{} does not exist: run \"cargo xtask setup\"", path.display());
    path
}

/// What runs JavaScript of this year: the one that `cargo xtask setup` has got, if the machine's own is too old.
pub fn node() -> PathBuf {
    let own = modules().join(".bin/node");
    if own.exists() { own } else { PathBuf::from("node") }
}

fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-npm/node_modules")
}
