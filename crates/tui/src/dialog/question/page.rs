//! One question with its options, and the user's own words as one more.

use std::ops::Range;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use tiller_protocol::ask::Question;

use super::super::choices::{Choices, Entry, Pick};
use super::super::feedback::{Feedback, Written};
use super::super::line::{Form, Words};
use crate::keys::{Action, Context, Keymap};
use crate::text::visible_line;
use crate::theme::Theme;

/// What a key did to the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// It was taken.
    Stays,
    /// The question is answered.
    Answered,
    /// It means something else.
    Other,
}

/// One question and what is said to it so far.
#[derive(Debug)]
pub(super) struct Page {
    question: Question,
    choices: Choices,
    /// Which options are chosen; the last is the user's own words.
    chosen: Vec<bool>,
    own: String,
    writing: Option<Feedback>,
    keys: Arc<Keymap>,
}

impl Page {
    pub(super) fn new(question: Question, keys: &Arc<Keymap>) -> Self {
        let count = question.options.len() + 1;
        Self {
            question,
            choices: Choices::new(count),
            chosen: vec![false; count],
            own: String::new(),
            writing: None,
            keys: Arc::clone(keys),
        }
    }

    pub(super) fn question(&self) -> &str {
        &self.question.question
    }

    pub(super) fn header(&self) -> &str {
        &self.question.header
    }

    pub(super) fn takes_several(&self) -> bool {
        self.question.multi_select
    }

    /// The chosen labels, or the user's own words.
    pub(super) fn answer(&self) -> Option<String> {
        let labels = self.question.options.iter().map(|option| option.label.as_str());
        let all = labels.chain([self.own.as_str()]).zip(&self.chosen);
        let chosen: Vec<&str> = all.filter(|(_, chosen)| **chosen).map(|(label, _)| label).collect();
        (!chosen.is_empty()).then(|| chosen.join(", "))
    }

    /// Whether the field for the user's own words is open.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    pub(super) fn paste(&mut self, text: &str) -> bool {
        self.writing.as_mut().map(|writing| writing.paste(text)).is_some()
    }

    pub(super) fn handle(&mut self, key: &KeyEvent) -> Turned {
        if let Some(writing) = &mut self.writing {
            let written = writing.handle(key);
            return self.written(written);
        }
        if self.takes_several() && self.keys.action(Context::Dialog, key) == Some(Action::Toggle) {
            return self.toggle(self.choices.marked());
        }
        let confirms = self.keys.action(Context::Dialog, key) == Some(Action::Accept);
        match self.choices.handle(key, &self.keys) {
            Pick::Moved => Turned::Stays,
            Pick::Other => Turned::Other,
            Pick::Chosen(index) if index == self.question.options.len() && !self.chosen[index] => {
                self.write()
            }
            Pick::Chosen(_) if self.takes_several() && confirms => self.go_on(),
            Pick::Chosen(index) if self.takes_several() => self.toggle(index),
            Pick::Chosen(index) if index == self.question.options.len() => self.write(),
            Pick::Chosen(index) => {
                self.choose_only(index);
                Turned::Answered
            }
        }
    }

    /// What a line can answer. Yes and no may be answers of their own here, so they are none.
    pub(super) fn form(&self) -> Form {
        let own = self.question.options.len();
        Form {
            count: own + 1,
            words: Some(Words { index: own, needed: true }),
            several: self.takes_several(),
            ..Form::default()
        }
    }

    /// Chooses exactly these.
    pub(super) fn say(&mut self, indices: &[usize], words: String) {
        for (index, chosen) in self.chosen.iter_mut().enumerate() {
            *chosen = indices.contains(&index);
        }
        if !words.is_empty() {
            self.own = words;
        }
    }

    /// With nothing checked there is no answer to go on with.
    fn go_on(&self) -> Turned {
        if self.answer().is_some() { Turned::Answered } else { Turned::Stays }
    }

    fn toggle(&mut self, index: usize) -> Turned {
        if index == self.question.options.len() && !self.chosen[index] {
            return self.write();
        }
        self.chosen[index] = !self.chosen[index];
        Turned::Stays
    }

    fn write(&mut self) -> Turned {
        self.writing = Some(Feedback::new("Your own answer:", &self.own, &self.keys));
        Turned::Stays
    }

    fn choose_only(&mut self, index: usize) {
        self.chosen.fill(false);
        self.chosen[index] = true;
    }

    fn written(&mut self, written: Written) -> Turned {
        let own = self.question.options.len();
        match written {
            Written::More => return Turned::Stays,
            Written::Ignored => return Turned::Other,
            // What is written stays, for the next time that the field is opened.
            Written::Cancelled => {
                self.own = self.writing.take().map(|writing| writing.text()).unwrap_or_default();
                self.chosen[own] &= !self.own.is_empty();
            }
            Written::Done(text) if text.is_empty() => self.chosen[own] = false,
            Written::Done(text) => {
                self.own = text;
                self.writing = None;
                if self.takes_several() {
                    self.chosen[own] = true;
                    return Turned::Stays;
                }
                self.choose_only(own);
                return Turned::Answered;
            }
        }
        self.writing = None;
        Turned::Stays
    }

    /// The rows, which of them must be seen, and the caret.
    pub(super) fn rows(
        &self,
        columns: u16,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, Range<usize>, Option<(u16, u16)>) {
        if let Some(writing) = &self.writing {
            return writing.rows(columns, theme);
        }
        let own = if self.own.is_empty() { "Something else".to_owned() } else { self.own.clone() };
        let options =
            self.question.options.iter().map(|option| (option.label.clone(), option.description.clone()));
        let entries =
            options.chain([(own, String::new())]).zip(&self.chosen).map(|((label, detail), chosen)| {
                let box_sign = match (self.takes_several(), *chosen) {
                    (true, true) => "[x] ",
                    (true, false) => "[ ] ",
                    (false, true) => "✓ ",
                    (false, false) => "",
                };
                let label = visible_line(&label);
                let detail = (!detail.is_empty()).then(|| Line::styled(visible_line(&detail), theme.dim));
                Entry { detail: detail.into_iter().collect(), ..Entry::new(format!("{box_sign}{label}")) }
            });
        let (rows, focus) = self.choices.rows(entries.collect(), columns, theme);
        (rows, focus, None)
    }
}
