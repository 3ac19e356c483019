//! What was entered before, and the way through it.

/// What kind of input a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Words for the agent.
    #[default]
    Prompt,
    /// A command that the user runs himself.
    Shell,
    /// A note for the agent's memory.
    Note,
}

impl Purpose {
    /// The character that begins it.
    #[must_use]
    pub fn sign(self) -> Option<char> {
        match self {
            Self::Prompt => None,
            Self::Shell => Some('!'),
            Self::Note => Some('#'),
        }
    }

    /// What a first character makes of a line.
    #[must_use]
    pub fn begun_by(letter: char) -> Option<Self> {
        [Self::Shell, Self::Note].into_iter().find(|purpose| purpose.sign() == Some(letter))
    }
}

/// Something that was entered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// What it was meant as.
    pub purpose: Purpose,
    /// The text in full.
    pub text: String,
}

/// The inputs before, oldest first, and which of them is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    entries: Vec<Past>,
    /// How far back from the newest, and what was written before going there.
    shown: Option<(usize, Past)>,
}

impl History {
    pub(super) fn new(entries: Vec<Past>) -> Self {
        Self { entries, shown: None }
    }

    pub(super) fn entries(&self) -> &[Past] {
        &self.entries
    }

    /// Remembers an input; the same twice in a row is one.
    pub(super) fn push(&mut self, past: Past) {
        self.shown = None;
        if self.entries.last() != Some(&past) && !past.text.trim().is_empty() {
            self.entries.push(past);
        }
    }

    /// The user goes on from what is shown now.
    pub(super) fn stay(&mut self) {
        self.shown = None;
    }

    /// The same, if that is no longer what was entered.
    pub(super) fn stay_unless_shown(&mut self, text: &str) {
        let entry = self.shown.as_ref().and_then(|(back, _)| self.entries.get(self.entries.len() - back));
        if entry.is_some_and(|entry| entry.text != text) {
            self.shown = None;
        }
    }

    /// The input before. `draft` is what is written now, in case the user comes back to it.
    pub(super) fn older(&mut self, draft: impl FnOnce() -> Past) -> Option<Past> {
        let back = self.shown.as_ref().map_or(1, |(back, _)| back + 1);
        let entry = self.entries.len().checked_sub(back).and_then(|index| self.entries.get(index))?.clone();
        let draft = self.shown.take().map_or_else(draft, |(_, draft)| draft);
        self.shown = Some((back, draft));
        Some(entry)
    }

    /// The input after, or what was written before going back.
    pub(super) fn newer(&mut self) -> Option<Past> {
        let (back, draft) = self.shown.take()?;
        if back == 1 {
            return Some(draft);
        }
        self.shown = Some((back - 1, draft));
        self.entries.get(self.entries.len() + 1 - back).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(text: &str) -> Past {
        Past { purpose: Purpose::Prompt, text: text.to_owned() }
    }

    #[test]
    fn one_goes_back_and_comes_back_to_the_draft() {
        let mut history = History::new(vec![past("a"), past("b")]);
        history.push(past("b"));
        history.push(past("  "));
        let text = |past: Option<Past>| past.map(|past| past.text);
        assert_eq!(text(history.older(|| past("draft"))).as_deref(), Some("b"));
        assert_eq!(text(history.older(|| past("not asked for"))).as_deref(), Some("a"));
        assert_eq!(history.older(|| past("")), None);
        assert_eq!(text(history.newer()).as_deref(), Some("b"));
        assert_eq!(text(history.newer()).as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
    }
}
