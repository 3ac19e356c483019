//! The conversation as the provider sees it, grown entry by entry.
//!
//! Finished messages are kept as serialized bytes and never change while the epoch lasts, so that two successive
//! requests share a byte-identical prefix and a step costs what is new. Only the last exchange is kept open: blocks of a
//! response arrive one by one, and may be orphaned.
//!
//! Invariant: whatever is pushed, [`Conversation::messages`] pairs every call with exactly one result in the message
//! that follows, and never sends a result without its call.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::compaction::{Cleared, Compacted};
use tiller_protocol::entry::{
    AssistantBlock, Attachment, Body, CallResult, Entry, Epoch, Orphaned, Refusal, Repair, UserMessage,
};
use tiller_protocol::id::{EntryId, MessageId};
use tiller_protocol::ingredients::Asked;
use tiller_protocol::messages::Messages;

use crate::asked::Chain;
use crate::attachment::catalog;
use crate::compaction::replacement;
use crate::disarm::disarm;
use crate::lint::{self, Totals};
use crate::message::{self, Message, Role};
use crate::refused::{self, Accused, Refused};

/// New blocks after which the provider no longer finds the previous request's cache entry by itself.
const CACHE_LOOKBACK: usize = 18;

/// Messages that are put together once there are so many.
const PACK: usize = 64;

/// What is recorded of a part that came once more.
const REFUSED_BEFORE: &str = "left out a part that the provider has refused before";

/// The messages of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    lead: Option<String>,
    closed: Vec<Message>,
    /// The closed messages as they are sent.
    wire: Messages,
    /// Of all that is in `wire`.
    chain: Chain,
    before: Open,
    response: Option<OpenResponse>,
    after: Open,
    totals: Totals,
    /// What the provider did not take.
    refused: Refused,
    /// Models whose reasoning the closed messages hold.
    thinkers: Vec<Arc<str>>,
    /// Messages the previous request had.
    sent: usize,
    /// The end of a conversation that is being folded: it stands behind what takes the place of the rest.
    held: Option<Held>,
}

/// What is kept as it is when a conversation is folded.
#[derive(Clone, Debug)]
struct Held {
    response: Option<OpenResponse>,
    after: Open,
}

/// A user-role message that is still growing.
#[derive(Clone, Debug, Default)]
struct Open {
    results: Vec<(EntryId, String, RawBlock)>,
    rest: Vec<(EntryId, RawBlock)>,
}

/// A response whose blocks are still arriving.
#[derive(Clone, Debug)]
struct OpenResponse {
    id: MessageId,
    model: Arc<str>,
    blocks: Vec<(EntryId, RawBlock)>,
    calls: Vec<String>,
    complete: bool,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.rest.is_empty()
    }

    fn absorb(&mut self, other: Self) {
        self.results.extend(other.results);
        self.rest.extend(other.rest);
    }

    fn blocks_mut(&mut self) -> impl Iterator<Item = &mut RawBlock> {
        let results = self.results.iter_mut().map(|(_, _, block)| block);
        results.chain(self.rest.iter_mut().map(|(_, block)| block))
    }

    fn blocks(&self) -> impl Iterator<Item = &RawBlock> {
        let results = self.results.iter().map(|(_, _, block)| block);
        results.chain(self.rest.iter().map(|(_, block)| block))
    }
}

impl OpenResponse {
    /// The blocks that may be sent; nothing if there is only reasoning or blank text.
    fn sendable(&self) -> Vec<&RawBlock> {
        let blocks: Vec<_> =
            self.blocks.iter().map(|(_, block)| block).filter(|b| !b.is_blank_text()).collect();
        if blocks.iter().all(|block| block.is_thinking()) { Vec::new() } else { blocks }
    }

    fn has_thinking(&self) -> bool {
        self.blocks.iter().any(|(_, block)| block.is_thinking())
    }
}

