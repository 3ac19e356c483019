//! Keeps what a session is about to change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tiller_policy::Access;
use tiller_protocol::env::Env;
use tiller_protocol::id::SnapshotId;
use tiller_snapshot::{Diff, Restored, SnapshotError, Store};
use tiller_tools::{PreparedCall, View};

use super::open_snapshots;

/// Tools whose calls let others change something.
const DELEGATING: [&str; 2] = ["Agent", "Task"];

/// What came of keeping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is kept.
    Snapshot(SnapshotId),
    /// It cannot be kept, now and later; said once.
    Impossible(String),
    /// It cannot be kept, as was said before.
    Nothing,
}

/// Takes snapshots for a session.
pub(crate) struct Keeper {
    config_dir: PathBuf,
    project: PathBuf,
    env: Env,
    slot: Mutex<Slot>,
}

/// The store is opened when it is first needed: most sessions only look.
enum Slot {
    Closed,
    Open(Box<Store>),
    Off,
}

impl Keeper {
    pub(crate) fn new(config_dir: &Path, project: &Path, env: &Env) -> Self {
        let slot = if env.flag("TILLER_DISABLE_SNAPSHOTS") { Slot::Off } else { Slot::Closed };
        Self {
            config_dir: config_dir.to_owned(),
            project: project.to_owned(),
            env: env.clone(),
            slot: Mutex::new(slot),
        }
    }

    /// Whether a call may change files.
    pub(crate) fn concerns(tool: &str, call: &dyn PreparedCall, view: &View) -> bool {
        let changes = |access: &Access| matches!(access, Access::Write(_) | Access::Exec(_));
        DELEGATING.contains(&tool) || (!call.read_only() && call.access(view).iter().any(changes))
    }

    /// Keeps what the directories hold now.
    pub(crate) async fn keep(self: &Arc<Self>, roots: Vec<PathBuf>) -> Kept {
        let keeper = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || keeper.keep_now(&roots)).await;
        kept.unwrap_or_else(|error| Kept::Impossible(error.to_string()))
    }

    fn keep_now(&self, roots: &[PathBuf]) -> Kept {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        match self.take(&mut slot, roots) {
            Ok(Some(snapshot)) => Kept::Snapshot(snapshot),
            Ok(None) => Kept::Nothing,
            Err(error) => {
                *slot = Slot::Off;
                Kept::Impossible(format!("Changes of this session cannot be undone: {error}."))
            }
        }
    }

    fn take(&self, slot: &mut Slot, roots: &[PathBuf]) -> Result<Option<SnapshotId>, SnapshotError> {
        self.opened(slot)?.map(|store| Ok(store.take(roots)?.id)).transpose()
    }

    fn opened<'a>(&self, slot: &'a mut Slot) -> Result<Option<&'a mut Store>, SnapshotError> {
        if matches!(slot, Slot::Closed) {
            *slot = Slot::Open(Box::new(open_snapshots(&self.config_dir, &self.project, &self.env)?));
        }
        match slot {
            Slot::Open(store) => Ok(Some(store)),
            Slot::Closed | Slot::Off => Ok(None),
        }
    }

    /// Brings a snapshot back; nothing if none are taken in this session.
    pub(crate) fn restore(&self, to: &SnapshotId) -> Result<Option<Restored>, SnapshotError> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        self.opened(&mut slot)?.map(|store| store.restore(to)).transpose()
    }

    /// What bringing a snapshot back would change.
    pub(crate) fn preview(&self, to: &SnapshotId) -> Result<Diff, SnapshotError> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(store) = self.opened(&mut slot)? else { return Ok(Diff::default()) };
        let roots = store.directories(to)?;
        let now = store.take(&roots)?.id;
        store.diff(&now, to)
    }

    /// Writes down what was learned about files.
    pub(crate) fn save(&self) {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Slot::Open(store) = &mut *slot
            && let Err(error) = store.save()
        {
            tracing::warn!("{error}");
        }
    }
}
