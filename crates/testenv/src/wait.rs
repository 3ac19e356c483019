//! Waiting in tests for what has to come. What never comes fails the test, with words that say what was missing, and
//! does not hold up all others.

use std::future::poll_fn;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);
/// Between two looks: a test that only looks should not take the processor from what it waits for.
const PAUSE: Duration = Duration::from_millis(2);

/// Looks again and again until what has to come has come.
///
/// # Panics
/// When it does not come.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain until {what}");
        thread::sleep(PAUSE);
    }
}

/// The same within a runtime, whose other tasks go on meanwhile. Does not depend on the runtime's clock, which a test may
/// have stopped.
///
/// # Panics
/// When it does not come.
pub async fn eventually_beside(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain until {what}");
        step_back().await;
    }
}

/// Lets other tasks of the runtime go on.
async fn step_back() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
