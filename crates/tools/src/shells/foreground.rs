//! Commands that a call waits for. Meanwhile they can be moved to the background, where they go on as they are: the same
//! process, held the same way, with the same output.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tiller_protocol::id::CallId;
use tokio_util::sync::CancellationToken;

use super::{Shells, lock};

/// The calls that can be told to wait no longer.
#[derive(Clone, Default)]
pub(super) struct Foreground(Arc<Mutex<HashMap<CallId, CancellationToken>>>);

/// A command that a call waits for.
pub(crate) struct Attended {
    call: CallId,
    pub(crate) since: Timestamp,
    /// Fires when it is to go on in the background.
    pub(crate) moved: CancellationToken,
    /// Ends it there.
    pub(crate) stop: CancellationToken,
    foreground: Foreground,
}

impl Shells {
    /// The call waits for its command, until what this returns is dropped.
    pub(crate) fn attend(&self, call: &CallId) -> Attended {
        let moved = CancellationToken::new();
        lock(&self.foreground.0).insert(call.clone(), moved.clone());
        Attended {
            call: call.clone(),
            since: self.env.now(),
            moved,
            stop: self.end.child_token(),
            foreground: self.foreground.clone(),
        }
    }

    /// Lets the command that a call waits for go on in the background. False if there is none that could.
    #[must_use]
    pub fn move_to_background(&self, call: &CallId) -> bool {
        lock(&self.foreground.0).get(call).is_some_and(|moved| {
            moved.cancel();
            true
        })
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        lock(&self.foreground.0).remove(&self.call);
    }
}
