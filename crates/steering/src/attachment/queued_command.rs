//! `queued_command`: what the user sent while the agent was working.

use serde::Serialize;
use tiller_protocol::block::RawBlock;
use tiller_protocol::id::EntryId;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("queued_command.md");

/// One message of the user.
#[derive(Clone, Debug, Serialize)]
pub struct QueuedCommand {
    /// The id under which it waited.
    pub id: EntryId,
    /// `prompt`, or `task_notification`.
    pub kind: &'static str,
    /// What was sent.
    pub prompt: Vec<RawBlock>,
}

impl Kind for QueuedCommand {
    const NAME: &'static str = "queued_command";

    fn render(&self) -> Rendered {
        self.prompt.iter().fold(Rendered::default(), |rendered, block| match block.as_text() {
            Some(text) => rendered.and(Rendered::reminder(&fill(TEXT, &[("text", &text)]))),
            None => rendered.with(block),
        })
    }
}
