//! The Python interpreter of the test environment.

use std::path::{Path, PathBuf};

/// The interpreter that has the packages of `cargo xtask setup`: `TILLER_TEST_PYTHON`, or the one in the
/// build directory.
///
/// # Panics
///
/// When there is none, saying how to get it.
pub fn python() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-venv/bin/python3");
    let path = std::env::var_os("TILLER_TEST_PYTHON").map_or_else(default, PathBuf::from);
    assert!(path.exists(), "{} does not exist: run \"cargo xtask setup\"", path.display());
    path
}
