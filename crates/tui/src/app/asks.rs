//! Questions: those of the session, and those of the program itself.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use tiller_protocol::ask::Ask;
use tiller_protocol::command::Command;
use tiller_protocol::entry::{Level, Queued};
use tiller_protocol::id::AskId;

use super::queue::Change;
use super::{App, Effect, Exit};
use crate::cell::content_text;
use crate::dialog::{Attention, Choice, ChoiceOption, ChoiceOutcome, Form, PendingOutcome, Render, Said};
use crate::host::Request;
use crate::panel::{Panel, PanelOutcome, Resume, SessionRow};
use crate::text::{clean, fit};
use crate::theme::{Palette, Theme};
use crate::view::View;

/// After a pause of this length the next key is meant for the question on the screen.
const PAUSE: Duration = Duration::from_millis(700);

/// A view of the program itself that has the keys until it is closed.
pub(super) enum Overlay {
    Choice(Choice, Subject),
    Panel(Panel),
}

/// What is chosen.
pub(super) enum Subject {
    Palette,
    Queued(Vec<Queued>),
    Change(Box<Queued>),
}

impl App {
    /// Whether the user is asked something.
    pub(super) fn is_asking(&self) -> bool {
        self.overlay.is_some() || !self.pending.is_empty()
    }

    pub(super) fn asked(&mut self, id: AskId, ask: Ask) -> Vec<Effect> {
        let typing = self.last_key_at.is_some_and(|at| self.now.saturating_sub(at) < PAUSE);
        let attention = if typing && !self.input.is_empty() { Attention::Typing } else { Attention::Free };
        let why = match &ask {
            Ask::Permission(ask) => format!("Tiller asks: {}", ask.tool),
            Ask::Question(_) => "Tiller has a question".to_owned(),
            Ask::Plan(_) => "Tiller has a plan".to_owned(),
            Ask::Elicitation(ask) => format!("{} has a question", ask.server),
            Ask::Sampling(ask) => format!("{} wants to ask the model", ask.server),
            Ask::Hook(_) => String::new(),
        };
        if self.pending.push(id, ask, None, attention) { vec![Effect::Signal(why)] } else { Vec::new() }
    }

    /// When keys become answers to a question that came while the user was writing.
    pub(super) fn settles_at(&self) -> Option<Duration> {
        self.pending.is_guarded().then(|| self.last_key_at.unwrap_or_default() + PAUSE)
    }

    /// Gives a key to the question on the screen; none if it is not for it.
    pub(super) fn press_in_dialog(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        if self.overlay.is_some() {
            return Some(self.press_in_overlay(key));
        }
        let outcome = self.pending.handle(key);
        follow(outcome)
    }

    /// What a line can answer; nothing if nothing is asked.
    pub(crate) fn form(&self) -> Option<Form> {
        match &self.overlay {
            Some(Overlay::Choice(choice, _)) => Some(choice.form()),
            Some(Overlay::Panel(panel)) => Some(panel.form()),
            None => self.pending.form(),
        }
    }

    /// Takes the answer of a line.
    pub(crate) fn answer(&mut self, said: Said) -> Vec<Effect> {
        match &self.overlay {
            Some(Overlay::Choice(choice, _)) => {
                let outcome = choice.say(&said);
                self.settle_choice(outcome)
            }
            Some(Overlay::Panel(panel)) => {
                let outcome = panel.say(&said);
                self.settle_panel(outcome)
            }
            None => follow(self.pending.say(said)).unwrap_or_default(),
        }
    }

    /// The plan was edited: what its file holds now is what gets approved.
    pub fn on_plan_edited(&mut self, id: AskId, plan: Result<String, String>) {
        match plan {
            Ok(plan) => self.pending.plan_edited(id, plan),
            Err(problem) => self.tell(Level::Error, &problem),
        }
    }

    fn press_in_overlay(&mut self, key: KeyEvent) -> Vec<Effect> {
        match &mut self.overlay {
            Some(Overlay::Choice(choice, _)) => {
                let outcome = choice.handle(key);
                self.settle_choice(outcome)
            }
            Some(Overlay::Panel(panel)) => {
                let outcome = panel.handle(key);
                self.settle_panel(outcome)
            }
            None => Vec::new(),
        }
    }

    fn settle_choice(&mut self, outcome: ChoiceOutcome) -> Vec<Effect> {
        match outcome {
            ChoiceOutcome::Chosen(index) => match self.overlay.take() {
                Some(Overlay::Choice(_, subject)) => self.chosen(&subject, index),
                _ => Vec::new(),
            },
            ChoiceOutcome::Cancelled => self.close_overlay(),
            ChoiceOutcome::Handled | ChoiceOutcome::Ignored => Vec::new(),
        }
    }