impl Conversation {
    /// Takes in one more entry. Returns what had to be mended. This is where outside text enters: reminder tags in it
    /// are made harmless here, and nowhere later.
    pub fn push(&mut self, entry: &Entry) -> Vec<Repair> {
        match &entry.body {
            Body::User(message) => self.user(entry.id, message),
            Body::Attachment(attachment) => self.attachment(entry.id, attachment),
            Body::Assistant(block) if block.api_error.is_none() => self.assistant(entry.id, block),
            Body::Response(response) if !response.side => self.complete(),
            Body::Result(result) => self.result(entry.id, result),
            Body::Orphaned(orphaned) => self.orphan(orphaned),
            Body::Epoch(epoch) => self.epoch(epoch),
            Body::Compacted(compacted) => self.fold(compacted),
            Body::Cleared(cleared) => self.clear(cleared),
            Body::Repaired(repair) if !repair.refused.is_empty() => self.refuse(&repair.refused),
            _ => Vec::new(),
        }
    }

    /// The messages of the next request. Costs what is new, apart from handing out what is ready.
    pub fn messages(&mut self) -> Messages {
        let open = self.sent_open();
        let closed = self.closed.len();
        let fresh_closed: usize = self.closed.iter().skip(self.sent).map(|message| message.blocks).sum();
        let fresh_open: usize =
            open.iter().skip(self.sent.saturating_sub(closed)).map(|message| message.blocks).sum();
        let mut messages = self.wire.clone();
        messages.extend(open.iter().map(|message| message.json.clone()));
        let anchor = self.sent.checked_sub(1).filter(|_| fresh_closed + fresh_open > CACHE_LOOKBACK);
        if let Some((at, json)) = anchor.and_then(|at| Some((at, messages.iter().nth(at)?))) {
            messages.replace(at, message::with_breakpoint(&json));
        }
        self.sent = messages.len();
        messages
    }

    /// What is noted of the next request. Where the provider is told to cache is no part of what is said.
    #[must_use]
    pub fn asked(&self) -> Asked {
        let open = self.sent_open();
        let chain = open.iter().fold(self.chain, |chain, message| chain.then(&message.json));
        chain.noted(self.wire.len() + open.len())
    }

    /// The messages of the next request, as [`Conversation::asked`] counts them.
    #[must_use]
    pub fn said(&self) -> Vec<Bytes> {
        let open = self.sent_open().into_iter().map(|message| message.json);
        self.wire.iter().chain(open).collect()
    }

