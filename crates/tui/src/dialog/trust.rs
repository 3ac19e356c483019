//! Is this project trusted? Its files would run something, or permit something.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};

use super::choice::{Choice, ChoiceOption, ChoiceOutcome, Tone};
use super::line::{Form, Said};
use crate::keys::Keymap;
use crate::text::{paragraphs, visible, visible_line, wrap};
use crate::theme::Theme;
use crate::view::View;

/// What a project's files would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustQuestion {
    /// The project.
    pub directory: PathBuf,
    /// What would be done: the setting, and what it says.
    pub concerns: Vec<(String, String)>,
}

/// What the user says to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustOutcome {
    /// The key was taken.
    Handled,
    /// The key means nothing here.
    Ignored,
    /// The project is trusted.
    Trusted,
    /// Work without what needs trust.
    Untrusted,
    /// Do not work here at all.
    Leave,
}

/// The dialog that asks for trust.
#[derive(Debug)]
pub struct Trust {
    choice: Choice,
}

impl Trust {
    /// Asks; the careful answer is marked.
    #[must_use]
    pub fn new(question: TrustQuestion, keys: Arc<Keymap>) -> Self {
        let body = Arc::new(move |columns: u16, theme: &Theme| lines(&question, columns, theme));
        let option =
            |label: &str, detail: &str| ChoiceOption { label: label.to_owned(), detail: detail.to_owned() };
        let options = vec![
            option("Yes, I trust this project", "until these settings change"),
            option("No, work without these settings", "what they forbid is still forbidden"),
            option("Leave", ""),
        ];
        let choice = Choice::new("Do you trust this project?", body, options, keys);
        Self { choice: choice.in_tone(Tone::Warning).marking(1) }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> TrustOutcome {
        let outcome = self.choice.handle(key);
        Self::settled(outcome)
    }

    /// What a line can answer.
    pub(crate) fn form(&self) -> Form {
        Form { yes: Some(0), no: Some(Said::one(1)), ..self.choice.form() }
    }

    /// Takes the answer of a line.
    pub(crate) fn say(&self, said: &Said) -> TrustOutcome {
        Self::settled(self.choice.say(said))
    }

    fn settled(outcome: ChoiceOutcome) -> TrustOutcome {
        match outcome {
            ChoiceOutcome::Handled => TrustOutcome::Handled,
            ChoiceOutcome::Ignored => TrustOutcome::Ignored,
            ChoiceOutcome::Chosen(0) => TrustOutcome::Trusted,
            ChoiceOutcome::Chosen(1) => TrustOutcome::Untrusted,
            ChoiceOutcome::Chosen(_) | ChoiceOutcome::Cancelled => TrustOutcome::Leave,
        }
    }

    /// The question with everything that trust would set in motion.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        self.choice.view(columns, height, theme)
    }
}

fn lines(question: &TrustQuestion, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = paragraphs(&visible(&question.directory.display().to_string()), columns, theme.strong);
    lines.extend(paragraphs("Its settings would, whenever Tiller works here:", columns, theme.text));
    for (setting, what) in &question.concerns {
        let line = Line::from(vec![
            Span::styled(format!("  · {}: ", visible_line(setting)), theme.dim),
            Span::styled(visible_line(what), theme.code),
        ]);
        lines.extend(wrap(&line, columns, 4));
    }
    lines
}
