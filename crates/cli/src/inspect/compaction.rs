//! What became of a conversation that was folded.

use serde::Serialize;
use tiller_protocol::compaction::{Compacted, Trigger};
use tiller_protocol::id::EntryId;

use super::excerpt::Excerpt;
use super::figures::counted;
use super::report::Mark;

/// One compaction: what was folded, kept and brought back.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compaction {
    #[serde(flatten)]
    pub(super) mark: Mark,
    #[serde(skip)]
    pub(super) id: EntryId,
    pub(super) trigger: Trigger,
    pub(super) tokens_before: u64,
    pub(super) tokens_after: u64,
    pub(super) folded_messages: u64,
    pub(super) kept_messages: u64,
    pub(super) carried_prompts: u64,
    pub(super) shortened_prompts: u64,
    pub(super) left_out_prompts: u64,
    pub(super) restored: Vec<String>,
    pub(super) instructions: Option<String>,
    pub(super) summary_requests: u64,
    pub(super) summary: Excerpt,
    /// It was taken back.
    pub(super) undone: bool,
}

impl Compaction {
    pub(super) fn of(compacted: &Compacted, id: EntryId, mark: Mark) -> Self {
        Self {
            mark,
            id,
            trigger: compacted.trigger,
            tokens_before: compacted.pre_tokens,
            tokens_after: compacted.post_tokens,
            folded_messages: compacted.folded_messages,
            kept_messages: compacted.kept.as_ref().map_or(0, |kept| kept.messages),
            carried_prompts: compacted.carried,
            shortened_prompts: compacted.shortened,
            left_out_prompts: compacted.left_out,
            restored: compacted.restored.clone(),
            instructions: compacted.instructions.clone(),
            summary_requests: compacted.usage.requests,
            summary: Excerpt::of(&compacted.summary),
            undone: false,
        }
    }
}

/// The same in a line.
pub(super) fn told(compacted: &Compacted) -> String {
    let messages = counted(compacted.folded_messages, "message", "messages");
    let prompts = counted(compacted.carried, "prompt", "prompts");
    let (shortened, left_out) = (compacted.shortened, compacted.left_out);
    let kept = compacted.kept.as_ref().map_or(0, |kept| kept.messages);
    let (by, before, after) = (compacted.trigger.word(), compacted.pre_tokens, compacted.post_tokens);
    let restored =
        if compacted.restored.is_empty() { "nothing".to_owned() } else { compacted.restored.join(", ") };
    format!(
        "compacted ({by}): about {before} tokens became {after}; {messages} folded, {kept} kept, {prompts} carried over \
         ({shortened} of them shortened), {left_out} left out, brought back: {restored}"
    )
}
