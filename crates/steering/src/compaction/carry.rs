//! The user's own words, carried over as they are: a summary may get them wrong.

use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Attachment, Body, Entry};

use super::estimate::text_tokens;

/// Tokens that the user's words may take.
pub const CARRIED_TOKENS: u64 = 8_000;
/// The part of the room that a long first message leaves to the others, if they need it.
const FOR_OTHERS: u64 = 4;
/// What is left of a message has at least so many tokens, or the message is left out.
const WORTH_IT: u64 = 50;

/// The user's words, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Each message, whole unless there was no room for that: then it has lost its middle, and says so.
    pub messages: Vec<String>,
    /// Messages that have lost their middle.
    pub shortened: usize,
    /// Messages that found no room.
    pub left_out: usize,
}

/// Chooses what is carried over: the first message, which says what it is all about, then the newest. Messages are
/// whole; only one for which too little room is left is shortened.
#[must_use]
pub fn carry<'a>(entries: impl IntoIterator<Item = &'a Entry>, budget: u64) -> Carried {
    let said: Vec<String> =
        entries.into_iter().filter_map(words).filter(|text| !text.trim().is_empty()).collect();
    let Some((first, others)) = said.split_first() else { return Carried::default() };
    let needed: u64 = others.iter().map(|text| text_tokens(text)).sum();
    let first = Fitted::of(first, budget - needed.min(budget / FOR_OTHERS));
    let mut room = budget - first.as_ref().map_or(0, |first| text_tokens(&first.text));
    let mut newest = Vec::new();
    for text in others.iter().rev() {
        let Some(fitted) = Fitted::of(text, room) else { break };
        room -= text_tokens(&fitted.text);
        let is_whole = fitted.is_whole;
        newest.push(fitted);
        if !is_whole {
            break;
        }
    }
    let kept: Vec<Fitted> = first.into_iter().chain(newest.into_iter().rev()).collect();
    Carried {
        shortened: kept.iter().filter(|fitted| !fitted.is_whole).count(),
        left_out: said.len() - kept.len(),
        messages: kept.into_iter().map(|fitted| fitted.text).collect(),
    }
}

/// A message in the room that there is for it.
struct Fitted {
    text: String,
    is_whole: bool,
}

impl Fitted {
    /// All of a message, or a part that is worth having.
    fn of(text: &str, room: u64) -> Option<Self> {
        let is_whole = text_tokens(text) <= room;
        (is_whole || room >= WORTH_IT).then(|| Self { text: shortened(text, room), is_whole })
    }
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
            .prompt(&"x".repeat(400))
            .queued("in brass")
            .prompt("and quick");
        assert_eq!(carried(&story, 1_000).messages.len(), 4);
        let tight = carried(&story, 70);
        assert_eq!((&*tight.messages[0], tight.shortened, tight.left_out), ("Build a pump.", 1, 0));
        assert_eq!(tight.messages[2..], ["in brass", "and quick"]);
        assert!(tight.messages[1].contains("characters left out"), "{tight:?}");
        let tighter = carried(&story, 50);
        assert_eq!(tighter.messages, ["Build a pump.", "in brass", "and quick"]);
        assert_eq!((tighter.shortened, tighter.left_out), (0, 1), "a snippet is not worth having");
        let many = ["one one ", "two two ", "3 3 3 3 ", "4 4 4 4 ", "5 5 5 5 ", "6 6 6 6 "];
        let story = many.iter().fold(Story::default(), |story, text| story.prompt(text));
        let kept = ["one one ", "3 3 3 3 ", "4 4 4 4 ", "5 5 5 5 ", "6 6 6 6 "].map(str::to_owned).to_vec();
        assert_eq!(carried(&story, 10), Carried { messages: kept, left_out: 1, ..Carried::default() });
        assert_eq!(carried(&Story::default(), 10), Carried::default());
    }

    // RECALL-01
    #[test]
    fn a_message_is_cut_only_where_there_is_no_room() {
        let long = |words: usize| {
            format!("{}RULE: never rename parse_date.{}", "a".repeat(words), "z".repeat(words))
        };
        let story = Story::default().prompt(&long(6_000)).prompt("yes").prompt(&long(5_000));
        let all = carried(&story, CARRIED_TOKENS);
        assert_eq!(all.messages, [long(6_000), "yes".to_owned(), long(5_000)]);
        assert_eq!((all.shortened, all.left_out), (0, 0));

        // A flood of words at the beginning does not drown what was said last.
        let flooded = carried(&Story::default().prompt(&long(400_000)).prompt(&long(3_000)), CARRIED_TOKENS);
        assert_eq!((flooded.shortened, &flooded.messages[1]), (1, &long(3_000)));
        assert!(text_tokens(&flooded.messages[0]) > CARRIED_TOKENS * 3 / 4 - 10, "it has what is left");
        let long_end = carried(&Story::default().prompt(&long(3_000)).prompt(&long(400_000)), CARRIED_TOKENS);
        assert_eq!((long_end.shortened, &long_end.messages[0]), (1, &long(3_000)));
        assert!(text_tokens(&long_end.messages[1]) > CARRIED_TOKENS * 3 / 4);
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
            let cut = carried.messages.iter().filter(|message| message.contains("characters left out")).count();
            prop_assert_eq!(cut, carried.shortened);
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
