//! What runs beside the conversation.

use std::sync::Arc;

use tiller_protocol::command::Event;
use tiller_protocol::id::CallId;

use super::Task;

impl Task {
    pub(super) fn move_to_background(&mut self, call: &CallId) {
        self.journal.tell(Event::Rejected(format!("{call} cannot go on in the background")));
    }

    /// Stops a background task; that it has ended is told when it has.
    pub(super) fn stop_task(&mut self, id: String) {
        let shells = Arc::clone(&self.services.shells);
        self.services.tasks.spawn(async move { shells.kill(&id).await });
    }
}
