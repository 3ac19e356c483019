//! Where Tiller keeps its files.

use std::path::PathBuf;

use tiller_protocol::env::Env;

/// The configuration directory: `TILLER_CONFIG_DIR`, else `CLAUDE_CONFIG_DIR`, else `~/.tiller`.
#[must_use]
pub fn config_dir(env: &Env) -> PathBuf {
    match env.var_or_alias("TILLER_CONFIG_DIR", "CLAUDE_CONFIG_DIR") {
        Some(dir) => env.cwd.join(dir),
        None => env.home.join(".tiller"),
    }
}
