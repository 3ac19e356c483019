//! Where things stand among the entries of a turn. A turn may have thousands of them: they are gone through once, and what
//! has been handed out is not looked at again.

use std::collections::{BTreeSet, HashMap, VecDeque};

use tiller_protocol::entry::{Body, Cause, Entry};
use tiller_protocol::id::{CallId, MessageId};

use super::tape::{is_answer, is_fallback, tells_of_failure};

/// Entries that have not been handed out, by their places.
#[derive(Default)]
pub(super) struct Remaining {
    answers: VecDeque<usize>,
    others: BTreeSet<usize>,
}

impl Remaining {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut remaining = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            if is_answer(&entry.body) {
                remaining.answers.push_back(at);
            } else if is_handed_out(&entry.body) {
                remaining.others.insert(at);
            }
        }
        remaining
    }

    /// The next piece of an answer.
    pub(super) fn next_answer(&self) -> Option<usize> {
        self.answers.front().copied()
    }

    /// Takes it.
    pub(super) fn take_answer(&mut self) {
        self.answers.pop_front();
    }

    /// Everything else from one place to another.
    pub(super) fn between(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        self.others.range(from..to.max(from)).copied()
    }

    /// The same from the beginning.
    pub(super) fn before(&self, to: usize) -> impl Iterator<Item = usize> {
        self.between(0, to)
    }

    pub(super) fn contains(&self, at: usize) -> bool {
        self.others.contains(&at)
    }

    /// Takes something that is no answer.
    pub(super) fn take(&mut self, at: usize) {
        self.others.remove(&at);
    }
}

/// Whether somebody may want an entry: others follow from these.
fn is_handed_out(body: &Body) -> bool {
    match body {
        Body::User(_)
        | Body::Attachment(_)
        | Body::Effect(_)
        | Body::Queued(_)
        | Body::Dequeued(_)
        | Body::Epoch(_)
        | Body::Compacted(_)
        | Body::Cleared(_) => true,
        Body::Repaired(repair) => !repair.refused.is_empty(),
        body => tells_of_failure(body),
    }
}

/// Calls with what came of them, and how the turn ended.
#[derive(Default)]
pub(super) struct Index {
    /// The answer that each call was made in.
    answers: HashMap<CallId, MessageId>,
    /// The calls of each answer.
    calls: HashMap<MessageId, Vec<CallId>>,
    /// The last answer with a call.
    last: Option<MessageId>,
    /// Where results of calls stand that did not get lost.
    results: HashMap<CallId, usize>,
    /// Where a notice says that another model has taken over.
    pub(super) fallbacks: Vec<usize>,
    /// Where the end of the turn stands.
    pub(super) end: Option<usize>,
    /// The failure of a call has stopped others.
    pub(super) failures_stop_others: bool,
}

impl Index {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut index = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            match &entry.body {
                Body::Assistant(block) => {
                    if let Some(call) = block.block.as_tool_use() {
                        index.call(call.id, &block.message_id);
                    }
                }
                Body::Result(result) => {
                    index.failures_stop_others |= result.cause == Cause::SiblingError;
                    if result.cause != Cause::Lost {
                        index.results.entry(result.call.clone()).or_insert(at);
                    }
                }
                Body::TurnEnded(_) => index.end = index.end.or(Some(at)),
                body if is_fallback(body) => index.fallbacks.push(at),
                _ => {}
            }
        }
        index
    }

    fn call(&mut self, call: CallId, answer: &MessageId) {
        self.calls.entry(answer.clone()).or_default().push(call.clone());
        self.answers.entry(call).or_insert_with(|| answer.clone());
        self.last = Some(answer.clone());
    }

    /// Where the result of a call stands.
    pub(super) fn result(&self, call: &CallId) -> Option<usize> {
        self.results.get(call).copied()
    }

    /// The calls that were made in the same answer.
    pub(super) fn siblings(&self, call: &CallId) -> &[CallId] {
        self.answers.get(call).and_then(|answer| self.calls.get(answer)).map_or(&[], Vec::as_slice)
    }

    /// Whether no later answer has made a call.
    pub(super) fn is_of_last_answer(&self, call: &CallId) -> bool {
        self.last.is_some() && self.answers.get(call) == self.last.as_ref()
    }
}
