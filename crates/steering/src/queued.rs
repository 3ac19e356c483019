//! What the user sent while the agent was working, as the model sees it.

use tiller_protocol::block::RawBlock;

use crate::reminder::{neutralise, wrap};

const INTRODUCTION: &str = "The user sent this while you were working. Take it into account from now on:";

/// The blocks for one queued message: its text in a reminder, images and documents as they are.
#[must_use]
pub fn render(content: &[RawBlock]) -> Vec<RawBlock> {
    let block = |block: &RawBlock| match block.as_text() {
        Some(text) => RawBlock::text(&wrap(&format!("{INTRODUCTION}\n{}", neutralise(&text).text))),
        None => block.clone(),
    };
    content.iter().map(block).collect()
}
