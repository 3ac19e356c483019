//! How far a server is with what it was told, and how long it is worth waiting for.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long a request waits for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// After a change.
    pub report: Duration,
    /// After the start of a server, until it has reported for the first time: it may have to look at the whole project.
    pub start: Duration,
}

/// How far a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Orders taken so far.
    pub(crate) taken: u64,
    /// Whether there is nothing worth waiting for.
    pub(crate) is_settled: bool,
    /// Whether it has ever reported on all that was changed.
    pub(crate) has_reported: bool,
    /// When it was started.
    pub(crate) started: Instant,
    /// When it was last told of a change.
    pub(crate) changed: Instant,
}

impl Progress {
    /// A server that begins its life now, to be told of files at once.
    pub(crate) fn starting() -> Self {
        let now = Instant::now();
        Self { taken: 0, is_settled: false, has_reported: false, started: now, changed: now }
    }

    /// Nothing will come any more, whatever is ordered.
    pub(crate) fn over(self) -> Self {
        Self { taken: u64::MAX, is_settled: true, ..self }
    }

    /// Until when it is waited for.
    fn deadline(&self, waits: Waits) -> Instant {
        let after_change = self.changed + waits.report;
        if self.has_reported { after_change } else { after_change.max(self.started + waits.start) }
    }
}

/// Waits for a server to settle what was ordered; whether that was in vain.
pub(crate) async fn is_late(
    mut progress: watch::Receiver<Progress>,
    given: u64,
    asked: Instant,
    waits: Waits,
) -> bool {
    loop {
        let seen = *progress.borrow_and_update();
        let has_taken = seen.taken >= given;
        if has_taken && seen.is_settled {
            return false;
        }
        // Until it has looked around, nobody knows whether something was changed just now.
        let deadline =
            if has_taken { seen.deadline(waits) } else { seen.deadline(waits).max(asked + waits.report) };
        match timeout_at(deadline, progress.changed()).await {
            Ok(Ok(())) => {}
            // An attendant that is gone has nothing to report either.
            Ok(Err(_)) => return false,
            Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Waits = Waits { report: Duration::from_secs(2), start: Duration::from_secs(10) };

    /// How long a server is waited for that never settles, being asked about its third order.
    async fn waited(age: u64, taken: u64, has_reported: bool, changed_before: u64) -> Duration {
        let now = Instant::now();
        tokio::time::advance(Duration::from_secs(age)).await;
        let asked = Instant::now();
        let changed = asked - Duration::from_secs(changed_before);
        let progress = Progress { taken, is_settled: false, has_reported, started: now, changed };
        let (_keeps_it, seen) = watch::channel(progress);
        assert!(is_late(seen, 3, asked, WAITS).await);
        asked.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_begins_with_the_change_and_is_longer_after_the_start() {
        for (age, taken, has_reported, changed_before, seconds) in [
            (60, 3, true, 0, 2),
            // What ran beside counts.
            (60, 3, true, 1, 1),
            (60, 3, true, 5, 0),
            // It has not looked around yet.
            (60, 2, true, 5, 2),
            // It has just started.
            (1, 0, false, 1, 9),
            (9, 3, false, 0, 2),
            (60, 3, false, 0, 2),
            (60, 3, false, 3, 0),
        ] {
            let waited = waited(age, taken, has_reported, changed_before).await;
            let expected = Duration::from_secs(seconds);
            assert!(waited.abs_diff(expected) < Duration::from_millis(10), "{waited:?}, not {expected:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_what_is_settled_or_over() {
        let settled = Progress { taken: 3, is_settled: true, ..Progress::starting() };
        for progress in [settled, Progress::starting().over()] {
            let (keeper, seen) = watch::channel(progress);
            assert!(!is_late(seen, 3, Instant::now(), WAITS).await);
            drop(keeper);
        }
        let (keeper, seen) = watch::channel(Progress::starting());
        drop(keeper);
        assert!(!is_late(seen, 3, Instant::now(), WAITS).await, "nobody is there any more");
    }
}
