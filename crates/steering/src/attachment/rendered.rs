//! The forms in which the model sees an attachment.

use serde_json::Value;
use tiller_protocol::block::RawBlock;

use super::text::{Filled, fill};
use crate::disarm::disarm;
use crate::reminder::wrap;

const CALLED: &str = include_str!("called.md");
const ANSWERED: &str = include_str!("answered.md");

/// What the model sees of an attachment, and how many forged reminder tags were made harmless in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The blocks, each text a reminder of its own.
    pub blocks: Vec<RawBlock>,
    /// Forged tags.
    pub forged: usize,
}

impl Rendered {
    /// A single reminder; an empty text is none.
    pub(super) fn reminder(text: &Filled) -> Self {
        let said = !text.text.trim().is_empty();
        let blocks = said.then(|| RawBlock::text(&wrap(&text.text))).into_iter().collect();
        Self { blocks, forged: text.forged }
    }

    /// As if a tool had been used: what it was given, and what it gave. Images and documents stay what they are.
    pub(super) fn pair(tool: &str, input: &Value, result: &[RawBlock]) -> Self {
        let called = fill(CALLED, &[("tool", tool), ("input", &input.to_string())]);
        let mut rendered = Self::reminder(&called);
        for block in result {
            rendered = match block.as_text() {
                Some(text) => {
                    rendered.and(Self::reminder(&fill(ANSWERED, &[("tool", tool), ("result", &text)])))
                }
                None => rendered.with(block),
            };
        }
        rendered
    }

    /// Both, one after the other.
    pub(super) fn and(mut self, next: Self) -> Self {
        self.blocks.extend(next.blocks);
        self.forged += next.forged;
        self
    }

    /// A block that is no text; what of it is text is made harmless.
    pub(super) fn with(mut self, block: &RawBlock) -> Self {
        let (block, forged) = disarm(block);
        self.blocks.push(block);
        self.forged += forged;
        self
    }
}
