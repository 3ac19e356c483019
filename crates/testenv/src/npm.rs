//! Programs from the package index for JavaScript.

use std::path::{Path, PathBuf};

/// A program that `cargo xtask setup` gets from the package index for JavaScript.
///
/// # Panics
///
/// When it is not there, saying how to get it.
pub fn npm_program(name: &str) -> PathBuf {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-npm/node_modules/.bin").join(name);
    assert!(path.exists(), "{} does not exist: run \"cargo xtask setup\"", path.display());
    path
}
