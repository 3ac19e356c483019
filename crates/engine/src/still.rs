//! Surroundings for tests, in which time stands still.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use tiller_protocol::env::{Clock, Env, Ids};
use uuid::Uuid;

/// A clock that stands still, and ids that are counted.
#[derive(Default)]
pub(crate) struct Still(AtomicU64);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Ids for Still {
    fn next(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
    }

    fn random(&self) -> f64 {
        0.5
    }
}

/// These variables and nothing else, at home in a directory.
pub(crate) fn env(vars: BTreeMap<String, String>, home: &Path) -> Env {
    let still = Arc::new(Still::default());
    Env {
        clock: still.clone(),
        ids: still,
        vars: Arc::new(vars),
        home: home.to_owned(),
        cwd: home.to_owned(),
    }
}
