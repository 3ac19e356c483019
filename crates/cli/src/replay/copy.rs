//! Copies of the working directories for calls that are run again.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempDir;
use tiller_engine::SandboxChoice;
use tiller_engine::replay::{CopiedDir, LiveTools};
use tiller_engine::store;
use tiller_engine::undo::{Outline, open_snapshots};
use tiller_protocol::entry::Body;
use tiller_protocol::env::Env;

/// What the working directories held before the session changed them: what was kept then, or else what they hold now.
/// Repositories' own directories are no part of it.
pub(super) struct WorkingCopies {
    dir: TempDir,
    originals: Vec<PathBuf>,
}

impl WorkingCopies {
    pub(super) fn make(log: &Path, env: &Env) -> anyhow::Result<Self> {
        if !SandboxChoice::default().holding().kernel.confines() {
            bail!(
                "--live-tools needs a kernel that can confine commands; `tiller doctor` says what is missing"
            );
        }
        let dir = tempfile::Builder::new().prefix("tiller-replay-").tempdir()?;
        let outline = Outline::read(log)?;
        let mut copies = Self { dir, originals: Vec::new() };
        let mut complaint = None;
        for original in start_dirs(log)? {
            match copies.lay_out(&original, &outline, env) {
                Ok(()) => copies.originals.push(original),
                Err(error) => complaint = complaint.or(Some(error)),
            }
        }
        // What was called in a directory that is gone is not run; where all are gone, nothing could be.
        complaint.filter(|_| copies.originals.is_empty()).map_or(Ok(copies), Err)
    }

    fn lay_out(&self, original: &Path, outline: &Outline, env: &Env) -> anyhow::Result<()> {
        let copy = self.place(self.originals.len());
        let project = fs_err::canonicalize(original).unwrap_or_else(|_| original.to_owned());
        if let Ok(mut store) = open_snapshots(&tiller_config::config_dir(env), &project, env) {
            for snap in &outline.snaps {
                if store.lay_out(&snap.snapshot, original, &copy).is_ok() {
                    return Ok(());
                }
                let _ = fs_err::remove_dir_all(&copy);
            }
        }
        let mut store = open_snapshots(&self.dir.path().join("config"), original, env)?;
        let now = store.take(&[original.to_owned()])?.id;
        store.lay_out(&now, original, &copy).with_context(|| {
            format!("there is nothing to run calls in: {} does not exist", original.display())
        })
    }

    fn place(&self, number: usize) -> PathBuf {
        self.dir.path().join(format!("work{number}"))
    }

    pub(super) fn live_tools(&self) -> LiveTools {
        let copied = |(number, original): (usize, &PathBuf)| {
            let copy = self.place(number);
            CopiedDir { copy: fs_err::canonicalize(&copy).unwrap_or(copy), original: original.clone() }
        };
        LiveTools::new(self.originals.iter().enumerate().map(copied).collect())
    }
}

/// The directories that the session was started and continued in. One that lies in another is a part of its copy.
fn start_dirs(log: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    store::load_bare(log, |entry| {
        if let Body::Opened(opened) = entry.body {
            dirs.push(opened.cwd);
        }
    })?;
    let all = dirs.clone();
    dirs.retain(|dir| !all.iter().any(|around| dir != around && dir.starts_with(around)));
    dirs.sort();
    dirs.dedup();
    Ok(dirs)
}
