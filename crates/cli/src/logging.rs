//! The debug log: a file of JSON lines, never the terminal.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tiller_protocol::env::Env;
use tracing_subscriber::EnvFilter;

use crate::args::Args;

/// Starts the debug log if one was asked for; returns where it goes.
pub(crate) fn start(args: &Args, env: &Env, config_dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    let path = match &args.debug_file {
        Some(file) => env.cwd.join(file),
        None if args.debug => config_dir.join("debug").join(format!("{}.jsonl", env.fresh())),
        None => return Ok(None),
    };
    if let Some(dir) = path.parent() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.with_context(|| format!("the debug log could not be created in {}", dir.display()))?;
    }
    let mut options = fs_err::OpenOptions::new();
    fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.create(true).write(true).truncate(true).open(&path);
    let file = file.context("the debug log could not be created")?;
    let filter = env.var("TILLER_LOG").unwrap_or("tiller=debug,info");
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::sync::Mutex::new(file.into_file()))
        .init();
    Ok(Some(path))
}
