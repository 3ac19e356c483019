//! The conversation as the provider sees it, grown entry by entry.
//!
//! Finished messages are kept as serialized bytes and never change while the epoch lasts, so that two successive
//! requests share a byte-identical prefix and a step costs what is new. Only the last exchange is kept open: blocks of a
//! response arrive one by one, and may be orphaned.
//!
//! Invariant: whatever is pushed, [`Conversation::messages`] pairs every call with exactly one result in the message
//! that follows, and never sends a result without its call.

use bytes::Bytes;
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{AssistantBlock, Body, CallResult, Entry, Epoch, Orphaned};
use tiller_protocol::id::{EntryId, MessageId};

use crate::lint::{self, Totals};
use crate::message::{Message, Role};

/// New blocks after which the provider no longer finds the previous request's cache entry by itself.
const CACHE_LOOKBACK: usize = 18;

/// The messages of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    lead: Option<String>,
    closed: Vec<Message>,
    before: Open,
    response: Option<OpenResponse>,
    after: Open,
    totals: Totals,
    /// Messages the previous request had.
    sent: usize,
}

/// A user-role message that is still growing.
#[derive(Clone, Debug, Default)]
struct Open {
    results: Vec<(EntryId, String, RawBlock)>,
    rest: Vec<RawBlock>,
}

/// A response whose blocks are still arriving.
#[derive(Clone, Debug)]
struct OpenResponse {
    id: MessageId,
    model: String,
    blocks: Vec<(EntryId, RawBlock)>,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.rest.is_empty()
    }

    fn absorb(&mut self, other: Self) {
        self.results.extend(other.results);
        self.rest.extend(other.rest);
    }

    fn blocks(&self) -> impl Iterator<Item = &RawBlock> {
        self.results.iter().map(|(_, _, block)| block).chain(&self.rest)
    }
}

impl OpenResponse {
    /// The blocks that may be sent; nothing if there is only reasoning or blank text.
    fn sendable(&self) -> Vec<&RawBlock> {
        let blocks: Vec<_> =
            self.blocks.iter().map(|(_, block)| block).filter(|b| !b.is_blank_text()).collect();
        if blocks.iter().all(|block| block.is_thinking()) { Vec::new() } else { blocks }
    }

    fn calls(&self) -> impl Iterator<Item = String> + '_ {
        self.blocks.iter().filter_map(|(_, block)| block.as_tool_use()).map(|call| call.id.0)
    }
}

impl Conversation {
    /// Takes in one more entry. Returns what had to be mended.
    pub fn push(&mut self, entry: &Entry) -> Vec<String> {
        match &entry.body {
            Body::User(message) => self.add_all(&message.content),
            Body::Attachment(attachment) => self.add_all(&attachment.rendered),
            Body::Assistant(block) if !block.api_error => self.assistant(entry.id, block),
            Body::Result(result) => self.result(entry.id, result),
            Body::Orphaned(orphaned) => self.orphan(orphaned),
            Body::Epoch(epoch) => self.epoch(epoch),
            _ => Vec::new(),
        }
    }

    /// The messages of the next request, asked of `model`.
    ///
    /// Reasoning that another model wrote is left out: this one could not read it.
    pub fn messages(&mut self, model: &str) -> Vec<Bytes> {
        self.leave_foreign_thinking(model);
        let mut messages: Vec<Message> = self.closed.clone();
        messages.extend(self.open_messages());
        if let (Some(lead), Some(first)) = (&self.lead, messages.first_mut()) {
            *first = first.led_by(lead);
        }
        let fresh: usize = messages.iter().skip(self.sent).map(|message| message.blocks).sum();
        let anchor = self.sent.checked_sub(1).filter(|_| fresh > CACHE_LOOKBACK);
        if let Some(message) = anchor.and_then(|at| messages.get_mut(at)) {
            *message = message.with_breakpoint();
        }
        self.sent = messages.len();
        messages.into_iter().map(|message| message.json).collect()
    }

