//! A copy of the working directory for calls that are run again.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;
use tiller_engine::replay::LiveTools;
use tiller_engine::store;
use tiller_engine::undo::{Outline, open_snapshots};
use tiller_protocol::env::Env;
use tiller_protocol::state::State;

use crate::sessions::snapshots_of;

/// What the working directory held before the session changed it: what was kept then, or else what it holds now. Repositories'
/// own directories are no part of it.
pub(super) struct WorkingCopy {
    dir: TempDir,
    original: PathBuf,
}

impl WorkingCopy {
    pub(super) fn make(log: &Path, env: &Env) -> anyhow::Result<Self> {
        let mut state = State::default();
        store::load(log, |entry| state.apply(&entry))?;
        let original = state.start_dir;
        let dir = tempfile::Builder::new().prefix("tiller-replay-").tempdir()?;
        let before = Outline::read(log)?.snaps.first().map(|snap| snap.snapshot.clone());
        let kept = before.and_then(|snapshot| {
            let mut store = snapshots_of(log, env).ok()?;
            store.lay_out(&snapshot, &original, &dir.path().join("work")).ok()
        });
        if kept.is_none() {
            let scratch = dir.path().join("config");
            let mut store = open_snapshots(&scratch, &original, env)?;
            let now = store.take(std::slice::from_ref(&original))?.id;
            store.lay_out(&now, &original, &dir.path().join("work")).with_context(|| {
                format!("there is nothing to run calls in: {} does not exist", original.display())
            })?;
        }
        Ok(Self { dir, original })
    }

    pub(super) fn live_tools(&self) -> LiveTools {
        let copy = self.dir.path().join("work");
        LiveTools { copy: fs_err::canonicalize(&copy).unwrap_or(copy), original: self.original.clone() }
    }
}
