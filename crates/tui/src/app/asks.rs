//! Questions of the session, and who gets a key.

use std::time::Duration;

use crossterm::event::KeyEvent;
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::command::Command;
use tiller_protocol::entry::Level;
use tiller_protocol::id::AskId;

use super::{App, Effect};
use crate::dialog::{Attention, Form, PendingOutcome, Said};
use crate::host::Request;
use crate::theme::Theme;
use crate::view::View;

/// After a pause of this length the next key is meant for the question on the screen.
const PAUSE: Duration = Duration::from_millis(700);
/// Nobody has read a question that has been on the screen for less than this.
const SEEN: Duration = Duration::from_millis(500);

impl App {
    /// Whether the user is asked something.
    pub(super) fn is_asking(&self) -> bool {
        self.overlay.is_some() || !self.pending.is_empty()
    }

    pub(super) fn asked(&mut self, id: AskId, ask: Ask) -> Vec<Effect> {
        let is_lately = self.last_input_at.is_some_and(|at| self.now.saturating_sub(at) < PAUSE);
        let attention = match is_lately {
            true if !self.input.is_empty() => Attention::Typing,
            true => Attention::Lately,
            false => Attention::Free,
        };
        let why = match &ask {
            Ask::Permission(ask) => format!("Tiller asks: {}", ask.tool),
            Ask::Question(_) => "Tiller has a question".to_owned(),
            Ask::Plan(_) => "Tiller has a plan".to_owned(),
            Ask::Elicitation(ask) => format!("{} has a question", ask.server),
            Ask::Sampling(ask) => format!("{} wants to ask the model", ask.server),
            Ask::Hook(_) | Ask::Server(_) => String::new(),
        };
        if self.pending.push(id, ask, attention) { vec![Effect::Signal(why)] } else { Vec::new() }
    }

    /// When keys become answers to the question on the screen: it has been there for a while, and what the user was busy
    /// with before is over.
    pub(super) fn settles_at(&self) -> Option<Duration> {
        if !self.pending.is_guarded() {
            return None;
        }
        let (_, since) = self.shown.filter(|(id, _)| self.pending.first() == Some(*id))?;
        let paused = self.last_input_at.map(|at| at + PAUSE);
        Some(paused.unwrap_or_default().max(since + SEEN))
    }

    /// What there is to see has been drawn.
    pub fn drawn(&mut self) {
        let asked = self.pending.first().filter(|_| self.overlay.is_none());
        if self.shown.map(|(id, _)| id) != asked {
            self.shown = asked.map(|id| (id, self.now));
        }
    }

    /// Whether the question on the screen has come too lately for an answer.
    pub(super) fn is_too_new(&self) -> bool {
        self.overlay.is_none() && self.pending.is_too_new()
    }

    /// Gives a key to what is open: a view of the program first, then a question; none if it is for neither.
    pub(super) fn press_in_dialog(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        if self.overlay.is_some() {
            return Some(self.press_in_overlay(key));
        }
        let outcome = self.pending.handle(key);
        follow(outcome)
    }

    /// What a line can answer; nothing if nothing is asked.
    pub(crate) fn form(&self) -> Option<Form> {
        self.overlay_form().or_else(|| self.pending.form())
    }

    /// Takes the answer of a line.
    pub(crate) fn answer(&mut self, said: Said) -> Vec<Effect> {
        if self.overlay.is_some() {
            return self.answer_overlay(&said);
        }
        follow(self.pending.say(said)).unwrap_or_default()
    }

    /// The plan was edited: what its file holds now is what gets approved.
    pub fn on_plan_edited(&mut self, id: AskId, plan: Result<String, String>) {
        match plan {
            Ok(plan) => self.pending.plan_edited(id, plan),
            Err(problem) => self.tell(Level::Error, &problem),
        }
    }

    /// What is asked, as it is printed; empty if nothing is.
    pub(crate) fn question(&self, columns: u16) -> View {
        self.dialog_in(columns, u16::MAX, &Theme::printed()).unwrap_or_default()
    }

    /// Stops what is under way; what the program itself asks is closed.
    pub(crate) fn stop(&mut self) -> Vec<Effect> {
        self.overlay = None;
        self.forget_rewind();
        self.interrupt()
    }

    pub(super) fn dialog_view(&self, columns: u16, height: u16) -> Option<View> {
        self.dialog_in(columns, height, &self.look.theme)
    }

    fn dialog_in(&self, columns: u16, height: u16, theme: &Theme) -> Option<View> {
        if self.overlay.is_some() {
            return self.overlay_view(columns, height, theme);
        }
        (!self.pending.is_empty()).then(|| self.pending.view(columns, height, theme))
    }
}

/// What the answer to a question of the session leads to; none if it was not for the question.
fn follow(outcome: PendingOutcome) -> Option<Vec<Effect>> {
    match outcome {
        PendingOutcome::Elsewhere => None,
        PendingOutcome::Handled | PendingOutcome::Ignored => Some(Vec::new()),
        PendingOutcome::Answered(id, answer) => Some(vec![Effect::Send(Command::Answer(id, answer))]),
        PendingOutcome::Visit(id, url) => {
            let agreed = Answer::Elicitation { content: None };
            Some(vec![Effect::Ask(Request::Visit(url)), Effect::Send(Command::Answer(id, agreed))])
        }
        PendingOutcome::EditPlan(id, path) => Some(vec![Effect::EditPlan(id, path)]),
    }
}
