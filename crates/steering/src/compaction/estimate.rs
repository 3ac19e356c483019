//! How many tokens a conversation takes: what the provider last counted, and an estimate of what came after.

use std::collections::HashSet;

use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::compaction::Cleared;
use tiller_protocol::entry::{Body, Entry, Epoch};
use tiller_protocol::id::{CallId, EntryId, MessageId};

use super::light::replacement;

/// Tokens that an image or document counts for.
pub const MEDIA_TOKENS: u64 = 1_600;
/// Characters per token, as a rule of thumb.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// An estimate of the tokens of a text.
#[must_use]
pub fn text_tokens(text: &str) -> u64 {
    Size::of_text(text).tokens()
}

/// An estimate of the tokens that an entry takes in a request.
#[must_use]
pub fn entry_tokens(entry: &Entry) -> u64 {
    size_of(entry).tokens()
}

fn size_of(entry: &Entry) -> Size {
    match &entry.body {
        Body::User(message) => Size::of_blocks(&message.content),
        Body::Attachment(attachment) => Size::of_blocks(&attachment.rendered),
        Body::Result(result) => Size::of_blocks(&result.content),
        Body::Assistant(block) if block.api_error.is_none() => Size::of_blocks([&block.block]),
        _ => Size::default(),
    }
}

/// What something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    characters: u64,
    media: u64,
}

impl Size {
    fn of_text(text: &str) -> Self {
        Self { characters: text.chars().count() as u64, media: 0 }
    }

    pub(super) fn of_blocks<'a>(blocks: impl IntoIterator<Item = &'a RawBlock>) -> Self {
        blocks.into_iter().map(|block| Self::of_value(&block.to_value())).fold(Self::default(), Self::plus)
    }

    fn of_value(block: &Value) -> Self {
        match block["type"].as_str() {
            Some("text") => Self::of_text(block["text"].as_str().unwrap_or_default()),
            Some("image" | "document") => Self { characters: 0, media: 1 },
            _ => Self::of_text(&block.to_string()),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self { characters: self.characters + other.characters, media: self.media + other.media }
    }

    pub(super) fn tokens(self) -> u64 {
        self.characters.div_ceil(CHARACTERS_PER_TOKEN) + self.media * MEDIA_TOKENS
    }
}

/// How full the context is: a fold of entries that stays small.
#[derive(Clone, Debug, Default)]
pub struct Gauge {
    /// What the provider counted with the last answer.
    reported: Option<u64>,
    head: Size,
    /// What was cleared of it since it was counted.
    cleared: u64,
    /// What came after, or all of it if nothing was counted yet.
    since: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    entry: EntryId,
    answer: Option<MessageId>,
    /// The call whose result it is.
    call: Option<CallId>,
    size: Size,
}

impl Piece {
    fn of(entry: &Entry) -> Self {
        Self { entry: entry.id, answer: None, call: None, size: size_of(entry) }
    }
}

impl Gauge {
    /// Folds one more entry in.
    pub fn push(&mut self, entry: &Entry) {
        match &entry.body {
            Body::User(_) | Body::Attachment(_) => self.since.push(Piece::of(entry)),
            Body::Result(result) => {
                self.since.push(Piece { call: Some(result.call.clone()), ..Piece::of(entry) });
            }
            Body::Assistant(block) if block.api_error.is_none() => {
                self.since.push(Piece { answer: Some(block.message_id.clone()), ..Piece::of(entry) });
            }
            Body::Response(response) if !response.side && response.agent.is_none() => {
                self.counted(&response.message_id, response.usage.total());
            }
            Body::Orphaned(orphaned) => self.since.retain(|piece| !orphaned.ids.contains(&piece.entry)),
            Body::Epoch(epoch) => self.head = head(epoch),
            Body::Cleared(cleared) => self.clear(cleared),
            Body::Compacted(compacted) => {
                self.cut();
                let kept = compacted.kept.as_ref().map_or(0, |kept| kept.tokens);
                let size = Size { characters: kept * CHARACTERS_PER_TOKEN, media: 0 };
                self.since.push(Piece { size, ..Piece::of(entry) });
            }
            _ => {}
        }
    }

    /// Of results that were not counted yet the note is left that stands in their place, so that it does not matter
    /// whether somebody who reads a log has put it there before. What is gained with the others goes off what was counted.
    fn clear(&mut self, cleared: &Cleared) {
        let calls: HashSet<&CallId> = cleared.calls.iter().collect();
        let mut counted = calls.len() as u64;
        for piece in &mut self.since {
            if piece.call.as_ref().is_some_and(|call| calls.contains(call)) {
                piece.size = Size::of_text(replacement());
                counted = counted.saturating_sub(1);
            }
        }
        self.cleared += cleared.tokens * counted / (calls.len() as u64).max(1);
    }

