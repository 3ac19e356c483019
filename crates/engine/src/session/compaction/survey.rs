//! What there is to fold, read from the log.

use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::rewind::Stretch;
use tiller_steering::compaction::Standing;

use crate::archive::Archive;
use crate::store::StoreError;

/// A conversation that is about to be folded.
#[derive(Default)]
pub(super) struct Survey {
    /// What is still sent.
    pub(super) messages: Vec<Entry>,
    /// All that the user has ever said in it, also what was folded before.
    pub(super) words: Vec<Entry>,
    /// The summary of what was folded before.
    pub(super) earlier: Option<String>,
}

impl Survey {
    /// Reads a log without the stretches that are no part of the conversation.
    pub(super) fn read(archive: &Archive, abandoned: &[Stretch]) -> Result<Self, StoreError> {
        let mut standing = Standing::default();
        let (mut words, mut earlier) = (Vec::new(), None);
        archive.read(|entry| {
            if abandoned.iter().any(|stretch| stretch.holds(entry.seq)) {
                return;
            }
            if is_said_by_the_user(&entry) {
                words.push(entry.clone());
            }
            if let Body::Compacted(compacted) = &entry.body {
                earlier = Some(compacted.summary.clone());
            }
            standing.push(entry);
        })?;
        Ok(Self { messages: standing.into_messages(), words, earlier })
    }
}

fn is_said_by_the_user(entry: &Entry) -> bool {
    match &entry.body {
        Body::User(message) => !message.is_hidden(),
        Body::Attachment(attachment) => attachment.queued_id().is_some(),
        _ => false,
    }
}
