//! A program that fails in the middle gives the terminal back before it says why.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;

use crossterm::terminal;

use super::terminal::LEAVE;

static TAKEN: AtomicBool = AtomicBool::new(false);
/// The thread that draws. A failure in another one is somebody else's affair, and the terminal is still needed.
static DRAWS: Mutex<Option<ThreadId>> = Mutex::new(None);
static LISTENING: Once = Once::new();

/// The terminal is ours now.
pub(super) fn taken() {
    TAKEN.store(true, Ordering::SeqCst);
    *DRAWS.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
    LISTENING.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |failure| {
            match rescue() {
                Rescue::Unneeded | Rescue::Done => before(failure),
                // What is drawn must not be written over.
                Rescue::NotOurs => tracing::error!("{failure}"),
            }
        }));
    });
}

/// The terminal is somebody else's.
pub(super) fn given_back() {
    TAKEN.store(false, Ordering::SeqCst);
}

/// Whether the terminal is ours.
pub(super) fn is_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

enum Rescue {
    /// The terminal was not ours.
    Unneeded,
    /// It was given back.
    Done,
    /// Another thread has failed, and whoever waits for it goes on.
    NotOurs,
}

fn rescue() -> Rescue {
    let draws = *DRAWS.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_taken() {
        return Rescue::Unneeded;
    }
    if draws != Some(std::thread::current().id()) {
        return Rescue::NotOurs;
    }
    given_back();
    // There is nobody left to tell if this fails too.
    let mut out = std::io::stdout();
    let _ = write!(out, "\r\n{LEAVE}").and_then(|()| out.flush());
    let _ = terminal::disable_raw_mode();
    Rescue::Done
}
