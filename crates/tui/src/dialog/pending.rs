//! Questions that wait for the user: one is shown, the others are counted.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::id::AskId;

use super::{Dialog, Form, Outcome, Said};
use crate::keys::{Action, Chord, Context, Keymap};
use crate::text::{fit, visible_line};
use crate::theme::Theme;
use crate::view::View;

/// What the user was doing when a question came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// No key was pressed lately.
    Free,
    /// One was, but nothing is written.
    Lately,
    /// Keys are on their way that were meant for the input.
    Typing,
}

/// Why keys are no answers yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// They are.
    Off,
    /// Nobody can have read the question yet: keys are for the input.
    New,
    /// The user was writing: keys go on to the input.
    Typing,
    /// What was there before was just answered or closed: a key that was pressed twice is lost.
    Answered,
}

/// What a key leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum PendingOutcome {
    /// The key was taken.
    Handled,
    /// The key means nothing here.
    Ignored,
    /// The key is not for the question but for the input below.
    Elsewhere,
    /// The user has answered.
    Answered(AskId, Answer),
    /// The user has agreed to visit this page: open it.
    Visit(AskId, String),
    /// Open this file in the user's editor, then call [`Pending::plan_edited`].
    EditPlan(AskId, PathBuf),
}

/// The questions, oldest first.
#[derive(Debug)]
pub struct Pending {
    queue: VecDeque<(AskId, Dialog)>,
    guard: Guard,
    /// What was written into the input while a question was open. Enter is meant for that, not for the question.
    draft: Option<String>,
    keys: Arc<Keymap>,
}

impl Pending {
    /// No questions yet.
    #[must_use]
    pub fn new(keys: Arc<Keymap>) -> Self {
        Self { queue: VecDeque::new(), guard: Guard::Off, draft: None, keys }
    }

    /// Adds a question. Those of hooks are none for a person: it says whether this was one.
    pub fn push(&mut self, id: AskId, ask: Ask, attention: Attention) -> bool {
        let Some(dialog) = Dialog::of(ask, &self.keys) else { return false };
        if self.queue.is_empty() {
            self.guard = match (attention, self.guard) {
                (Attention::Typing, _) => Guard::Typing,
                // The key that answered the question before may be pressed twice.
                (Attention::Lately, Guard::Answered) => Guard::Answered,
                (Attention::Lately | Attention::Free, _) => Guard::New,
            };
        }
        self.queue.push_back((id, dialog));
        true
    }

    /// How many questions wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no question waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The question that is shown.
    #[must_use]
    pub fn first(&self) -> Option<AskId> {
        self.queue.front().map(|(id, _)| *id)
    }

    /// Whether the question is so new that nobody can have read it.
    #[must_use]
    pub fn is_too_new(&self) -> bool {
        self.guard == Guard::New && !self.queue.is_empty()
    }

