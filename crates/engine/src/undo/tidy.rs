//! Letting go of snapshots: those that no log refers to any more, and those that are old.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use tiller_protocol::env::Env;
use tiller_protocol::id::SnapshotId;
use tiller_snapshot::SnapshotError;

use super::{Outline, RewindError, open_snapshots, snapshot_dir};
use crate::store::LogFile;

/// How long a snapshot can be brought back.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long it takes until it is worth reading all logs again.
const PAUSE: SignedDuration = SignedDuration::from_hours(24);
/// The file that tells when snapshots were last let go of.
const STAMP: &str = "collected";

/// Lets go of snapshots that no session of the project refers to any more, and of those older than 30 days. Returns the
/// bytes that were freed.
///
/// # Errors
/// When logs or snapshots cannot be read. While a session is running nothing is let go of.
pub fn collect_snapshots(config_dir: &Path, project: &Path, env: &Env) -> Result<u64, RewindError> {
    let dir = snapshot_dir(config_dir, project);
    if !dir.is_dir() {
        return Ok(0);
    }
    let since = env.now().checked_sub(KEPT).unwrap_or(Timestamp::MIN);
    let freed = open_snapshots(config_dir, project, env)?.collect(|| wanted(config_dir, project, since))?;
    fs_err::write(dir.join(STAMP), env.now().to_string()).map_err(SnapshotError::Io)?;
    Ok(freed)
}

/// Does so once a day. What cannot be let go of now is no reason to keep nothing new.
pub(super) fn collect_if_due(config_dir: &Path, project: &Path, env: &Env) {
    let stamp = fs_err::read_to_string(snapshot_dir(config_dir, project).join(STAMP)).ok();
    let last = stamp.and_then(|stamp| stamp.parse::<Timestamp>().ok());
    if last.is_some_and(|last| env.now().duration_since(last).abs() < PAUSE) {
        return;
    }
    match collect_snapshots(config_dir, project, env) {
        Ok(freed) => tracing::debug!("{freed} bytes of snapshots were let go of"),
        Err(RewindError::Snapshot(SnapshotError::Busy)) => {}
        Err(error) => tracing::warn!("old snapshots are still there: {error}"),
    }
}

/// The snapshots that logs have referred to since a moment.
fn wanted(config_dir: &Path, project: &Path, since: Timestamp) -> Result<Vec<SnapshotId>, RewindError> {
    let mut wanted = Vec::new();
    for LogFile { log, .. } in crate::store::all(config_dir, project) {
        wanted.extend(Outline::read(&log)?.snapshots_since(since));
    }
    Ok(wanted)
}
