//! A point in a scripted reply at which the server waits until the test lets it go on.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

/// How long a test waits for the server before it is declared stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Holds a reply back until [`Gate::open`] is called; clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    reached: Condvar,
    opened: Notify,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    reached: bool,
    open: bool,
}

impl Gate {
    /// A closed gate that no reply has reached yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the reply go on, now or when it arrives here. A gate never closes again.
    pub fn open(&self) {
        self.lock().open = true;
        self.0.opened.notify_waiters();
    }

    /// Whether a reply has arrived here.
    pub fn is_reached(&self) -> bool {
        self.lock().reached
    }

    /// Blocks until a reply has arrived here: everything scripted before the gate is then on its way
    /// through the loopback socket.
    pub fn wait_reached(&self) {
        let (state, timeout) = self
            .0
            .reached
            .wait_timeout_while(self.lock(), PATIENCE, |state| !state.reached)
            .unwrap_or_else(PoisonError::into_inner);
        drop(state);
        assert!(!timeout.timed_out(), "no reply reached the gate within {PATIENCE:?}");
    }

    /// [`Gate::wait_reached`] for async tests; does not depend on the test's (possibly paused) clock.
    pub async fn wait_reached_async(&self) {
        let gate = self.clone();
        off_thread(move || gate.wait_reached()).await;
    }

    /// Server side: announces the arrival and waits to be let through.
    pub(crate) async fn pass(&self) {
        // One trip through the executor makes the connection flush what was written before the gate.
        tokio::task::yield_now().await;
        self.lock().reached = true;
        self.0.reached.notify_all();
        let mut opened = std::pin::pin!(self.0.opened.notified());
        loop {
            opened.as_mut().enable();
            if self.lock().open {
                return;
            }
            opened.as_mut().await;
            opened.set(self.0.opened.notified());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a blocking wait beside the async test and hands its panic on.
pub(crate) async fn off_thread<T: Send + 'static>(wait: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(wait).await {
        Ok(value) => value,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}
