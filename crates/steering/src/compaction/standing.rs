//! What of a log is still sent.

use tiller_protocol::entry::{Body, Entry};

use super::Answers;

/// The messages that the next request is made of, in their order. Stretches of the log that the conversation went back
/// behind must not be given to it.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    messages: Vec<Entry>,
    /// What is kept while the rest is folded.
    held: Vec<Entry>,
    answers: Answers,
}

impl Standing {
    /// Takes in one more entry.
    pub fn push(&mut self, entry: Entry) {
        self.answers.push(&entry);
        match &entry.body {
            Body::Orphaned(orphaned) => self.messages.retain(|message| !orphaned.ids.contains(&message.id)),
            Body::Compacted(compacted) => {
                let first = compacted.kept.as_ref().map(|kept| kept.first);
                let kept = self.messages.iter().position(|message| Some(message.id) == first);
                self.held = kept.map(|at| self.messages.split_off(at)).unwrap_or_default();
                self.messages = vec![entry];
            }
            Body::Epoch(_) => self.messages.append(&mut self.held),
            body if body.is_message() => self.messages.push(entry),
            _ => {}
        }
    }

    /// The messages.
    #[must_use]
    pub fn into_messages(self) -> Vec<Entry> {
        self.messages
    }

    /// The messages, and which of them begin an answer.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Entry>, Answers) {
        (self.messages, self.answers)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::story::Story;
    use super::*;

    fn standing(story: &Story) -> Vec<u64> {
        let mut standing = Standing::default();
        story.entries.iter().for_each(|entry| standing.push(entry.clone()));
        standing.into_messages().iter().map(|entry| entry.seq).collect()
    }

    #[test]
    fn what_is_kept_stands_behind_what_takes_the_place_of_the_rest() {
        let story = Story::default().prompt("1").answer("a", "2").prompt("3").fold(9).hidden("summary");
        assert_eq!(standing(&story), [4, 5]);
        let complete = story.epoch();
        assert_eq!(standing(&complete), [4, 5, 3]);
        // The same message may be kept once more.
        let again = complete.fold_keeping(3, 9).hidden("another").epoch();
        assert_eq!(standing(&again), [7, 8, 3]);
        assert_eq!(standing(&again.fold(0)), [10]);
    }

    #[test]
    fn what_became_void_is_not_sent() {
        let story = Story::default().prompt("1").call("a", "1", "Read", &json!({})).orphan_last().prompt("4");
        assert_eq!(standing(&story), [1, 4]);
    }
}