    /// Whether anything has been said yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.before.is_empty() && self.response.is_none()
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

    fn add_all(&mut self, blocks: &[RawBlock]) -> Vec<String> {
        blocks.iter().filter(|block| !block.is_blank_text()).filter_map(|block| self.add(block)).collect()
    }

    fn add(&mut self, block: &RawBlock) -> Option<String> {
        let (block, mended) = lint::mend(block, &mut self.totals);
        let open = if self.response.is_some() { &mut self.after } else { &mut self.before };
        open.rest.push(block);
        mended
    }

    fn assistant(&mut self, entry: EntryId, block: &AssistantBlock) -> Vec<String> {
        let same = self.response.as_ref().is_some_and(|open| open.id == block.message_id);
        if !same {
            self.settle();
            self.leave_foreign_thinking(&block.model);
        }
        let (raw, mended) = lint::mend(&with_safe_id(&block.block, "id"), &mut self.totals);
        let response = self.response.get_or_insert_with(|| OpenResponse {
            id: block.message_id.clone(),
            model: block.model.clone(),
            blocks: Vec::new(),
        });
        response.blocks.push((entry, raw));
        mended.into_iter().collect()
    }

    fn result(&mut self, entry: EntryId, result: &CallResult) -> Vec<String> {
        let call = lint::safe_id(result.call.as_str()).into_owned();
        let asked = self.response.as_ref().is_some_and(|response| response.calls().any(|id| id == call));
        let answered = self.after.results.iter().any(|(_, id, _)| *id == call);
        if !asked || answered {
            return vec![format!("left out a result for {}, which waits for none", result.call)];
        }
        let (block, mended) = lint::mend(&with_safe_id(&result.to_block(), "tool_use_id"), &mut self.totals);
        self.after.results.push((entry, call, block));
        mended.into_iter().collect()
    }

    fn orphan(&mut self, orphaned: &Orphaned) -> Vec<String> {
        let gone = |id: &EntryId| orphaned.ids.contains(id);
        self.after.results.retain(|(id, _, _)| !gone(id));
        if let Some(response) = &mut self.response {
            response.blocks.retain(|(id, _)| !gone(id));
            if response.blocks.is_empty() {
                self.response = None;
                let after = std::mem::take(&mut self.after);
                self.before.absorb(after);
            }
        }
        Vec::new()
    }

    fn epoch(&mut self, epoch: &Epoch) -> Vec<String> {
        self.lead.clone_from(&epoch.user_context);
        self.sent = 0;
        self.forget_thinking();
        Vec::new()
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
        self.closed.extend(Message::new(Role::User, before.blocks()));
        self.closed
            .extend(Message::new(Role::Assistant, sendable).map(|message| message.by(&response.model)));
    }

    fn leave_foreign_thinking(&mut self, model: &str) {
        let model = model.trim_end_matches("[1m]");
        let foreign = |wrote: &str| !wrote.starts_with(model);
        let closed = self.closed.iter().any(|m| m.has_thinking && m.model.as_deref().is_some_and(foreign));
        let open = self.response.as_ref().is_some_and(|r| foreign(&r.model));
        if closed || open {
            self.forget_thinking();
        }
    }

    fn forget_thinking(&mut self) {
        let closed = std::mem::take(&mut self.closed);
        for message in closed {
            let Some(message) = message.without_thinking() else { continue };
            match self.closed.last_mut() {
                Some(last) if last.role == message.role => *last = last.joined(&message),
                _ => self.closed.push(message),
            }
        }
        if let Some(response) = &mut self.response {
            response.blocks.retain(|(_, block)| !block.is_thinking());
        }
    }
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
    for call in response.calls() {
        if after.results.iter().any(|(_, answered, _)| *answered == call) {
            continue;
        }
        let block =
            RawBlock::from_value(&json!({"type": "tool_result", "tool_use_id": call, "is_error": true,
            "content": "This call was not answered: the work was cut off. It may or may not have run."}));
        after.results.push((EntryId(Default::default()), call, block));
    }
}
