//! What is to be summarised, as text: what was said, called and answered, without what Tiller itself has added.

use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Attachment, Body, CallResult, Entry};
use tiller_protocol::id::EntryId;

use super::carry::shortened;
use super::estimate::text_tokens;
use crate::reminder::extract;

/// Tokens of a result that a summary is made from.
const RESULT_TOKENS: u64 = 2_000;
/// Tokens of the input of a call.
const INPUT_TOKENS: u64 = 500;

/// What of a call and of its result is told, in tokens.
#[derive(Clone, Copy)]
struct Bounds {
    input: u64,
    result: u64,
}

const SHORT: Bounds = Bounds { input: INPUT_TOKENS, result: RESULT_TOKENS };
const WHOLE: Bounds = Bounds { input: u64::MAX, result: u64::MAX };

/// The conversation in parts, each under a heading that says whose it is. Reasoning and reminders are not among it.
#[must_use]
pub fn transcript<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    told_of(entries, SHORT)
}

/// The same without leaving anything out of calls and results.
#[must_use]
pub fn in_full<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    told_of(entries, WHOLE)
}

fn told_of<'a>(entries: impl IntoIterator<Item = &'a Entry>, bounds: Bounds) -> Vec<String> {
    let mut parts: Vec<(&EntryId, String)> = Vec::new();
    for entry in entries {
        if let Body::Orphaned(orphaned) = &entry.body {
            parts.retain(|(entry, _)| !orphaned.ids.contains(entry));
        }
        parts.extend(told(entry, bounds).map(|part| (&entry.id, part.to_string())));
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// What was said with one entry, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whose it is.
    pub heading: String,
    /// What it says.
    pub text: String,
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}]\n{}", self.heading, self.text)
    }
}

impl Told {
    /// All that an entry says, if it is a part of what was said, called and answered.
    #[must_use]
    pub fn of(entry: &Entry) -> Option<Self> {
        told(entry, WHOLE)
    }
}

fn told(entry: &Entry, bounds: Bounds) -> Option<Told> {
    match &entry.body {
        Body::User(message) if !message.is_hidden() => said("USER", &message.content),
        Body::Assistant(block) if block.api_error.is_none() => answered(&block.block, bounds),
        Body::Result(result) => Some(resulted(result, bounds)),
        Body::Attachment(attachment) => attached(attachment),
        _ => None,
    }
}

fn part(heading: &str, text: &str) -> Told {
    Told { heading: heading.to_owned(), text: text.to_owned() }
}

fn said(heading: &str, blocks: &[RawBlock]) -> Option<Told> {
    let text = words(blocks);
    (!text.trim().is_empty()).then(|| part(heading, &text))
}

fn words(blocks: &[RawBlock]) -> String {
    let shown = blocks.iter().filter_map(|block| match block.as_text() {
        Some(text) => extract(&text).is_none().then_some(text),
        None => Some(format!("[{}]", block.kind())),
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn answered(block: &RawBlock, bounds: Bounds) -> Option<Told> {
    if let Some(call) = block.as_tool_use() {
        let input = shortened(&call.input.to_string(), bounds.input);
        return Some(part(&format!("CALL OF {}: {}", call.name, call.id), &input));
    }
    let text = block.as_text().filter(|text| !text.trim().is_empty())?;
    Some(part("ASSISTANT", &text))
}

fn resulted(result: &CallResult, bounds: Bounds) -> Told {
    let failed = if result.is_error { ", failed" } else { "" };
    let heading = format!("TOOL RESULT: {}{failed}", result.call);
    part(&heading, &shortened(&words(&result.content), bounds.result))
}

/// What the user sent meanwhile is the user's; a mentioned file is named, since it can be read again.
fn attached(attachment: &Attachment) -> Option<Told> {
    let content = &attachment.attachment;
    if attachment.queued_id().is_some() {
        let blocks: Vec<RawBlock> = match &content["prompt"] {
            Value::Array(blocks) => blocks.iter().map(RawBlock::from_value).collect(),
            text => text.as_str().map(RawBlock::text).into_iter().collect(),
        };
        return said("USER", &blocks);
    }
    let file = content["filename"].as_str().filter(|_| attachment.kind() == "file")?;
    Some(part("THE USER MENTIONED", file))
}

/// Parts put together to texts that take at most so many tokens each. A part that is larger is divided.
#[must_use]
pub fn chunks(parts: &[String], room: u64) -> Vec<String> {
    const BETWEEN: &str = "\n\n";
    let most = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX).max(1);
    let mut chunks: Vec<String> = Vec::new();
    let mut used = 0;
    for piece in parts.iter().flat_map(|part| pieces(part, most)) {
        let length = piece.chars().count();
        match chunks.last_mut().filter(|_| used + BETWEEN.len() + length <= most) {
            Some(chunk) => {
                chunk.push_str(BETWEEN);
                chunk.push_str(piece);
                used += BETWEEN.len() + length;
            }
            None => {
                chunks.push(piece.to_owned());
                used = length;
            }
        }
    }
    debug_assert!(room == 0 || chunks.iter().all(|chunk| text_tokens(chunk) <= room));
    chunks
}

/// A text in pieces of at most so many characters.
fn pieces(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(most).map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::story::Story;
    use super::*;

    #[test]
    fn what_was_said_called_and_answered_is_told_and_reminders_are_not() {
        let story = Story::default()
            .prompt("mend the pump")
            .attach(json!({"type": "todo_reminder"}), "<system-reminder>\nlist\n</system-reminder>")
            .attach(json!({"type": "file", "filename": "/p/a.rs"}), "1→x")
            .thinking("a", "hm")
            .call("a", "1", "Bash", &json!({"command": "make"}))
            .result("1", "Bash", &"y".repeat(20_000))
            .queued("in brass")
            .hidden("go on where you were cut off")
            .answer("b", "void")
            .orphan_last()
            .answer("c", "done");
        let parts = transcript(&story.entries);
        let headings: Vec<&str> = parts.iter().map(|part| part.lines().next().unwrap()).collect();
        assert_eq!(
            headings,
            [
                "[USER]",
                "[THE USER MENTIONED]",
                "[CALL OF Bash: 1]",
                "[TOOL RESULT: 1]",
                "[USER]",
                "[ASSISTANT]"
            ]
        );
        assert!(parts[3].contains("characters left out") && text_tokens(&parts[3]) < 2_100);
        assert_eq!(parts[4], "[USER]\nin brass");
    }

    #[test]
    fn parts_share_a_chunk_while_there_is_room() {
        let parts = ["a".repeat(8), "b".repeat(8), "c".repeat(30)];
        let divided = chunks(&parts, 5);
        assert_eq!(divided[0], "aaaaaaaa\n\nbbbbbbbb");
        assert_eq!(divided[1..], ["c".repeat(20), "c".repeat(10)]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_chunk_is_too_large(
            parts in prop::collection::vec("[a-zé]{0,80}", 0..12), room in 1_u64..40,
        ) {
            let divided = chunks(&parts, room);
            for chunk in &divided {
                prop_assert!(!chunk.is_empty() && text_tokens(chunk) <= room);
            }
            let letters = |texts: &[String]| texts.concat().replace('\n', "");
            prop_assert_eq!(letters(&divided), letters(&parts));
        }
    }
}