    /// Bytes of the messages of the next request.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let open: usize = self.sent_open().iter().map(|message| message.json.len()).sum();
        open + self.wire.bytes()
    }

    /// Whether there is reasoning at all.
    #[must_use]
    pub fn has_thinking(&self) -> bool {
        !self.thinkers.is_empty() || self.response.as_ref().is_some_and(OpenResponse::has_thinking)
    }

    /// Whether there is reasoning that another model than `model` wrote, and that it could therefore not read.
    #[must_use]
    pub fn has_foreign_thinking(&self, model: &str) -> bool {
        let open =
            self.response.as_ref().filter(|response| response.has_thinking()).map(|response| &response.model);
        self.thinkers.iter().chain(open).any(|thinker| **thinker != *model)
    }

    /// Whether the provider waits for reasoning to come back together with the results of its calls: as long as that is
    /// so, none can be left out.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.response.as_ref().is_some_and(OpenResponse::has_thinking) && !self.after.results.is_empty()
    }

    /// What the provider complains about, if that is an image or a document of the next request.
    #[must_use]
    pub fn accused(&self, complaint: &str) -> Option<Accused> {
        refused::accused(&self.said(), complaint)
    }

    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.closed.len() + self.open_messages().len()
    }

    /// Whether anything has been said yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.before.is_empty() && self.response.is_none()
    }

    /// The open messages as they are sent.
    fn sent_open(&self) -> Vec<Message> {
        let mut open = self.open_messages();
        if !self.wire.is_empty() {
            return open;
        }
        if open.first().is_some_and(|first| first.role == Role::Assistant) {
            open.splice(0..0, lost_beginning());
        }
        if let Some(first) = open.first_mut() {
            *first = self.led(first);
        }
        open
    }

    /// The first message with what leads the conversation.
    fn led(&self, first: &Message) -> Message {
        self.lead.as_ref().map_or_else(|| first.clone(), |lead| first.led_by(lead))
    }

    fn close(&mut self, message: Message) {
        if self.wire.is_empty() && message.role == Role::Assistant {
            lost_beginning().into_iter().for_each(|beginning| self.close(beginning));
        }
        let json = if self.wire.is_empty() { self.led(&message).json } else { message.json.clone() };
        self.chain = self.chain.then(&json);
        self.wire.push(json);
        self.closed.push(message);
        if self.wire.len().is_multiple_of(PACK) {
            self.pack();
        }
    }

    /// Puts the newest closed messages together in memory.
    fn pack(&mut self) {
        let from = self.closed.len() - PACK;
        for (packed, message) in self.wire.join_last(PACK).into_iter().zip(&mut self.closed[from..]) {
            if message.json == packed {
                message.json = packed;
            }
        }
    }

    fn open_messages(&self) -> Vec<Message> {
        let Some(response) = &self.response else {
            return Message::new(Role::User, self.before.blocks()).into_iter().collect();
        };
        let sendable = response.sendable();
        if sendable.is_empty() {
            let mut merged = self.before.clone();
            merged.rest.extend(self.after.rest.iter().cloned());
            return Message::new(Role::User, merged.blocks()).into_iter().collect();
        }
        let mut after = self.after.clone();
        answer_open_calls(response, &mut after);
        let messages = [
            Message::new(Role::User, self.before.blocks()),
            Message::new(Role::Assistant, sendable),
            Message::new(Role::User, after.blocks()),
        ];
        messages.into_iter().flatten().collect()
    }

    /// Hidden messages hold outside words too: commands, what these print, prompts of servers. What Tiller itself has to
    /// remind of is an attachment.
    fn user(&mut self, entry: EntryId, message: &UserMessage) -> Vec<Repair> {
        let (blocks, forged): (Vec<RawBlock>, Vec<usize>) = message.content.iter().map(disarm).unzip();
        let mut mended = self.admit_all(entry, &blocks);
        let place =
            if message.is_hidden() { "what the user has called for" } else { "a message of the user" };
        mended.extend(forgery(forged.into_iter().sum(), place));
        mended
    }

    /// What was rendered for the model was disarmed then. A kind of a newer version is passed over.
    fn attachment(&mut self, entry: EntryId, attachment: &Attachment) -> Vec<Repair> {
        if catalog::find(attachment.kind()).is_none() {
            tracing::warn!(kind = attachment.kind(), "an attachment of an unknown kind is left out");
            return Vec::new();
        }
        self.add_all(entry, &attachment.rendered)
    }

    fn admit_all(&mut self, entry: EntryId, blocks: &[RawBlock]) -> Vec<Repair> {
        let (blocks, mended): (Vec<_>, Vec<_>) = blocks.iter().map(lint::admit).unzip();
        let mut mended: Vec<Repair> = mended.into_iter().flatten().map(repair).collect();
        mended.extend(self.add_all(entry, &blocks));
        mended
    }

    fn add_all(&mut self, entry: EntryId, blocks: &[RawBlock]) -> Vec<Repair> {
        let said = blocks.iter().filter(|block| !block.is_blank_text());
        said.filter_map(|block| self.add(entry, block)).map(repair).collect()
    }

    fn add(&mut self, entry: EntryId, block: &RawBlock) -> Option<String> {
        let left = self.refused.leave_out(block);
        let (block, mended) = lint::mend(left.as_ref().unwrap_or(block), &mut self.totals);
        let open = if self.response.is_some() { &mut self.after } else { &mut self.before };
        open.rest.push((entry, block));
        left.map(|_| REFUSED_BEFORE.to_owned()).or(mended)
    }

    fn assistant(&mut self, entry: EntryId, block: &AssistantBlock) -> Vec<Repair> {
        let same = self.response.as_ref().is_some_and(|open| open.id == block.message_id && !open.complete);
        if !same {
            self.settle();
        }
        let (raw, mended) = lint::mend(&with_safe_id(&block.block, "id"), &mut self.totals);
        let response = self.response.get_or_insert_with(|| OpenResponse {
            id: block.message_id.clone(),
            model: block.model.as_str().into(),
            blocks: Vec::new(),
            calls: Vec::new(),
            complete: false,
        });
        response.calls.extend(raw.as_tool_use().map(|call| call.id.0));
        response.blocks.push((entry, raw));
        mended.into_iter().map(repair).collect()
    }

    /// The provider says that the response is complete: what comes under the same id is another one.
    fn complete(&mut self) -> Vec<Repair> {
        if let Some(response) = &mut self.response {
            response.complete = true;
        }
        Vec::new()
    }

    fn result(&mut self, entry: EntryId, result: &CallResult) -> Vec<Repair> {
        let call = lint::safe_id(result.call.as_str()).into_owned();
        let asked = self.response.as_ref().is_some_and(|response| response.calls.contains(&call));
        let answered = self.after.results.iter().any(|(_, id, _)| *id == call);
        if !asked || answered {
            return vec![repair(format!("left out a result for {}, which waits for none", result.call))];
        }
        let (block, forged) = disarm(&with_safe_id(&result.to_block(), "tool_use_id"));
        let left = self.refused.leave_out(&block);
        let (block, mended) = lint::mend(left.as_ref().unwrap_or(&block), &mut self.totals);
        self.after.results.push((entry, call, block));
        let forgery = forgery(forged, &format!("the result of {} ({})", result.call, result.tool));
        let known = left.map(|_| REFUSED_BEFORE.to_owned());
        known.or(mended).map(repair).into_iter().chain(forgery).collect()
    }

    fn orphan(&mut self, orphaned: &Orphaned) -> Vec<Repair> {
        let gone = |id: &EntryId| orphaned.ids.contains(id);
        self.after.results.retain(|(id, _, _)| !gone(id));
        self.after.rest.retain(|(id, _)| !gone(id));
        if let Some(response) = &mut self.response {
            response.blocks.retain(|(id, _)| !gone(id));
            response.calls = calls(&response.blocks);
            if response.blocks.is_empty() {
                self.response = None;
                let after = std::mem::take(&mut self.after);
                self.before.absorb(after);
            }
        }
        Vec::new()
    }

    fn epoch(&mut self, epoch: &Epoch) -> Vec<Repair> {
        self.lead.clone_from(&epoch.user_context);
        self.sent = 0;
        self.forget_thinking();
        self.release();
        Vec::new()
    }

    /// Everything said so far is sent no more, apart from what is kept.
    fn fold(&mut self, compacted: &Compacted) -> Vec<Repair> {
        let held = compacted.kept.as_ref().and_then(|kept| self.hold(kept.first));
        *self = Self { lead: self.lead.take(), held, ..Self::default() };
        Vec::new()
    }

    /// Takes out the end of the conversation from an entry on, if it has not been closed.
    fn hold(&mut self, first: EntryId) -> Option<Held> {
        let begins = |response: &OpenResponse| response.blocks.first().is_some_and(|(id, _)| *id == first);
        if self.response.as_ref().is_some_and(begins) {
            return Some(Held { response: self.response.take(), after: std::mem::take(&mut self.after) });
        }
        let open = if self.response.is_some() { &mut self.after } else { &mut self.before };
        let at = open.rest.iter().position(|(id, _)| *id == first)?;
        let rest = open.rest.split_off(at);
        Some(Held { response: None, after: Open { results: Vec::new(), rest } })
    }

    /// What takes the place of the folded part is complete: what was kept follows.
    fn release(&mut self) {
        let Some(Held { response, after }) = self.held.take() else { return };
        match response {
            Some(mut response) => {
                response.blocks.retain(|(_, block)| !block.is_thinking());
                self.response = Some(response);
                self.after = after;
            }
            None => self.before.absorb(after),
        }
    }

    /// Puts a note in the place of results.
    fn clear(&mut self, cleared: &Cleared) -> Vec<Repair> {
        let calls: HashSet<String> =
            cleared.calls.iter().map(|call| lint::safe_id(call.as_str()).into_owned()).collect();
        let closed = std::mem::take(&mut self.closed);
        self.rewire(closed.into_iter().map(|message| message.with_cleared(&calls, replacement())));
        for (_, call, block) in self.before.results.iter_mut().chain(&mut self.after.results) {
            if calls.contains(call) {
                *block = message::cleared(block, replacement());
            }
        }
        Vec::new()
    }

    /// Puts notes in the place of what the provider did not take, wherever that stands.
    fn refuse(&mut self, refusals: &[Refusal]) -> Vec<Repair> {
        self.refused.add(refusals);
        let refused = self.refused.clone();
        let closed = std::mem::take(&mut self.closed);
        self.rewire(closed.into_iter().map(|message| message.with(|block| refused.leave_out(block))));
        for block in self.before.blocks_mut().chain(self.after.blocks_mut()) {
            if let Some(note) = refused.leave_out(block) {
                *block = note;
            }
        }
        Vec::new()
    }

    /// Closes messages anew.
    fn rewire(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.wire.clear();
        self.chain = Chain::default();
        self.closed.clear();
        messages.into_iter().for_each(|message| self.close(message));
    }

    /// A new response begins: the one before is complete. What followed it stays open, in case the new one is void.
    fn settle(&mut self) {
        let Some(response) = self.response.take() else { return };
        let mut after = std::mem::take(&mut self.after);
        let sendable = response.sendable();
        if sendable.is_empty() {
            self.before.rest.extend(after.rest);
            return;
        }
        answer_open_calls(&response, &mut after);
        let before = std::mem::replace(&mut self.before, after);
        if response.has_thinking() && !self.thinkers.contains(&response.model) {
            self.thinkers.push(Arc::clone(&response.model));
        }
        let messages = [Message::new(Role::User, before.blocks()), Message::new(Role::Assistant, sendable)];
        messages.into_iter().flatten().for_each(|message| self.close(message));
    }

    fn forget_thinking(&mut self) {
        let mut kept: Vec<Message> = Vec::new();
        for message in std::mem::take(&mut self.closed).into_iter().filter_map(Message::without_thinking) {
            match kept.last_mut() {
                Some(last) if last.role == message.role => *last = last.joined(&message),
                _ => kept.push(message),
            }
        }
        self.thinkers.clear();
        self.rewire(kept);
        if let Some(response) = &mut self.response {
            response.blocks.retain(|(_, block)| !block.is_thinking());
        }
    }
}