    /// The provider has counted what led to an answer, and the answer. Results of calls that were quicker than the end
    /// of the answer are not among it.
    fn counted(&mut self, answer: &MessageId, tokens: u64) {
        if tokens == 0 {
            return;
        }
        self.reported = Some(tokens);
        self.cleared = 0;
        let begins = self.since.iter().position(|piece| piece.answer.as_ref() == Some(answer));
        self.since.drain(..begins.unwrap_or(self.since.len()));
        self.since.retain(|piece| piece.answer.is_none());
    }

    /// What was said so far is no longer sent.
    fn cut(&mut self) {
        self.reported = None;
        self.cleared = 0;
        self.since.clear();
    }

    /// An estimate of the tokens of the next request.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let since = self.since.iter().map(|piece| piece.size).fold(Size::default(), Size::plus);
        let tokens = match self.reported {
            Some(reported) => reported + since.tokens(),
            None => self.head.plus(since).tokens(),
        };
        tokens.saturating_sub(self.cleared)
    }
}

/// An estimate of the tokens that the head of a request takes.
#[must_use]
pub fn head_tokens(epoch: &Epoch) -> u64 {
    head(epoch).tokens()
}

fn head(epoch: &Epoch) -> Size {
    let texts = [epoch.system.get(), epoch.tools.get(), epoch.user_context.as_deref().unwrap_or_default()];
    texts.into_iter().map(Size::of_text).fold(Size::default(), Size::plus)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::story::Story;
    use super::*;

    fn gauge(story: &Story) -> u64 {
        let mut gauge = Gauge::default();
        story.entries.iter().for_each(|entry| gauge.push(entry));
        gauge.tokens()
    }

    #[test]
    fn what_was_not_counted_is_estimated() {
        let story = Story::default().prompt("eight ch").image();
        assert_eq!(gauge(&story), 2 + MEDIA_TOKENS);
        let story = story.answer("a", "hello").counted("a", 5_000);
        assert_eq!(gauge(&story), 5_000);
        assert_eq!(gauge(&story.clone().prompt("four")), 5_001);
        assert_eq!(gauge(&story.answer("b", "four")), 5_001);
    }

    #[test]
    fn a_result_that_came_before_the_end_of_the_answer_is_not_forgotten() {
        let early = Story::default()
            .prompt("go")
            .call("a", "1", "Read", &json!({}))
            .result("1", "Read", &"x".repeat(400))
            .counted("a", 1_000);
        assert_eq!(gauge(&early), 1_100);
    }

    #[test]
    fn after_a_cut_only_what_follows_counts() {
        let story = Story::default().prompt("go").answer("a", "x").counted("a", 9_000);
        assert_eq!(gauge(&story.clone().fold(0)), 0);
        assert_eq!(gauge(&story.clone().fold(70).prompt("four")), 71);
        assert_eq!(gauge(&story.clone().clear(&["1"], 4_000).prompt("four")), 5_001);
        assert_eq!(gauge(&story.clear(&["1"], 4_000).answer("b", "x").counted("b", 5_100)), 5_100);
    }

    // Some providers count nothing. Whoever reads a log may have put the note in the place of the result already.
    #[test]
    fn what_nobody_has_counted_is_cleared_once() {
        let cleared = |content: &str| {
            let story = Story::default().prompt("four").call("a", "1", "Read", &json!({}));
            let story = story.result("1", "Read", content).result("2", "Read", &"x".repeat(400));
            gauge(&story.counted("a", 0).clear(&["1"], 900))
        };
        let note = text_tokens(replacement());
        assert_eq!(cleared(&"x".repeat(4_000)), cleared(replacement()));
        assert!((100 + note..200 + note).contains(&cleared(replacement())), "{}", cleared(replacement()));
        // Of two results that were cleared, one was counted before.
        let story = Story::default().prompt("go").call("a", "1", "Read", &json!({})).counted("a", 9_000);
        let story = story.result("2", "Read", &"x".repeat(4_000)).clear(&["1", "2"], 2_000);
        assert_eq!(gauge(&story), 8_000 + note);
    }

    proptest! {
        #[test]
        fn more_text_never_takes_less(texts in prop::collection::vec(".{0,40}", 0..8)) {
            let mut story = Story::default();
            let mut before = 0;
            for text in texts {
                story = story.prompt(&text);
                let now = gauge(&story);
                prop_assert!(now >= before);
                before = now;
            }
        }
    }
}
