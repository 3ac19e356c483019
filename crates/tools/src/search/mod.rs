//! Walking directories, with an account of what was left out (SRCH-01).

mod pattern;
mod walk;

use jiff::{SignedDuration, Timestamp};
use tiller_protocol::env::Env;
use tokio_util::sync::CancellationToken;

use crate::cx::ToolCx;

pub(crate) use pattern::{Filter, split_base};
pub(crate) use walk::{LeftOut, Scope, walk};

/// Seconds a search may take.
pub(crate) const TIME_LIMIT: i64 = 30;

/// When a search has to end before its time.
#[derive(Clone)]
pub(crate) struct Stop {
    cancel: CancellationToken,
    env: Env,
    deadline: Timestamp,
}

impl Stop {
    /// Stops on cancellation and at the time limit.
    pub(crate) fn new(cx: &ToolCx) -> Self {
        let deadline =
            cx.env.now().saturating_add(SignedDuration::from_secs(TIME_LIMIT)).unwrap_or(Timestamp::MAX);
        Self { cancel: cx.cancel.clone(), env: cx.env.clone(), deadline }
    }

    /// Whether to stop now.
    pub(crate) fn reached(&self) -> bool {
        self.cancel.is_cancelled() || self.env.now() >= self.deadline
    }
}
