//! Questions of servers of the Model Context Protocol that need a yes or a no.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use tiller_protocol::ask::{Answer, Then};
use tiller_protocol::host::is_loopback;
use tiller_protocol::mcp::SamplingAsk;

use super::Outcome;
use super::choice::{Choice, ChoiceOption, ChoiceOutcome, Tone};
use super::line::{Form, Said};
use crate::keys::Keymap;
use crate::text::{paragraphs, visible, visible_line};
use crate::theme::Theme;
use crate::view::View;

/// A question whose last choice is a no.
#[derive(Debug)]
pub struct ServerQuestion {
    choice: Choice,
    /// What the choices before that mean.
    meanings: Vec<Outcome>,
}

impl ServerQuestion {
    /// A server wants the user to visit a page. It is opened for whoever wants that, if nobody can listen on the way.
    #[must_use]
    pub fn visit(server: &str, message: &str, url: &str, keys: Arc<Keymap>) -> Self {
        let host = host(url);
        let may_open = url.starts_with("https://") || (url.starts_with("http://") && is_loopback(name(host)));
        let mut options = vec![ChoiceOption::plain("I will open it myself"), ChoiceOption::plain("No")];
        let mut meanings = vec![Outcome::Answered(Answer::Elicitation { content: None })];
        if may_open {
            options.insert(0, ChoiceOption::plain("Open it in the browser"));
            meanings.insert(0, Outcome::Visit(url.to_owned()));
        }
        let (message, url, host) = (visible(message).into_owned(), visible_line(url), visible_line(host));
        let body = Arc::new(move |columns: u16, theme: &Theme| {
            let mut lines = paragraphs(&message, columns, theme.text);
            lines.push(Line::default());
            lines.extend(paragraphs(&url, columns, theme.accent));
            lines.extend(paragraphs(&format!("The page is on {host}."), columns, theme.strong));
            if !may_open {
                lines.extend(paragraphs("The connection is not encrypted.", columns, theme.warning));
            }
            lines.push(Line::default());
            lines.extend(paragraphs(
                "Neither Tiller nor the model sees what you enter there.",
                columns,
                theme.dim,
            ));
            lines
        });
        let title = format!("{} asks you to visit a page", visible_line(server));
        let choice = Choice::new(title, body, options, keys).in_tone(Tone::Warning);
        Self { choice, meanings }
    }

    /// A server wants to ask the model.
    #[must_use]
    pub fn sampling(ask: SamplingAsk, keys: Arc<Keymap>) -> Self {
        let title = format!("{} wants to ask the model", visible_line(&ask.server));
        let body = Arc::new(move |columns: u16, theme: &Theme| sampling_rows(&ask, columns, theme));
        let options = vec![
            ChoiceOption { label: "Yes, this once".to_owned(), detail: "at your expense".to_owned() },
            ChoiceOption::plain("No"),
        ];
        let choice = Choice::new(title, body, options, keys).in_tone(Tone::Warning);
        let yes = Answer::Allow { updated_input: None, updates: Vec::new() };
        Self { choice, meanings: vec![Outcome::Answered(yes)] }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> Outcome {
        let outcome = self.choice.handle(key);
        self.settled(outcome)
    }

    /// What a line can answer.
    pub(super) fn form(&self) -> Form {
        let no = self.meanings.len();
        Form { yes: (no == 1).then_some(0), no: Some(Said::one(no)), ..self.choice.form() }
    }

    /// Takes the answer of a line.
    pub(super) fn say(&self, said: &Said) -> Outcome {
        self.settled(self.choice.say(said))
    }

    fn settled(&self, outcome: ChoiceOutcome) -> Outcome {
        match outcome {
            ChoiceOutcome::Handled => Outcome::Handled,
            ChoiceOutcome::Ignored => Outcome::Ignored,
            ChoiceOutcome::Chosen(index) => self.meanings.get(index).cloned().unwrap_or_else(refusal),
            ChoiceOutcome::Cancelled => refusal(),
        }
    }

    /// The question.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        self.choice.view(columns, height, theme)
    }
}

fn refusal() -> Outcome {
    Outcome::Answered(Answer::Refuse { feedback: None, then: Then::GoOn })
}

/// The machine that a page is on, with its port: what stands before an @ only looks like one.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    rest[..end].rsplit('@').next().unwrap_or_default()
}

/// The same without the port.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn sampling_rows(ask: &SamplingAsk, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let said = ask.messages.iter().map(|message| (message.role.as_str(), message.text.as_str()));
    let all = ask.system.as_deref().map(|system| ("system", system)).into_iter().chain(said);
    let mut lines = Vec::new();
    for (role, text) in all {
        lines.push(Line::styled(visible_line(role), theme.strong));
        lines.extend(paragraphs(&visible(text), columns, theme.text));
        lines.push(Line::default());
    }
    let limits = format!("{} would answer with at most {} tokens.", visible_line(&ask.model), ask.max_tokens);
    lines.extend(paragraphs(&limits, columns, theme.dim));
    lines
}
