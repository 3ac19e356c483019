//! Where answers begin. Their ids alone do not tell: there are providers that give the same one to several.

use std::collections::HashSet;

use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::id::{EntryId, MessageId};

/// The first entries of answers.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    begins: HashSet<EntryId>,
    /// The answer that is being written.
    open: Option<MessageId>,
}

impl Answers {
    /// Takes in one more entry of a log.
    pub fn push(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Assistant(block) if self.open.as_ref() != Some(&block.message_id) => {
                self.open = Some(block.message_id.clone());
                self.begins.insert(entry.id);
            }
            Body::Response(response) if !response.side => self.open = None,
            _ => {}
        }
    }

    /// Whether an answer begins with this entry.
    #[must_use]
    pub fn begins(&self, entry: &Entry) -> bool {
        self.begins.contains(&entry.id)
    }
}
