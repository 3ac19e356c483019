//! May this call run?

mod remember;
mod subject;

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use serde_json::Value;
use tiller_protocol::ask::{Answer, PermissionAsk, Then};

use super::Outcome;
use super::choice::Tone;
use super::choices::{Choices, Entry, Pick};
use super::feedback::{Feedback, Written};
use super::line::{Form, Said, Words};
use super::sheet::{Body, Scroll, Sheet};
use crate::keys::{Action, Keymap};
use crate::text::{paragraphs, visible, visible_line, wrap};
use crate::theme::Theme;
use crate::view::View;
use remember::Remember;
pub(crate) use remember::described as change_in_words;

/// A rule that is offered covers more than one command. Here that would be too much.
const UNOFFERED: &str = "Only this once: a rule for commands like this would allow too much. Your settings can hold \
     one (permissions.allow).";

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Allow,
    Remember,
    Refuse,
    RefuseWithFeedback,
}

/// The dialog that asks for permission.
#[derive(Debug)]
pub struct Permission {
    ask: PermissionAsk,
    body: Body,
    verbs: Vec<Verb>,
    choices: Choices,
    remember: Option<Remember>,
    feedback: Option<Feedback>,
    scroll: Scroll,
    keys: Arc<Keymap>,
}

impl Permission {
    /// A dialog that shows the call and what it would change.
    #[must_use]
    pub fn new(ask: PermissionAsk, keys: Arc<Keymap>) -> Self {
        let shown = ask.clone();
        let body = Body::new(move |columns, theme| subject::lines(&shown, columns, theme));
        let remember = Remember::of(&ask);
        let offered = |verb: &Verb| *verb != Verb::Remember || remember.is_some();
        let all = [Verb::Allow, Verb::Remember, Verb::Refuse, Verb::RefuseWithFeedback];
        let verbs: Vec<Verb> = all.into_iter().filter(offered).collect();
        let choices = Choices::new(verbs.len());
        Self { ask, body, verbs, choices, remember, feedback: None, scroll: Scroll::default(), keys }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> Outcome {
        if let Some(feedback) = &mut self.feedback {
            return match feedback.handle(&key) {
                Written::Ignored => Outcome::Ignored,
                Written::Done(text) if !text.is_empty() => refuse(Some(text), Then::GoOn),
                Written::Done(_) | Written::More => Outcome::Handled,
                Written::Cancelled => {
                    self.feedback = None;
                    Outcome::Handled
                }
            };
        }
        match self.choices.handle(&key, &self.keys) {
            Pick::Moved => Outcome::Handled,
            Pick::Chosen(index) => self.choose(self.verbs[index]),
            Pick::Other => self.act(self.keys.in_question(&key)),
        }
    }

    /// Takes a paste into the text field, if one is open; says whether that was so.
    pub fn paste(&mut self, text: &str) -> bool {
        self.feedback.as_mut().map(|feedback| feedback.paste(text)).is_some()
    }

    /// What a line can answer.
    pub(super) fn form(&self) -> Form {
        let at = |wanted| self.verbs.iter().position(|verb| *verb == wanted);
        Form {
            count: self.verbs.len(),
            yes: at(Verb::Allow),
            no: at(Verb::Refuse).map(Said::one),
            words: at(Verb::RefuseWithFeedback).map(|index| Words { index, needed: true }),
            several: false,
        }
    }

    /// Takes the answer of a line.
    pub(super) fn say(&mut self, said: Said) -> Outcome {
        match (said.index().and_then(|index| self.verbs.get(index).copied()), said) {
            (Some(Verb::RefuseWithFeedback), Said::Chosen(_, words)) => refuse(Some(words), Then::GoOn),
            (Some(verb), _) => self.choose(verb),
            (None, _) => self.refused(),
        }
    }

    fn choose(&mut self, verb: Verb) -> Outcome {
        let allow = |updates| Outcome::Answered(Answer::Allow { updated_input: None, updates });
        match verb {
            Verb::Allow => allow(Vec::new()),
            Verb::Remember => allow(self.remember.as_ref().map(Remember::updates).unwrap_or_default()),
            Verb::Refuse => self.refused(),
            Verb::RefuseWithFeedback => {
                self.feedback = Some(Feedback::new("What should be done instead?", "", &self.keys));
                Outcome::Handled
            }
        }
    }

    /// What ran in the sandbox has a result already, with which the agent can go on.
    fn refused(&self) -> Outcome {
        refuse(None, if self.ask.leaves_sandbox { Then::GoOn } else { Then::EndTurn })
    }

    fn act(&mut self, action: Option<Action>) -> Outcome {
        let on_remember = self.verbs.get(self.choices.marked()) == Some(&Verb::Remember);
        match (action, &mut self.remember) {
            (Some(Action::Cancel), _) => return self.refused(),
            (Some(Action::NextPart), Some(remember)) if on_remember => remember.widen(),
            (Some(Action::PreviousPart), Some(remember)) if on_remember => remember.narrow(),
            (Some(action), _) if self.scroll.act(action) => {}
            _ => return Outcome::Ignored,
        }
        Outcome::Handled
    }

    /// The question, why it is asked, what it is about, and the choices.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let (mut foot, focus, cursor) = match &self.feedback {
            Some(feedback) => feedback.rows(columns, theme),
            None => {
                let (rows, focus) = self.choices.rows(self.entries(theme), columns, theme);
                (rows, focus, None)
            }
        };
        let unoffered = self.unoffered(columns, theme);
        let above = unoffered.len() + 1;
        let lines_above = u16::try_from(above).unwrap_or(u16::MAX);
        foot.splice(0..0, unoffered.into_iter().chain([Line::default()]));
        let tone = if self.ask.leaves_sandbox { Tone::Warning } else { Tone::Ordinary };
        let sheet = Sheet {
            title: subject::title(&self.ask),
            style: tone.style(theme),
            head: self.head(columns, theme),
            body: self.body.lines(columns, theme),
            foot,
            focus: focus.start + above..focus.end + above,
            cursor: cursor.map(|(column, row)| (column, row.saturating_add(lines_above))),
            hint: self.hint(),
            read_on: self.keys.hint(Action::PageDown),
        };
        sheet.compose(columns, height, &self.scroll, theme)
    }

    fn head(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut head = Vec::new();
        if let Some(agent) = &self.ask.agent {
            head.extend(super::asker_rows(agent, columns, theme));
        }
        if !self.ask.restates {
            head.extend(paragraphs(&visible(&self.ask.reason), columns, theme.dim));
        }
        let path = self.ask.blocked_path.as_ref().map(|path| path.display().to_string());
        let told = |path: &String| {
            let own = self.ask.input.get("file_path").and_then(Value::as_str);
            self.ask.reason.contains(path.as_str()) || own == Some(path.as_str())
        };
        if let Some(path) = path.filter(|path| !told(path)) {
            let line = Line::styled(format!("because of {}", visible_line(&path)), theme.warning);
            head.extend(wrap(&line, columns, 2));
        }
        if !head.is_empty() {
            head.push(Line::default());
        }
        head
    }

    /// Why there is no "from now on" for a command that no rule allows.
    fn unoffered(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let is_open = self.ask.restates || self.ask.reason.starts_with("no rule allows the command");
        if self.remember.is_some() || self.ask.tool != "Bash" || !is_open {
            return Vec::new();
        }
        wrap(&Line::styled(UNOFFERED, theme.dim), columns, 2)
    }

    fn entries(&self, theme: &Theme) -> Vec<Entry> {
        let entry = |(index, verb): (usize, &Verb)| match (verb, &self.remember) {
            (Verb::Allow, _) if self.ask.leaves_sandbox => Entry::new("Yes, this once without the sandbox"),
            (Verb::Allow, _) => Entry::new("Yes, this once"),
            (Verb::Remember, Some(remember)) => {
                let detail = remember.detail(index == self.choices.marked(), theme);
                Entry { detail, ..Entry::new(remember.label()) }
            }
            (Verb::Refuse | Verb::Remember, _) if self.ask.leaves_sandbox => {
                Entry::new("No, go on with what it has shown")
            }
            (Verb::Refuse | Verb::Remember, _) => Entry::new("No, stop here"),
            (Verb::RefuseWithFeedback, _) => Entry::new("No, and say what to do instead"),
        };
        self.verbs.iter().enumerate().map(entry).collect()
    }

    fn hint(&self) -> String {
        let (accept, cancel) = (self.keys.hint(Action::Accept), self.keys.hint(Action::Cancel));
        match &self.feedback {
            Some(_) => format!("{} send · {cancel} back", self.keys.hint(Action::Submit)),
            None => format!("{accept} choose · {cancel} no"),
        }
    }
}

fn refuse(feedback: Option<String>, then: Then) -> Outcome {
    Outcome::Answered(Answer::Refuse { feedback, then })
}