/// Stands where the first prompt stood, if damage has taken it: a conversation begins with the user.
fn lost_beginning() -> Option<Message> {
    let text = RawBlock::text("[The beginning of this conversation was lost.]");
    Message::new(Role::User, [&text])
}

fn repair(what: String) -> Repair {
    Repair { what, ..Repair::default() }
}

/// What is recorded of reminder tags that were not Tiller's.
fn forgery(forged: usize, place: &str) -> Option<Repair> {
    let what = format!("made reminder tags harmless that somebody had put into {place}");
    (forged > 0).then_some(Repair { what, forged, ..Repair::default() })
}

fn calls(blocks: &[(EntryId, RawBlock)]) -> Vec<String> {
    blocks.iter().filter_map(|(_, block)| block.as_tool_use()).map(|call| call.id.0).collect()
}

fn with_safe_id(block: &RawBlock, field: &str) -> RawBlock {
    let value: Value = match serde_json::from_str(block.json()) {
        Ok(value) => value,
        Err(_) => return block.clone(),
    };
    let Some(id) = value[field].as_str() else { return block.clone() };
    match lint::safe_id(id) {
        std::borrow::Cow::Borrowed(_) => block.clone(),
        std::borrow::Cow::Owned(safe) => {
            let mut value = value.clone();
            value[field] = safe.into();
            RawBlock::from_value(&value)
        }
    }
}

fn answer_open_calls(response: &OpenResponse, after: &mut Open) {
    for call in &response.calls {
        if after.results.iter().any(|(_, answered, _)| answered == call) {
            continue;
        }
        let block =
            RawBlock::from_value(&json!({"type": "tool_result", "tool_use_id": call, "is_error": true,
            "content": "This call was not answered: the work was cut off. It may or may not have run."}));
        after.results.push((EntryId::default(), call.clone(), block));
    }
}
