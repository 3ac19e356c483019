//! The steering ledger: what Tiller itself adds to a conversation, folded from the log entry by entry.
//!
//! [`Ledger::apply`] hands out each addition as it happens and keeps only totals, so that front ends can show them
//! live, and memory does not grow with the texts.

mod masks;
mod place;
mod share;
mod source;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::Serialize;

pub use masks::MaskTotal;
pub use place::Place;
pub use share::{Sent, Share, block_size, tokens};
pub use source::Source;

use crate::block::RawBlock;
use crate::entry::{Added, Attachment, Body, Entry, Epoch, Origin, UserMessage};
use crate::id::EntryId;
use crate::usage::StopReason;
use masks::Masks;
use place::Progress;

/// The kind of the hidden message in front of a conversation.
pub const USER_CONTEXT: &str = "user_context";
/// The kind of messages that the loop writes in the user's role.
pub const HIDDEN_MESSAGE: &str = "hidden_message";
/// The kind of the message that stands in place of what was folded.
pub const COMPACT_SUMMARY: &str = "compact_summary";

/// One thing that Tiller added to the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    /// The entry's position in the log.
    pub seq: u64,
    /// The entry.
    pub id: EntryId,
    /// When it was added.
    pub at: Timestamp,
    /// The turn, and the step whose request is the first to carry it. There may be none yet.
    pub place: Place,
    /// What it is, e.g. `hook_success`.
    pub kind: String,
    /// Who made it.
    pub source: Source,
    /// Why it was added at this moment.
    pub why: String,
    /// The exact text; what is not text is named in brackets.
    pub text: String,
    /// Bytes that Tiller added: for input of the user that was delivered late, without the user's own words.
    pub bytes: u64,
    /// Reminder tags in it that others had forged; they were made harmless.
    pub forged: u64,
    /// The first addition of the same kind with the same text, by its position in the log.
    pub repeats: Option<u64>,
}

impl Addition {
    /// An estimate of the tokens it takes.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        tokens(self.bytes)
    }
}

/// Totals of one kind of additions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KindTotal {
    /// How many there were.
    pub count: u64,
    /// How many of them had been said before.
    pub repeated: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl KindTotal {
    fn add(&mut self, addition: &Addition) {
        self.count += 1;
        self.repeated += u64::from(addition.repeats.is_some());
        self.bytes += addition.bytes;
    }
}

/// The fold of a log into what steered the model.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    progress: Progress,
    sent: Sent,
    kinds: IndexMap<String, KindTotal>,
    /// Digests of kind and text, with the position of the first.
    said: HashMap<u64, u64>,
    last_stop: Option<StopReason>,
    forged: u64,
    masks: Masks,
}

impl Ledger {
    /// Folds one more entry in. Returns what Tiller added with it, if it did.
    pub fn apply(&mut self, entry: &Entry) -> Option<Addition> {
        self.progress.apply(entry);
        self.sent.apply(entry);
        self.masks.apply(entry, self.progress.next());
        match &entry.body {
            Body::Response(response) if !response.side => self.last_stop = Some(response.stop_reason.clone()),
            Body::Attachment(attachment) => self.forged += attachment.forged as u64,
            Body::Repaired(repair) => self.forged += repair.forged as u64,
            _ => {}
        }
        let addition = self.addition(entry)?;
        self.kinds.entry(addition.kind.clone()).or_default().add(&addition);
        Some(addition)
    }

    /// The turn and the request that are under way, or were the last.
    #[must_use]
    pub fn place(&self) -> Place {
        self.progress.now()
    }

    /// The turn and the request that something added now belongs to. They may never come.
    #[must_use]
    pub fn next_place(&self) -> Place {
        self.progress.next()
    }

    /// What the next request is made of.
    #[must_use]
    pub fn sent(&self) -> &Sent {
        &self.sent
    }

    /// How much of the next request is steering.
    #[must_use]
    pub fn share(&self) -> Share {
        self.sent.share()
    }

    /// Reminder tags that others had forged, and that were made harmless.
    #[must_use]
    pub fn forged(&self) -> u64 {
        self.forged
    }

    /// What was kept from the model by masks, in order of first appearance.
    #[must_use]
    pub fn masks(&self) -> &[MaskTotal] {
        &self.masks.0
    }

    /// Totals by kind, in order of first appearance.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, KindTotal)> {
        self.kinds.iter().map(|(kind, total)| (kind.as_str(), *total))
    }

    fn addition(&mut self, entry: &Entry) -> Option<Addition> {
        let told = match &entry.body {
            Body::Attachment(attachment) => Told::attached(attachment),
            Body::User(message) if message.origin == Origin::Summary => Told::summary(message),
            Body::User(message) if message.is_hidden() => Told::hidden(message, self.last_stop.as_ref()),
            Body::Epoch(epoch) => Told::leading(epoch)?,
            _ => return None,
        };
        let Told { kind, source, why, text, bytes, forged } = told;
        let first = *self.said.entry(digest(&kind, &text)).or_insert(entry.seq);
        Some(Addition {
            seq: entry.seq,
            id: entry.id,
            at: entry.at,
            place: self.progress.next(),
            kind,
            source,
            why,
            text,
            bytes,
            forged,
            repeats: (first != entry.seq).then_some(first),
        })
    }
}

/// An addition apart from its place.
struct Told {
    kind: String,
    source: Source,
    why: String,
    text: String,
    bytes: u64,
    forged: u64,
}

impl Told {
    fn attached(attachment: &Attachment) -> Self {
        Self {
            kind: attachment.kind().to_owned(),
            source: Source::of(attachment),
            why: attachment.why.clone(),
            text: text(&attachment.rendered),
            bytes: share::added(attachment),
            forged: attachment.forged as u64,
        }
    }

    /// Logs of earlier versions do not say who spoke, and why; the answer before it tells a little.
    fn hidden(message: &UserMessage, last_stop: Option<&StopReason>) -> Self {
        let Added { source, why } = message.added.clone().unwrap_or_else(|| Added {
            source: Source::Loop,
            why: match last_stop {
                Some(stop) => format!("the answer before it ended with {}", stop.as_str()),
                None => "no answer had come before it".to_owned(),
            },
        });
        Self {
            kind: HIDDEN_MESSAGE.to_owned(),
            source,
            why,
            text: text(&message.content),
            bytes: message.content.iter().map(block_size).sum(),
            forged: 0,
        }
    }

    fn summary(message: &UserMessage) -> Self {
        Self {
            kind: COMPACT_SUMMARY.to_owned(),
            source: Source::Compaction,
            why: "the conversation was folded".to_owned(),
            text: text(&message.content),
            bytes: message.content.iter().map(block_size).sum(),
            forged: 0,
        }
    }

    fn leading(epoch: &Epoch) -> Option<Self> {
        let text = epoch.user_context.clone()?;
        let why = format!("an epoch began ({})", epoch.reason);
        let bytes = text.len() as u64;
        Some(Self { kind: USER_CONTEXT.to_owned(), source: Source::Epoch, why, text, bytes, forged: 0 })
    }
}

fn text(blocks: &[RawBlock]) -> String {
    let shown = |block: &RawBlock| block.as_text().unwrap_or_else(|| format!("[{}]", block.kind()));
    blocks.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn digest(kind: &str, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, text).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
