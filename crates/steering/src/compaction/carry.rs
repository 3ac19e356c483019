//! The user's own words, carried over as they are: a summary may get them wrong.

use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Attachment, Body, Entry};

use super::estimate::text_tokens;

/// Tokens that the user's words may take.
pub const CARRIED_TOKENS: u64 = 8_000;
/// The part of the room that one message may take.
const SHARE: u64 = 4;

/// The user's words, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Each message. One that is long has lost its middle, and says so.
    pub messages: Vec<String>,
    /// Messages that found no room.
    pub left_out: usize,
}

/// Chooses what is carried over: the first message, which says what it is all about, then the newest.
#[must_use]
pub fn carry<'a>(entries: impl IntoIterator<Item = &'a Entry>, budget: u64) -> Carried {
    let said: Vec<String> =
        entries.into_iter().filter_map(words).filter(|text| !text.trim().is_empty()).collect();
    let fitted: Vec<String> = said.iter().map(|text| shortened(text, budget / SHARE)).collect();
    let mut room = budget;
    let mut kept = vec![false; fitted.len()];
    let by_weight = (0..fitted.len().min(1)).chain((1..fitted.len()).rev());
    for at in by_weight {
        let tokens = text_tokens(&fitted[at]);
        if tokens > room {
            break;
        }
        room -= tokens;
        kept[at] = true;
    }
    let left_out = kept.iter().filter(|kept| !**kept).count();
    let messages = fitted.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(text, _)| text).collect();
    Carried { messages, left_out }
}

/// What the user said with an entry.
fn words(entry: &Entry) -> Option<String> {
    match &entry.body {
        Body::User(message) if !message.is_hidden() => {
            Some(joined(message.content.iter().map(RawBlock::to_value)))
        }
        Body::Attachment(attachment) if attachment.queued_id().is_some() => Some(queued(attachment)),
        _ => None,
    }
}

fn queued(attachment: &Attachment) -> String {
    match &attachment.attachment["prompt"] {
        Value::Array(blocks) => joined(blocks.iter().cloned()),
        text => text.as_str().unwrap_or_default().to_owned(),
    }
}

fn joined(blocks: impl Iterator<Item = Value>) -> String {
    let said = blocks.map(|block| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some(other) => format!("[{other}]"),
        None => String::new(),
    });
    said.collect::<Vec<_>>().join("\n")
}

/// At most so many tokens of a text: its beginning and its end.
pub(super) fn shortened(text: &str, tokens: u64) -> String {
    if text_tokens(text) <= tokens {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let note = |left_out: usize| format!("\n[… {left_out} characters left out …]\n");
    // The note is a part of what may be taken.
    let room = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    let kept = room.saturating_sub(note(characters.len()).chars().count());
    if kept == 0 {
        return characters[..room.min(characters.len())].iter().collect();
    }
    let (beginning, end) = (kept.div_ceil(2), kept / 2);
    let (head, tail) = (&characters[..beginning], &characters[characters.len() - end..]);
    let middle = note(characters.len() - kept);
    head.iter().copied().chain(middle.chars()).chain(tail.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::story::Story;
    use super::*;

    fn carried(story: &Story, budget: u64) -> Carried {
        carry(&story.entries, budget)
    }

    #[test]
    fn the_first_and_the_newest_words_are_carried_over() {
        let story = Story::default()
            .prompt("Build a pump.")
            .answer("a", "not the user")
            .hidden("not the user either")
            .prompt(&"x".repeat(200))
            .queued("in brass")
            .prompt("and quick");
        assert_eq!(carried(&story, 1_000).messages.len(), 4);
        let tight = carried(&story, 50);
        assert_eq!(tight.messages[0], "Build a pump.");
        assert_eq!(tight.messages[2..], ["in brass", "and quick"]);
        assert!(tight.messages[1].contains("characters left out"), "{tight:?}");
        let many = ["one one ", "two two ", "3 3 3 3 ", "4 4 4 4 ", "5 5 5 5 ", "6 6 6 6 "];
        let story = many.iter().fold(Story::default(), |story, text| story.prompt(text));
        let kept = ["one one ", "3 3 3 3 ", "4 4 4 4 ", "5 5 5 5 ", "6 6 6 6 "].map(str::to_owned).to_vec();
        assert_eq!(carried(&story, 10), Carried { messages: kept, left_out: 1 });
        assert_eq!(carried(&Story::default(), 10), Carried::default());
    }

    proptest! {
        #[test]
        fn the_budget_is_kept_and_the_order_too(
            texts in prop::collection::vec("[a-zé]{1,200}", 0..12), budget in 0_u64..400,
        ) {
            let story = texts.iter().fold(Story::default(), |story, text| story.prompt(text));
            let carried = carried(&story, budget);
            let tokens: u64 = carried.messages.iter().map(|text| text_tokens(text)).sum();
            prop_assert!(tokens <= budget);
            prop_assert_eq!(carried.messages.len() + carried.left_out, texts.len());
            let mut rest = texts.iter();
            for message in &carried.messages {
                let beginning: String = message.chars().take(3).take_while(|c| c.is_alphabetic()).collect();
                prop_assert!(rest.any(|text| text.starts_with(&beginning)));
            }
        }

        #[test]
        fn shortening_never_lengthens(text in ".{0,300}", tokens in 0_u64..60) {
            let short = shortened(&text, tokens);
            prop_assert!(text_tokens(&short) <= tokens.max(text_tokens(&text).min(tokens)));
        }
    }
}
