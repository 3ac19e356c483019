//! A question with a few answers, of whatever kind.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::style::Style;
use ratatui::text::Line;

use super::choices::{Choices, Entry, Pick};
use super::line::{Form, Said};
use super::sheet::{Body, Render, Scroll, Sheet};
use crate::keys::{Action, Keymap};
use crate::text::visible_line;
use crate::theme::Theme;
use crate::view::View;

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceOutcome {
    /// The key was taken.
    Handled,
    /// The key means nothing here.
    Ignored,
    /// The option with this index.
    Chosen(usize),
    /// None of them.
    Cancelled,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceOption {
    /// What is chosen.
    pub label: String,
    /// What that means; may be empty.
    pub detail: String,
}

impl ChoiceOption {
    /// An option that needs no explanation.
    #[must_use]
    pub fn plain(label: impl Into<String>) -> Self {
        Self { label: label.into(), detail: String::new() }
    }
}

/// Which role's colour the title has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// An ordinary question.
    #[default]
    Ordinary,
    /// It is about plan mode.
    Plan,
    /// It deserves a second thought.
    Warning,
}

impl Tone {
    pub(super) fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Ordinary => theme.accent,
            Self::Plan => theme.plan,
            Self::Warning => theme.warning,
        }
    }
}

/// A question with options.
#[derive(Debug)]
pub struct Choice {
    title: String,
    tone: Tone,
    body: Body,
    options: Vec<ChoiceOption>,
    choices: Choices,
    scroll: Scroll,
    keys: Arc<Keymap>,
}

impl Choice {
    /// A question; the first option is marked.
    #[must_use]
    pub fn new(
        title: impl Into<String>,
        body: Render,
        options: Vec<ChoiceOption>,
        keys: Arc<Keymap>,
    ) -> Self {
        let choices = Choices::new(options.len());
        let body = Body::from(body);
        let shown = |option: ChoiceOption| ChoiceOption {
            label: visible_line(&option.label),
            detail: visible_line(&option.detail),
        };
        let options = options.into_iter().map(shown).collect();
        Self {
            title: visible_line(&title.into()),
            tone: Tone::Ordinary,
            body,
            options,
            choices,
            scroll: Scroll::default(),
            keys,
        }
    }

    /// The same in another tone.
    #[must_use]
    pub fn in_tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// The same with another option marked.
    #[must_use]
    pub fn marking(mut self, index: usize) -> Self {
        self.choices.mark(index);
        self
    }

    /// The option that is marked.
    #[must_use]
    pub fn marked(&self) -> usize {
        self.choices.marked()
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> ChoiceOutcome {
        match self.choices.handle(&key, &self.keys) {
            Pick::Chosen(index) => ChoiceOutcome::Chosen(index),
            Pick::Moved => ChoiceOutcome::Handled,
            Pick::Other => match self.keys.in_question(&key) {
                Some(Action::Cancel) => ChoiceOutcome::Cancelled,
                Some(action) if self.scroll.act(action) => ChoiceOutcome::Handled,
                _ => ChoiceOutcome::Ignored,
            },
        }
    }

    /// What a line can answer.
    pub(crate) fn form(&self) -> Form {
        Form::choices(self.options.len())
    }

    /// Takes the answer of a line.
    pub(crate) fn say(&self, said: &Said) -> ChoiceOutcome {
        said.index().map_or(ChoiceOutcome::Cancelled, ChoiceOutcome::Chosen)
    }

    /// The question with its options.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let entry = |option: &ChoiceOption| {
            let detail = (!option.detail.is_empty()).then(|| Line::styled(option.detail.clone(), theme.dim));
            Entry { detail: detail.into_iter().collect(), ..Entry::new(option.label.clone()) }
        };
        let (mut foot, focus) = self.choices.rows(self.options.iter().map(entry).collect(), columns, theme);
        let body = self.body.lines(columns, theme);
        let shift = usize::from(!body.is_empty());
        if shift > 0 {
            foot.insert(0, Line::default());
        }
        let sheet = Sheet {
            title: self.title.clone(),
            style: self.tone.style(theme),
            body,
            foot,
            focus: focus.start + shift..focus.end + shift,
            hint: format!(
                "{} choose · {} cancel",
                self.keys.hint(Action::Accept),
                self.keys.hint(Action::Cancel)
            ),
            read_on: self.keys.hint(Action::PageDown),
            ..Sheet::default()
        };
        sheet.compose(columns, height, &self.scroll, theme)
    }
}
