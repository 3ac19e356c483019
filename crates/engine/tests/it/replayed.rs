//! Every session that a test has recorded is run again, and no request may differ.

use std::path::{Path, PathBuf};

use tiller_engine::replay::{Replay, Report};
use tiller_engine::store;
use tiller_protocol::entry::Body;
use tiller_protocol::env::Env;

/// Replays all sessions below a configuration directory, perhaps only so many of their steps.
pub(crate) fn replay_all(config_dir: &Path, env: &Env, until: Option<usize>) {
    for log in store::everywhere(config_dir).into_iter().map(|file| file.log) {
        let report = can_be_replayed(&log).then(|| replay(log.clone(), env.clone(), until));
        let difference = report.and_then(|report| report.difference);
        assert!(difference.is_none(), "the replay of {}: {}", log.display(), difference.unwrap());
    }
}

/// A session in which no model was ever asked has nothing to replay, and one that a test has damaged need not be what it
/// was.
fn can_be_replayed(log: &Path) -> bool {
    let mut was_asked = false;
    let loaded = store::load(log, |entry| was_asked |= matches!(entry.body, Body::Response(_)));
    was_asked && loaded.is_ok_and(|loaded| loaded.damage.is_empty())
}

/// Runs a session again. Where a test ends its own runtime may be waiting for it.
fn replay(log: PathBuf, env: Env, until: Option<usize>) -> Report {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let replay = Replay { until, ..Replay::of(&log, &env) };
        runtime.block_on(replay.run()).unwrap()
    };
    std::thread::spawn(run).join().unwrap()
}
