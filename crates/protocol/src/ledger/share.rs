//! How much of what is sent is steering.
//!
//! *Sent* is what the next request carries, as far as the log tells: the system prompt, the definitions of the tools,
//! the user context, and every block of the conversation that is not orphaned. *Steering* is the part of it that Tiller
//! added beside the prompt: the user context, attachments and hidden messages. The system prompt and the tools are not
//! counted as steering: they are fixed for an epoch and known beforehand.

use indexmap::IndexMap;
use serde_json::Value;

use crate::block::RawBlock;
use crate::compaction::Compacted;
use crate::entry::{Attachment, Body, Entry, Epoch};
use crate::id::EntryId;
use crate::rewind::ConversationBack;

/// Bytes that an image or document counts for: what it costs the model has little to do with the length of its file.
const MEDIA_BYTES: u64 = 6_000;
/// Bytes per token, as a rule of thumb.
const BYTES_PER_TOKEN: u64 = 4;

/// An estimate of the tokens that so many bytes of text take.
#[must_use]
pub fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// The bytes of a block that the model reads: its text if it is text, its JSON otherwise; images and documents at a flat
/// rate.
#[must_use]
pub fn block_size(block: &RawBlock) -> u64 {
    value_size(&block.to_value()).unwrap_or(block.json().len() as u64)
}

fn value_size(block: &Value) -> Option<u64> {
    match block.get("type")?.as_str()? {
        "text" => Some(block.get("text")?.as_str()?.len() as u64),
        "image" | "document" => Some(MEDIA_BYTES),
        "tool_result" => match block.get("content") {
            Some(Value::String(text)) => Some(text.len() as u64),
            Some(Value::Array(blocks)) => Some(blocks.iter().filter_map(value_size).sum()),
            _ => Some(0),
        },
        _ => None,
    }
}

/// The bytes of an attachment that do not come from the user.
pub(super) fn added(attachment: &Attachment) -> u64 {
    let rendered: u64 = attachment.rendered.iter().map(block_size).sum();
    if attachment.queued_id().is_none() {
        return rendered;
    }
    let own = attachment.attachment.get("prompt").and_then(Value::as_array);
    rendered.saturating_sub(own.into_iter().flatten().filter_map(value_size).sum())
}

/// How much of what is sent is steering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Bytes that Tiller added beside the prompt.
    pub steering: u64,
    /// All bytes that are sent.
    pub sent: u64,
}

impl Share {
    /// Between 0 and 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a request is far shorter than 2^52 bytes")]
    pub fn fraction(self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.steering as f64 / self.sent as f64 }
    }
}

/// What the next request is made of, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// The system prompt.
    pub system: u64,
    /// The definitions of the tools.
    pub tools: u64,
    /// The hidden message in front.
    pub user_context: u64,
    /// All other messages.
    pub conversation: u64,
    /// The part of them that Tiller added.
    pub added: u64,
    thinking: u64,
    /// All that has ever been part of the conversation, by its place in the log: it may go back.
    weighed: Vec<Weighed>,
    /// Entries of the running turn, which may still be orphaned, with their places in `weighed`.
    recent: IndexMap<EntryId, usize>,
    folds: Vec<Fold>,
    clearings: Vec<Clearing>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    all: u64,
    added: u64,
    thinking: u64,
}

#[derive(Clone, Copy, Debug)]
struct Weighed {
    seq: u64,
    weight: Weight,
}

/// A fold, with what was kept, which is known by its estimate.
#[derive(Clone, Copy, Debug)]
struct Fold {
    seq: u64,
    kept_from: u64,
    kept: u64,
}

/// What the clearing of results has freed.
#[derive(Clone, Copy, Debug)]
struct Clearing {
    seq: u64,
    bytes: u64,
}

