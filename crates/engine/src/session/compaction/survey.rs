//! What there is to fold, read from the log.

use tiller_protocol::compaction::Folded;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::rewind::Stretch;
use tiller_steering::compaction::{Answers, Standing};

use crate::archive::Archive;
use crate::store::StoreError;
use crate::view::Frame;

/// A conversation that is about to be folded.
#[derive(Default)]
pub(super) struct Survey {
    /// What is still sent.
    pub(super) messages: Vec<Entry>,
    /// Which of it begins an answer.
    pub(super) answers: Answers,
    /// All that the user has ever said in it, also what was folded before.
    pub(super) words: Vec<Entry>,
    /// The summary of what was folded before.
    pub(super) earlier: Option<String>,
}

impl Survey {
    /// Reads a log without the stretches that are no part of the conversation. What calls have returned is wanted of what
    /// is still sent since it was last folded, if that is known.
    pub(super) fn read(
        archive: &Archive,
        abandoned: &[Stretch],
        folded: Option<Folded>,
    ) -> Result<Self, StoreError> {
        let sent = Frame::new(abandoned.to_vec(), folded, u64::MAX).from();
        let mut standing = Standing::default();
        let (mut words, mut earlier) = (Vec::new(), None);
        archive.read_from(sent, |entry| {
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
        let (messages, answers) = standing.into_parts();
        Ok(Self { messages, answers, words, earlier })
    }
}

fn is_said_by_the_user(entry: &Entry) -> bool {
    match &entry.body {
        Body::User(message) => !message.is_hidden(),
        Body::Attachment(attachment) => attachment.queued_id().is_some(),
        _ => false,
    }
}
