//! Undo: what working directories looked like before each call that may change them, and the way back.

mod keeper;
mod outline;
mod rewind;
mod tidy;

use std::path::{Path, PathBuf};

use tiller_protocol::env::Env;
use tiller_sandbox::is_placeholder;
use tiller_snapshot::{Limits, SnapshotError, Store};

pub(crate) use keeper::{Keeper, Kept, Preview, named};
pub use outline::{Branch, Missing, Outline, Prompt, Snap, Step};
pub(crate) use rewind::{Returning, conversation, noted};
pub use rewind::{Rewind, RewindError, Undone};
pub use tidy::collect_snapshots;

use crate::confinement::placeholder_records;
use crate::store::{StoreError, project_key};

/// Where the snapshots of a project are.
#[must_use]
pub fn snapshot_dir(config_dir: &Path, project: &Path) -> PathBuf {
    config_dir.join("snapshots").join(project_key(project))
}

/// Opens the snapshots of a project.
///
/// # Errors
/// When they cannot be used.
pub fn open_snapshots(config_dir: &Path, project: &Path, env: &Env) -> Result<Store, SnapshotError> {
    let store =
        Store::open(&snapshot_dir(config_dir, project), &[config_dir.to_owned()], Limits::default(), env)?;
    let records = placeholder_records(env);
    Ok(store.without_empty_directories(move |path| is_placeholder(&records, path)))
}

impl From<StoreError> for RewindError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
