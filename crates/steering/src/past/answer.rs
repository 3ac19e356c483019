//! The last answer of the model. Until the next one begins, it may turn out to be void.

use tiller_protocol::block::RawBlock;
use tiller_protocol::id::{EntryId, MessageId};

/// One answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    id: Option<MessageId>,
    complete: bool,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    entry: EntryId,
    /// Whether it makes the answer one that says something.
    says: bool,
    /// The tool it calls.
    calls: Option<String>,
}

impl Answer {
    pub(super) fn begin(id: &MessageId) -> Self {
        Self { id: Some(id.clone()), ..Self::default() }
    }

    /// Whether a block under this id belongs to it.
    pub(super) fn continues(&self, id: &MessageId) -> bool {
        !self.complete && self.id.as_ref() == Some(id)
    }

    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    pub(super) fn push(&mut self, entry: EntryId, block: &RawBlock) {
        let calls = block.as_tool_use().map(|call| call.name);
        let says = calls.is_some() || block.as_text().is_some_and(|text| !text.trim().is_empty());
        self.parts.push(Part { entry, says, calls });
    }

    pub(super) fn orphan(&mut self, ids: &[EntryId]) {
        self.parts.retain(|part| !ids.contains(&part.entry));
    }

    /// Whether it says or calls something; mere reasoning does not count.
    pub(super) fn counts(&self) -> bool {
        self.parts.iter().any(|part| part.says)
    }

    pub(super) fn calls(&self) -> u32 {
        u32::try_from(self.parts.iter().filter(|part| part.calls.is_some()).count()).unwrap_or(u32::MAX)
    }

    pub(super) fn calls_tool(&self, tool: &str) -> bool {
        self.parts.iter().any(|part| part.calls.as_deref() == Some(tool))
    }
}