impl Sent {
    /// How much of it is steering.
    #[must_use]
    pub fn share(&self) -> Share {
        Share {
            steering: self.user_context + self.added,
            sent: self.system + self.tools + self.user_context + self.conversation,
        }
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Epoch(epoch) => self.epoch(epoch),
            Body::Orphaned(orphaned) => orphaned.ids.iter().for_each(|id| self.forget(*id)),
            Body::TurnEnded(_) => self.recent.clear(),
            Body::Compacted(compacted) => self.fold(entry.seq, compacted),
            Body::Cleared(cleared) => {
                let bytes = cleared.tokens * BYTES_PER_TOKEN;
                self.clearings.push(Clearing { seq: entry.seq, bytes });
                self.conversation = self.conversation.saturating_sub(bytes);
            }
            Body::Rewound(rewound) => rewound.conversation.iter().for_each(|back| self.go_back(back)),
            body => {
                if let Some(weight) = Weight::of(body) {
                    self.add(weight);
                    self.recent.insert(entry.id, self.weighed.len());
                    self.weighed.push(Weighed { seq: entry.seq, weight });
                }
            }
        }
    }

    fn add(&mut self, weight: Weight) {
        self.conversation += weight.all;
        self.added += weight.added;
        self.thinking += weight.thinking;
    }

    fn fold(&mut self, seq: u64, compacted: &Compacted) {
        let kept = compacted.kept.as_ref();
        let kept_from = kept.map_or(seq, |kept| kept.from);
        let kept = kept.map_or(0, |kept| kept.tokens * BYTES_PER_TOKEN);
        self.folds.push(Fold { seq, kept_from, kept });
        (self.conversation, self.added, self.thinking) = (kept, 0, 0);
        self.recent.clear();
    }

    /// The conversation goes on from elsewhere: what is part of it now is added up anew.
    fn go_back(&mut self, back: &ConversationBack) {
        let in_force = back.folded.and_then(|folded| self.folds.iter().find(|fold| fold.seq == folded.seq));
        let Fold { seq, kept_from, kept } =
            in_force.copied().unwrap_or(Fold { seq: 0, kept_from: 0, kept: 0 });
        let left_of_kept = self.weighed.iter().filter(|one| (kept_from..seq).contains(&one.seq));
        let left: u64 = left_of_kept.filter(|one| !back.holds(one.seq)).map(|one| one.weight.all).sum();
        (self.conversation, self.added, self.thinking) = (kept.saturating_sub(left), 0, 0);
        let is_said = |at: u64| at > seq && back.holds(at);
        let said: Vec<Weight> =
            self.weighed.iter().filter(|one| is_said(one.seq)).map(|one| one.weight).collect();
        said.into_iter().for_each(|weight| self.add(weight));
        let cleared: u64 = self.clearings.iter().filter(|one| is_said(one.seq)).map(|one| one.bytes).sum();
        self.conversation = self.conversation.saturating_sub(cleared);
        self.recent.clear();
    }

    fn forget(&mut self, id: EntryId) {
        let Some(one) = self.recent.swap_remove(&id).and_then(|at| self.weighed.get_mut(at)) else { return };
        let weight = std::mem::take(&mut one.weight);
        self.conversation = self.conversation.saturating_sub(weight.all);
        self.added = self.added.saturating_sub(weight.added);
        self.thinking = self.thinking.saturating_sub(weight.thinking);
    }

    /// A new epoch has a head of its own and carries no reasoning of the one before.
    fn epoch(&mut self, epoch: &Epoch) {
        self.system = texts(epoch.system.get());
        self.tools = if epoch.tools.get() == "[]" { 0 } else { epoch.tools.get().len() as u64 };
        self.user_context = epoch.user_context.as_ref().map_or(0, |text| text.len() as u64);
        self.conversation = self.conversation.saturating_sub(self.thinking);
        self.thinking = 0;
        for Weighed { weight, .. } in &mut self.weighed {
            weight.all = weight.all.saturating_sub(weight.thinking);
            weight.thinking = 0;
        }
    }
}

impl Weight {
    fn of(body: &Body) -> Option<Self> {
        let plain = |all| Some(Self { all, ..Self::default() });
        match body {
            Body::User(message) => {
                let all = message.content.iter().map(block_size).sum();
                let added = if message.is_hidden() { all } else { 0 };
                Some(Self { all, added, thinking: 0 })
            }
            Body::Attachment(attachment) => {
                let all = attachment.rendered.iter().map(block_size).sum();
                Some(Self { all, added: added(attachment), thinking: 0 })
            }
            Body::Assistant(block) if block.api_error.is_none() => {
                let all = block_size(&block.block);
                let thinking = if block.block.is_thinking() { all } else { 0 };
                Some(Self { all, added: 0, thinking })
            }
            Body::Result(result) => plain(result.content.iter().map(block_size).sum()),
            _ => None,
        }
    }
}

/// The bytes of an array of text blocks.
fn texts(json: &str) -> u64 {
    let blocks: Vec<Value> = serde_json::from_str(json).unwrap_or_default();
    blocks.iter().filter_map(value_size).sum()
}
