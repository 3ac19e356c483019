//! The conversation as a view of a log, folded from as little of it as that takes: what was said before the place where
//! it was last folded is counted, and not read.

use std::sync::Arc;

use tiller_protocol::compaction::Folded;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::rewind::{ConversationBack, Rewound, Stretch};
use tiller_steering::Conversation;
use tiller_steering::compaction::Room;
use tiller_steering::past::Past;

use crate::archive::Archive;
use crate::store::StoreError;

/// Which part of a log a conversation is.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Stretches that are no part of it.
    abandoned: Vec<Stretch>,
    /// The first entry that requests are made of.
    from: u64,
    /// The entry that says where it was last folded; 0 if it never was.
    folded: u64,
    /// The entry behind its last one.
    until: u64,
}

impl Frame {
    pub(crate) fn new(abandoned: Vec<Stretch>, folded: Option<Folded>, until: u64) -> Self {
        // A fold that was cut off has not happened, and one that was undone is not in force.
        let is_left = |seq| abandoned.iter().any(|stretch| stretch.holds(seq));
        let folded = folded.filter(|folded| folded.until.is_some() && !is_left(folded.seq));
        let from = folded.map_or(0, |folded| folded.kept_from.unwrap_or(folded.seq).min(folded.seq));
        Self { abandoned, from, folded: folded.map_or(0, |folded| folded.seq), until }
    }

    /// The first entry that requests are made of.
    pub(crate) fn from(&self) -> u64 {
        self.from
    }

    fn holds(&self, seq: u64) -> bool {
        seq < self.until && !self.abandoned.iter().any(|stretch| stretch.holds(seq))
    }

    /// Whether an answer was given to this very conversation, when the log had left these stretches behind. One that
    /// was given to a folded conversation is still there after the fold was undone, but what the provider has counted
    /// then is not what is sent now.
    fn was_seen(&self, answer: u64, left_then: &[Stretch]) -> bool {
        let before = |stretches: &[Stretch]| -> Vec<(u64, u64)> {
            let relevant =
                stretches.iter().filter(|stretch| stretch.until > self.from && stretch.from < answer);
            let mut ends: Vec<_> = relevant.map(|stretch| (stretch.from, stretch.until)).collect();
            ends.sort_unstable();
            ends.dedup();
            ends
        };
        before(&self.abandoned) == before(left_then)
    }
}

/// A conversation with what is derived from it.
#[derive(Default)]
pub(crate) struct View {
    pub(crate) conversation: Conversation,
    pub(crate) past: Arc<Past>,
    pub(crate) room: Room,
}

impl View {
    /// The conversation after a step back, up to an entry.
    pub(crate) fn after(archive: &Archive, back: &ConversationBack, until: u64) -> Result<Self, StoreError> {
        let mut viewing = Viewing::new(Frame::new(back.abandoned.clone(), back.folded, until), None);
        archive.read_from(viewing.frame.from, |entry| viewing.take(&entry))?;
        Ok(viewing.view)
    }
}

/// A view that is being made of a log, entry by entry.
pub(crate) struct Viewing {
    frame: Frame,
    view: View,
    /// The last entry that is counted in the past already.
    counted: u64,
    /// What the log has left behind so far.
    left_behind: Vec<Stretch>,
}

impl Viewing {
    /// Begins a view, perhaps with what is known of the entries up to the last fold.
    pub(crate) fn new(frame: Frame, past: Option<Past>) -> Self {
        let counted = if past.is_some() { frame.folded } else { 0 };
        let view = View { past: Arc::new(past.unwrap_or_default()), ..View::default() };
        Self { frame, view, counted, left_behind: Vec::new() }
    }

    /// Counts an entry that comes before the last fold; of all others nothing has to be known.
    pub(crate) fn count(&mut self, entry: &Entry) {
        if self.frame.holds(entry.seq) && entry.seq <= self.frame.folded {
            Arc::make_mut(&mut self.view.past).push(entry);
            self.counted = entry.seq;
        }
    }

    /// Takes in the next entry of the log, also one that is no part of the conversation.
    pub(crate) fn take(&mut self, entry: &Entry) {
        if let Body::Rewound(Rewound { conversation: Some(back), .. }) = &entry.body {
            self.left_behind.clone_from(&back.abandoned);
        }
        if !self.frame.holds(entry.seq) {
            return;
        }
        if entry.seq > self.counted {
            Arc::make_mut(&mut self.view.past).push(entry);
        }
        if entry.seq < self.frame.from {
            return;
        }
        self.view.conversation.push(entry);
        let is_answered = matches!(entry.body, Body::Response(_));
        if !is_answered || self.frame.was_seen(entry.seq, &self.left_behind) {
            self.view.room.push(entry);
        }
    }

    pub(crate) fn finish(self) -> View {
        self.view
    }
}
