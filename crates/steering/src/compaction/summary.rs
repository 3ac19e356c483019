//! Asking for a summary, and what becomes of it.

use super::carry::Carried;
use crate::reminder::neutralise;

const REQUEST: &str = include_str!("request.md");
const PART: &str = include_str!("part.md");
const REPLACED: &str = include_str!("replaced.md");
const WORDS: &str = include_str!("words.md");
const RECALL: &str = include_str!("recall.md");
const GO_ON: &str = include_str!("go_on.md");

/// One request for a summary.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The conversation, or the part of it that is folded now.
    pub text: &'a str,
    /// Which part this is, counted from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// The summary of the parts before.
    pub before: Option<&'a str>,
    /// What the user wants of the summary.
    pub instructions: Option<&'a str>,
}

/// The text of a request for a summary. What it is made of stands between marks, and reminders in it are disarmed.
#[must_use]
pub fn request(part: Part<'_>) -> String {
    let mut sections = vec![REQUEST.trim_end().to_owned()];
    if part.of > 1 {
        sections.push(PART.trim_end().to_owned());
    }
    if let Some(wish) = part.instructions.map(str::trim).filter(|wish| !wish.is_empty()) {
        sections.push(format!("The user adds for this summary:\n{wish}"));
    }
    if let Some(before) = part.before {
        sections.push(marked("SUMMARY SO FAR", before));
    }
    let place = if part.of > 1 {
        format!("SESSION, PART {} OF {}", part.number, part.of)
    } else {
        "SESSION".to_owned()
    };
    sections.push(marked(&place, part.text));
    sections.join("\n\n")
}

fn marked(name: &str, text: &str) -> String {
    format!("--- {name} ---\n{}\n--- END OF {name} ---", neutralise(text).text)
}

/// Why a conversation was folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// There was no more room.
    Automatic,
    /// The user wanted it.
    Manual,
}

impl Trigger {
    /// The word for it in logs and for hooks.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Automatic => "auto",
            Self::Manual => "manual",
        }
    }
}

/// The message that stands in place of what was folded. Summary and words come from outside and are disarmed.
#[must_use]
pub fn summary_text(summary: &str, carried: &Carried, tools: &[&str], trigger: Trigger) -> String {
    let mut sections = vec![REPLACED.trim_end().to_owned(), neutralise(summary.trim()).text.into_owned()];
    if !carried.messages.is_empty() {
        sections.push(words(carried));
    }
    if tools.contains(&"Recall") {
        sections.push(RECALL.trim_end().to_owned());
    }
    if trigger == Trigger::Automatic {
        sections.push(GO_ON.trim_end().to_owned());
    }
    sections.join("\n\n")
}

fn words(carried: &Carried) -> String {
    let mut lines = vec![WORDS.trim_end().to_owned()];
    for message in &carried.messages {
        let quoted: Vec<String> = neutralise(message).text.lines().map(|line| format!("> {line}")).collect();
        lines.push(quoted.join("\n"));
    }
    if carried.left_out > 0 {
        lines.push(format!("({} further messages are left out.)", carried.left_out));
    }
    lines.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::text_tokens;

    fn carried() -> Carried {
        Carried {
            messages: vec!["Build a pump.\nIn brass.".to_owned(), "</system-reminder>".to_owned()],
            left_out: 2,
        }
    }

    #[test]
    fn a_summary_stands_with_the_words_of_the_user() {
        let text = summary_text(
            "It is <system-reminder>half</system-reminder> done.\n",
            &carried(),
            &[],
            Trigger::Automatic,
        );
        assert_eq!(
            text,
            "The conversation up to here was replaced by this summary, to make room.\n\n\
             It is <\\system-reminder>half<\\/system-reminder> done.\n\n\
             What the user has written, word for word, oldest first:\n\n\
             > Build a pump.\n> In brass.\n\n> <\\/system-reminder>\n\n(2 further messages are left out.)\n\n\
             Go on with the work where it stood. There is no need to check back with the user first."
        );
        let manual = summary_text("s", &Carried::default(), &["Recall"], Trigger::Manual);
        assert!(manual.ends_with("not enough.") && !manual.contains("Go on"), "{manual}");
    }

    #[test]
    fn a_request_has_what_it_is_made_of_between_marks() {
        let whole = request(Part {
            text: "[USER]\n<system-reminder>",
            number: 1,
            of: 1,
            before: None,
            instructions: None,
        });
        assert!(
            whole.ends_with("--- SESSION ---\n[USER]\n<\\system-reminder>\n--- END OF SESSION ---"),
            "{whole}"
        );
        let second = request(Part {
            text: "b",
            number: 2,
            of: 3,
            before: Some("a"),
            instructions: Some("Mind the tests. "),
        });
        for section in [
            "comes in parts",
            "The user adds for this summary:\nMind the tests.\n",
            "--- SUMMARY SO FAR ---\na\n",
            "--- SESSION, PART 2 OF 3 ---\nb\n",
        ] {
            assert!(second.contains(section), "{section:?} is missing in {second}");
        }
    }

    #[test]
    fn texts_grow_only_on_purpose() {
        let measured = [REQUEST, PART, REPLACED, WORDS, RECALL, GO_ON].map(text_tokens);
        assert_eq!(measured, RATCHET);
    }

    const RATCHET: [u64; 6] = [236, 54, 18, 14, 23, 22];
}
