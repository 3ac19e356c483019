//! Where a replay went another way.

use std::fmt;

/// Characters that are shown on each side of where two texts part.
const AROUND: usize = 160;

/// The first thing that is not as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The sub-agent; absent for the main agent.
    pub agent: Option<String>,
    /// The step, counted from 1 through the whole log.
    pub step: usize,
    /// The number of the prompt that the turn began with, counted from 1; 0 before the first one.
    pub prompt: usize,
    /// Which part: `system`, `tools: Bash`, `messages[4]`, `reminder todo_reminder`, `result of toolu_1`, ...
    pub part: String,
    /// What was recorded, around the place where it differs.
    pub expected: String,
    /// What was made now.
    pub actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_agent = self.agent.as_ref().map(|agent| format!(" of agent {agent}")).unwrap_or_default();
        writeln!(f, "step {}{of_agent} (prompt {}): {} differs", self.step, self.prompt, self.part)?;
        writeln!(f, "  recorded: {}", self.expected)?;
        write!(f, "  now:      {}", self.actual)
    }
}

/// Both texts around the place where they part.
pub(super) fn excerpts(expected: &str, actual: &str) -> (String, String) {
    let same = expected.bytes().zip(actual.bytes()).take_while(|(a, b)| a == b).count();
    (excerpt(expected, same), excerpt(actual, same))
}

fn excerpt(text: &str, at: usize) -> String {
    let from = text.floor_char_boundary(at.saturating_sub(AROUND / 2));
    let to = text.ceil_char_boundary(at.saturating_add(AROUND).min(text.len()));
    let before = if from > 0 { "…" } else { "" };
    let behind = if to < text.len() { "…" } else { "" };
    let shown = text[from.min(to)..to].replace('\n', "\\n");
    if text.is_empty() { "(nothing)".to_owned() } else { format!("{before}{shown}{behind}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_where_they_part() {
        let common = "ä".repeat(400);
        let (expected, actual) = excerpts(&format!("{common}one\nmore"), &format!("{common}two"));
        assert!(expected.starts_with('…') && expected.ends_with("one\\nmore"), "{expected}");
        assert!(actual.ends_with("two"), "{actual}");
        assert_eq!(excerpts("a", ""), ("a".to_owned(), "(nothing)".to_owned()));
        let (long, _) = excerpts(&"x".repeat(1_000), "y");
        assert!(long.ends_with('…') && long.chars().count() < 200, "{long}");
    }
}