    fn settle_panel(&mut self, outcome: PanelOutcome) -> Vec<Effect> {
        match outcome {
            PanelOutcome::Resume(id) => {
                self.overlay = None;
                if id == self.info.id { Vec::new() } else { self.quit(Exit::Resume(id)) }
            }
            PanelOutcome::Closed => self.close_overlay(),
            PanelOutcome::Handled | PanelOutcome::Ignored => Vec::new(),
        }
    }

    fn close_overlay(&mut self) -> Vec<Effect> {
        self.overlay = None;
        Vec::new()
    }

    fn chosen(&mut self, subject: &Subject, index: usize) -> Vec<Effect> {
        match subject {
            Subject::Queued(waiting) => {
                if let Some(queued) = waiting.get(index) {
                    self.choose_change(queued.clone());
                }
                Vec::new()
            }
            Subject::Change(queued) => match Change::ALL.get(index) {
                Some(change) => self.change_queued(queued, *change),
                None => Vec::new(),
            },
            Subject::Palette => match Palette::ALL.get(index) {
                Some(palette) => self.set_palette(*palette),
                None => Vec::new(),
            },
        }
    }

    pub(super) fn choose_session(&mut self, sessions: Vec<SessionRow>) -> Vec<Effect> {
        if sessions.is_empty() {
            self.tell(Level::Info, "There is no other session of this project yet.");
            return Vec::new();
        }
        self.open(Panel::Resume(Resume::new(sessions, Arc::clone(&self.keys))))
    }

    pub(super) fn open(&mut self, panel: Panel) -> Vec<Effect> {
        self.overlay = Some(Overlay::Panel(panel));
        Vec::new()
    }

    pub(super) fn choose_queued(&mut self, waiting: Vec<Queued>) {
        let label =
            |queued: &Queued| ChoiceOption::plain(clean(&content_text(&queued.content)).replace('\n', " "));
        let choice = self.choice("Which one?", waiting.iter().map(label).collect());
        self.overlay = Some(Overlay::Choice(choice, Subject::Queued(waiting)));
    }

    pub(super) fn choose_change(&mut self, queued: Queued) {
        let title = fit(&clean(&content_text(&queued.content)).replace('\n', " "), 60);
        let options = Change::ALL.iter().map(|change| ChoiceOption::plain(change.label(&queued))).collect();
        let choice = self.choice(&title, options);
        self.overlay = Some(Overlay::Choice(choice, Subject::Change(Box::new(queued))));
    }

    pub(super) fn choose_palette(&mut self) -> Vec<Effect> {
        let options = Palette::ALL.iter().map(|palette| ChoiceOption::plain(palette.name())).collect();
        let current =
            Palette::ALL.iter().position(|palette| *palette == self.look.theme.palette).unwrap_or(0);
        let choice = self.choice("Which colours?", options).marking(current);
        self.overlay = Some(Overlay::Choice(choice, Subject::Palette));
        Vec::new()
    }

    fn choice(&self, title: &str, options: Vec<ChoiceOption>) -> Choice {
        let body: Render = Arc::new(|_, _| Vec::<Line<'static>>::new());
        Choice::new(title, body, options, Arc::clone(&self.keys))
    }

    pub(super) fn set_palette(&mut self, palette: Palette) -> Vec<Effect> {
        self.look.theme = Theme::new(palette);
        let keep = Request::Keep { key: "terminal.theme".to_owned(), value: palette.name().to_owned() };
        vec![Effect::Ask(keep), Effect::Redraw]
    }

    /// What is asked, as it is printed; empty if nothing is.
    pub(crate) fn question(&self, columns: u16) -> View {
        self.dialog_in(columns, u16::MAX, &Theme::printed()).unwrap_or_default()
    }

    /// Stops what is under way; what the program itself asks is closed.
    pub(crate) fn stop(&mut self) -> Vec<Effect> {
        self.overlay = None;
        self.interrupt()
    }

    pub(super) fn dialog_view(&self, columns: u16, height: u16) -> Option<View> {
        self.dialog_in(columns, height, &self.look.theme)
    }

    fn dialog_in(&self, columns: u16, height: u16, theme: &Theme) -> Option<View> {
        match &self.overlay {
            Some(Overlay::Choice(choice, _)) => Some(choice.view(columns, height, theme)),
            Some(Overlay::Panel(panel)) => Some(panel.view(columns, height, theme)),
            None if self.pending.is_empty() => None,
            None => Some(self.pending.view(columns, height, theme)),
        }
    }
}

/// What the answer to a question of the session leads to; none if it was not for the question.
fn follow(outcome: PendingOutcome) -> Option<Vec<Effect>> {
    match outcome {
        PendingOutcome::Elsewhere => None,
        PendingOutcome::Handled | PendingOutcome::Ignored => Some(Vec::new()),
        PendingOutcome::Answered(id, answer) => Some(vec![Effect::Send(Command::Answer(id, answer))]),
        PendingOutcome::EditPlan(id, path) => Some(vec![Effect::EditPlan(id, path)]),
    }
}
