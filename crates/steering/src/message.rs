//! One message of a request, as the bytes that are sent.

use std::collections::HashSet;

use bytes::Bytes;
use serde::Deserialize;
use tiller_protocol::block::RawBlock;

const BREAKPOINT: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
}

impl Role {
    fn opening(self) -> &'static str {
        match self {
            Self::User => r#"{"role":"user","content":["#,
            Self::Assistant => r#"{"role":"assistant","content":["#,
        }
    }
}

const CLOSING: &str = "]}";

/// A serialized message with what is needed to know about it without parsing.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) json: Bytes,
    pub(crate) blocks: usize,
    pub(crate) has_thinking: bool,
}

#[derive(Deserialize)]
struct Content {
    content: Vec<RawBlock>,
}

impl Message {
    /// A message of these blocks; none if there are none.
    pub(crate) fn new<'a>(role: Role, blocks: impl IntoIterator<Item = &'a RawBlock>) -> Option<Self> {
        let mut json = String::from(role.opening());
        let mut count = 0;
        let mut has_thinking = false;
        for block in blocks {
            if count > 0 {
                json.push(',');
            }
            json.push_str(block.json());
            has_thinking |= block.is_thinking();
            count += 1;
        }
        json.push_str(CLOSING);
        (count > 0).then(|| Self { role, json: json.into(), blocks: count, has_thinking })
    }

    /// The blocks' JSON, separated by commas.
    fn inner(&self) -> &[u8] {
        &self.json[self.role.opening().len()..self.json.len() - CLOSING.len()]
    }

    /// The same message with a text block in front.
    pub(crate) fn led_by(&self, text: &str) -> Self {
        let lead = RawBlock::text(text);
        self.spliced(&[lead.json().as_bytes(), b",", self.inner()], self.blocks + 1)
    }

    /// Two messages of one role as one.
    pub(crate) fn joined(&self, next: &Self) -> Self {
        let mut joined = self.spliced(&[self.inner(), b",", next.inner()], self.blocks + next.blocks);
        joined.has_thinking |= next.has_thinking;
        joined
    }

    /// The same message without reasoning; none if nothing is left.
    pub(crate) fn without_thinking(self) -> Option<Self> {
        if !self.has_thinking {
            return Some(self);
        }
        let Ok(Content { content }) = serde_json::from_slice(&self.json) else { return Some(self) };
        Self::new(self.role, content.iter().filter(|block| !block.is_thinking()))
    }

    /// The same message with a note in the place of the results of some calls.
    pub(crate) fn with_cleared(self, calls: &HashSet<String>, note: &str) -> Self {
        let is_among = |block: &RawBlock| {
            let value = block.to_value();
            value["type"] == "tool_result"
                && value["tool_use_id"].as_str().is_some_and(|id| calls.contains(id))
        };
        if self.role == Role::Assistant {
            return self;
        }
        self.with(|block| is_among(block).then(|| cleared(block, note)))
    }

    /// The same message with other blocks in the place of some.
    pub(crate) fn with(self, in_place: impl Fn(&RawBlock) -> Option<RawBlock>) -> Self {
        let Ok(Content { content }) = serde_json::from_slice(&self.json) else { return self };
        let others: Vec<Option<RawBlock>> = content.iter().map(in_place).collect();
        if others.iter().all(Option::is_none) {
            return self;
        }
        let blocks: Vec<RawBlock> =
            content.into_iter().zip(others).map(|(block, other)| other.unwrap_or(block)).collect();
        Self::new(self.role, &blocks).unwrap_or(self)
    }

    fn spliced(&self, parts: &[&[u8]], blocks: usize) -> Self {
        let mut json = Vec::with_capacity(self.json.len() + 256);
        json.extend_from_slice(self.role.opening().as_bytes());
        parts.iter().for_each(|part| json.extend_from_slice(part));
        json.extend_from_slice(CLOSING.as_bytes());
        Self { json: json.into(), blocks, ..self.clone() }
    }
}

/// A result with a note in the place of its content.
pub(crate) fn cleared(result: &RawBlock, note: &str) -> RawBlock {
    let mut value = result.to_value();
    value["content"] = note.into();
    RawBlock::from_value(&value)
}

/// A message with a cache breakpoint on its last block. The provider does not count the mark as content.
pub(crate) fn with_breakpoint(json: &Bytes) -> Bytes {
    let end = json.len().saturating_sub(CLOSING.len() + 1);
    let mut marked = Vec::with_capacity(json.len() + BREAKPOINT.len());
    marked.extend_from_slice(&json[..end]);
    marked.extend_from_slice(BREAKPOINT.as_bytes());
    marked.extend_from_slice(&json[end..]);
    marked.into()
}
