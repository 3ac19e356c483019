//! The terminal multiplexer of the test environment.

use std::path::PathBuf;

/// tmux, if it is on the path.
pub fn find_tmux() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("tmux")).find(|place| place.is_file())
}

/// tmux.
///
/// # Panics
///
/// When it is not there, saying how to get it.
pub fn tmux() -> PathBuf {
    find_tmux().expect("tmux was not found: run \"cargo xtask setup\"")
}