    /// Whether keys are no answers yet. As long as this is so, the caller waits for a pause and then calls
    /// [`Pending::settle`].
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.guard != Guard::Off && !self.queue.is_empty()
    }

    /// The user has paused and seen the question: keys are answers from now on.
    pub fn settle(&mut self) {
        self.guard = Guard::Off;
    }

    /// Something that stood before the questions was closed: a key that was pressed twice is lost.
    pub fn shield(&mut self) {
        if !self.queue.is_empty() {
            self.guard = Guard::Answered;
        }
    }

    /// A question needs no answer any more.
    pub fn resolve(&mut self, id: AskId) {
        let shown = self.queue.front().is_some_and(|(shown, _)| *shown == id);
        self.queue.retain(|(pending, _)| *pending != id);
        if shown {
            self.guard = Guard::Answered;
        }
    }

    /// The plan as it stands after the user has edited it.
    pub fn plan_edited(&mut self, id: AskId, plan: String) {
        let dialog = self.queue.iter_mut().find(|(pending, _)| *pending == id).map(|(_, dialog)| dialog);
        if let Some(Dialog::Plan(approval)) = dialog {
            approval.edited(plan);
        }
    }

    /// Takes a paste into the text field of the question; says whether there is one to take it.
    pub fn paste(&mut self, text: &str) -> bool {
        match self.queue.front_mut() {
            Some((_, dialog)) if self.guard == Guard::Off => dialog.paste(text),
            _ => false,
        }
    }

    /// Something goes to the input while a question is open.
    pub fn begin_draft(&mut self) {
        if !self.queue.is_empty() && self.draft.is_none() {
            self.draft = Some(String::new());
        }
    }

    /// Whether something was written while a question was open.
    #[must_use]
    pub fn has_draft(&self) -> bool {
        self.draft.is_some()
    }

    /// What is in the input now.
    pub fn drafted(&mut self, text: &str) {
        self.draft = self.draft.take().filter(|_| !text.is_empty()).map(|_| text.to_owned());
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PendingOutcome {
        if self.queue.is_empty() {
            // Whoever does something else presses no key twice any more.
            self.guard = Guard::Off;
            return PendingOutcome::Elsewhere;
        }
        if self.guard != Guard::Off {
            if !looks_around(&self.keys, &key) {
                return self.guarded(&key);
            }
            self.guard = Guard::Off;
        }
        let sends = self.keys.action(Context::Dialog, &key) == Some(Action::Accept);
        if sends && self.draft.is_some() {
            self.guard = Guard::Typing;
            return PendingOutcome::Elsewhere;
        }
        let Some((id, dialog)) = self.queue.front_mut() else { return PendingOutcome::Elsewhere };
        let (id, outcome) = (*id, dialog.handle(key));
        if outcome == Outcome::Ignored {
            return self.written(&key);
        }
        self.draft = None;
        self.settled(id, outcome)
    }

    /// A key that cannot be an answer yet.
    fn guarded(&mut self, key: &KeyEvent) -> PendingOutcome {
        if self.guard == Guard::Answered {
            return PendingOutcome::Handled;
        }
        if is_letter(key) {
            self.begin_draft();
        }
        PendingOutcome::Elsewhere
    }

    /// A key that means nothing to the question. A letter begins a message, and the keys after it belong to that.
    fn written(&mut self, key: &KeyEvent) -> PendingOutcome {
        if is_letter(key) {
            self.begin_draft();
            self.guard = Guard::Typing;
        }
        if self.draft.is_some() { PendingOutcome::Elsewhere } else { PendingOutcome::Ignored }
    }

    /// What a line can answer to the oldest question.
    pub(crate) fn form(&self) -> Option<Form> {
        self.queue.front().map(|(_, dialog)| dialog.form())
    }

    /// Takes the answer of a line. Nobody writes one by accident, so nothing guards against it.
    pub(crate) fn say(&mut self, said: Said) -> PendingOutcome {
        let Some((id, dialog)) = self.queue.front_mut() else { return PendingOutcome::Elsewhere };
        let (id, outcome) = (*id, dialog.say(said));
        let outcome = self.settled(id, outcome);
        self.settle();
        outcome
    }

    fn settled(&mut self, id: AskId, outcome: Outcome) -> PendingOutcome {
        match outcome {
            Outcome::Handled => PendingOutcome::Handled,
            Outcome::Ignored => PendingOutcome::Ignored,
            Outcome::EditPlan(path) => PendingOutcome::EditPlan(id, path),
            Outcome::Visit(url) => {
                self.resolve(id);
                PendingOutcome::Visit(id, url)
            }
            Outcome::Answered(answer) => {
                self.resolve(id);
                PendingOutcome::Answered(id, answer)
            }
        }
    }

    /// The oldest question, how many there are, and whether keys are answers yet.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let Some((_, dialog)) = self.queue.front() else { return View::default() };
        let mut notes = Vec::new();
        if self.queue.len() > 1 {
            notes.push(format!("1 of {}", self.queue.len()));
        }
        match self.guard {
            Guard::Off => notes.extend(self.draft.as_ref().map(|_| self.way_out())),
            Guard::New => {}
            Guard::Typing => notes.push("you are writing; pause to answer".to_owned()),
            Guard::Answered => notes.push("the next question".to_owned()),
        }
        notes.extend(self.draft.as_ref().map(|draft| visible_line(draft)));
        if notes.is_empty() || height < 4 {
            return dialog.view(columns, height, theme);
        }
        let mut view = View::of(vec![Line::styled(fit(&notes.join(" · "), columns.into()), theme.warning)]);
        view.push(dialog.view(columns, height - 1, theme));
        view
    }

    /// How to answer although something is written.
    fn way_out(&self) -> String {
        let [send, next] = [Action::Accept, Action::Next].map(|action| self.keys.name(action));
        format!("{send} sends what you wrote; {next} or a number answers")
    }
}

fn is_letter(key: &KeyEvent) -> bool {
    Chord::pressed(key).is_some_and(|chord| chord.typed().is_some())
}

/// Keys that answer nothing and cannot be meant for the input: whoever presses one has seen the question.
fn looks_around(keys: &Keymap, key: &KeyEvent) -> bool {
    let action = keys.action(Context::Dialog, key);
    let moves = matches!(action, Some(Action::Next | Action::Previous | Action::PageDown | Action::PageUp));
    moves && keys.action(Context::Input, key).is_none()
}
