//! Finding what was folded away.

use jiff::Timestamp;
use tiller_protocol::entry::Entry;
use tiller_protocol::id::EntryId;

use super::transcript::Told;

/// Characters of a passage before what was found.
const BEFORE: usize = 200;
/// Characters from there on.
const FROM_THERE: usize = 600;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Question {
    phrase: String,
    words: Vec<String>,
}

/// Something that was said, called or answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The entry.
    pub id: EntryId,
    /// Its number.
    pub seq: u64,
    /// When it was.
    pub at: Timestamp,
    /// Whose it is.
    pub heading: String,
    /// What it says around what was found.
    pub text: String,
    /// How much of the question it has.
    pub weight: usize,
}

impl Question {
    /// Looks for these words, in whatever case.
    #[must_use]
    pub fn new(query: &str) -> Self {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        Self { phrase: words.join(" "), words }
    }

    /// What of an entry answers it, if anything does.
    #[must_use]
    pub fn look(&self, entry: &Entry) -> Option<Passage> {
        let Told { heading, text } = Told::of(entry)?;
        // Lowering may change lengths, so places are counted in characters of the lowered text.
        let lowered = text.to_lowercase();
        let found = self.words.iter().filter_map(|word| lowered.find(word.as_str()));
        let (weight, first) = found.fold((0, None::<usize>), |(weight, first), at| {
            (weight + 1, Some(first.map_or(at, |first| first.min(at))))
        });
        let phrase = lowered.find(&self.phrase).filter(|_| self.words.len() > 1);
        let at = phrase.or(first)?;
        let place = lowered[..at].chars().count();
        Some(Passage {
            id: entry.id,
            seq: entry.seq,
            at: entry.at,
            heading,
            text: around(&text, place),
            weight: weight + usize::from(phrase.is_some()),
        })
    }
}

fn around(text: &str, place: usize) -> String {
    let start = place.saturating_sub(BEFORE);
    let mut rest = text.chars().skip(start);
    let shown: String = rest.by_ref().take(place - start + FROM_THERE).collect();
    let left = if start > 0 { "…" } else { "" };
    let right = if rest.next().is_some() { "…" } else { "" };
    format!("{left}{shown}{right}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::story::Story;
    use super::*;

    fn found(story: &Story, query: &str) -> Vec<(u64, usize)> {
        let question = Question::new(query);
        let passages = story.entries.iter().filter_map(|entry| question.look(entry));
        passages.map(|passage| (passage.seq, passage.weight)).collect()
    }

    // RECALL-02
    #[test]
    fn words_are_found_in_what_was_said_called_and_answered() {
        let story = Story::default()
            .prompt("The port is 4711.")
            .hidden("port of ours")
            .call("a", "1", "Bash", &json!({"command": "open PORT"}))
            .result("1", "Bash", "the port is closed");
        assert_eq!(found(&story, "Port"), [(1, 1), (3, 1), (4, 1)]);
        assert_eq!(found(&story, "port is"), [(1, 3), (3, 1), (4, 3)]);
        assert_eq!(found(&story, "starboard"), []);
        assert_eq!(found(&story, " "), []);
    }

    #[test]
    fn a_passage_shows_what_is_around() {
        let text = format!("{}Needle{}", "é".repeat(300), "x".repeat(900));
        let passage = Question::new("needle").look(&Story::default().prompt(&text).entries[0]).unwrap();
        assert!(passage.text.starts_with("…é") && passage.text.ends_with("x…"), "{}", passage.text);
        assert_eq!(passage.text.chars().count(), BEFORE + FROM_THERE + 2);
        assert_eq!(passage.heading, "USER");
    }
}
