//! What a server of the Model Context Protocol wants to know, field by field.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use serde_json::{Map, Value};
use tiller_protocol::ask::{Answer, Then};
use tiller_protocol::form::{FieldKind, FormField, check};

use super::Outcome;
use super::choices::{Choices, Entry, Pick};
use super::feedback::{Feedback, Written};
use super::line::{Form, Said, Words};
use super::sheet::{Scroll, Sheet};
use crate::keys::{Action, Context, Keymap};
use crate::text::{paragraphs, visible, visible_line};
use crate::theme::Theme;
use crate::view::View;

/// A form that is filled in, one field at a time.
#[derive(Debug)]
pub struct FormDialog {
    title: String,
    message: String,
    fields: Vec<FormField>,
    answer: Map<String, Value>,
    at: usize,
    control: Control,
    problem: Option<String>,
    scroll: Scroll,
    keys: Arc<Keymap>,
}

/// How the field on the screen is filled in.
#[derive(Debug)]
enum Control {
    Text(Box<Feedback>),
    /// One of these values; nothing leaves the field empty.
    One(Choices, Vec<(String, Option<Value>)>),
    /// Any of these values; the last entry goes on.
    Several(Choices, Vec<(String, Value, bool)>),
}

impl Control {
    fn of(field: &FormField, before: Option<&Value>, keys: &Arc<Keymap>) -> Self {
        match &field.kind {
            FieldKind::Text { .. } | FieldKind::Number { .. } => {
                let text = match before {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                Self::Text(Box::new(Feedback::new(&question(field), &text, keys)))
            }
            FieldKind::Flag => {
                let values =
                    [("Yes", true), ("No", false)].map(|(label, flag)| (label.to_owned(), Some(flag.into())));
                Self::one(field, values.into(), before)
            }
            FieldKind::Choice { options, several: false } => {
                let value = |option: &tiller_protocol::form::FieldOption| {
                    (visible_line(&option.label), Some(Value::from(option.value.clone())))
                };
                Self::one(field, options.iter().map(value).collect(), before)
            }
            FieldKind::Choice { options, several: true } => {
                let chosen = before.and_then(Value::as_array);
                let entry = |option: &tiller_protocol::form::FieldOption| {
                    let value = Value::from(option.value.clone());
                    let checked = chosen.is_some_and(|chosen| chosen.contains(&value));
                    (visible_line(&option.label), value, checked)
                };
                let entries: Vec<_> = options.iter().map(entry).collect();
                Self::Several(Choices::new(entries.len() + 1), entries)
            }
        }
    }

    fn one(field: &FormField, mut values: Vec<(String, Option<Value>)>, before: Option<&Value>) -> Self {
        if !field.required {
            values.push(("(leave it empty)".to_owned(), None));
        }
        let mut choices = Choices::new(values.len());
        let marked =
            before.and_then(|before| values.iter().position(|(_, value)| value.as_ref() == Some(before)));
        choices.mark(marked.unwrap_or(0));
        Self::One(choices, values)
    }
}

fn question(field: &FormField) -> String {
    let optional = if field.required { "" } else { " (optional)" };
    let description = field.description.as_deref().map(|text| format!(": {}", visible_line(text)));
    format!("{}{}{optional}", visible_line(&field.title), description.unwrap_or_default())
}

impl FormDialog {
    /// A form; a server that asks for nothing only wants a yes.
    #[must_use]
    pub fn new(server: &str, message: &str, fields: Vec<FormField>, keys: Arc<Keymap>) -> Self {
        let answer = tiller_protocol::form::defaults(&fields);
        let control = first_control(&fields, &answer, &keys);
        Self {
            title: format!("{} wants to know", visible_line(server)),
            message: visible(message).into_owned(),
            fields,
            answer,
            at: 0,
            control,
            problem: None,
            scroll: Scroll::default(),
            keys,
        }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> Outcome {
        match &mut self.control {
            Control::Text(field) => match field.handle(&key) {
                Written::More => Outcome::Handled,
                Written::Done(text) => self.fill_text(&text),
                Written::Cancelled => declined(),
                Written::Ignored => self.turn(&key),
            },
            Control::One(choices, values) => match choices.handle(&key, &self.keys) {
                Pick::Moved => Outcome::Handled,
                Pick::Chosen(index) => {
                    let value = values.get(index).and_then(|(_, value)| value.clone());
                    self.fill(value)
                }
                Pick::Other => self.turn(&key),
            },
            Control::Several(choices, entries) => {
                let toggles = self.keys.action(Context::Dialog, &key) == Some(Action::Toggle);
                let picked =
                    if toggles { Pick::Chosen(choices.marked()) } else { choices.handle(&key, &self.keys) };
                match picked {
                    Pick::Moved => Outcome::Handled,
                    Pick::Chosen(index) => match entries.get_mut(index) {
                        Some((_, _, checked)) => {
                            *checked = !*checked;
                            Outcome::Handled
                        }
                        None => self.fill_several(),
                    },
                    Pick::Other => self.turn(&key),
                }
            }
        }
    }

    /// Keys that are for the form and not for the field.
    fn turn(&mut self, key: &KeyEvent) -> Outcome {
        match self.keys.in_question(key) {
            Some(Action::Cancel) => declined(),
            Some(Action::PreviousPart) if self.at > 0 => {
                self.go_to(self.at - 1);
                Outcome::Handled
            }
            Some(action) if self.scroll.act(action) => Outcome::Handled,
            _ => Outcome::Ignored,
        }
    }

    fn go_to(&mut self, at: usize) {
        self.at = at;
        self.control = Control::of(&self.fields[at], self.answer.get(&self.fields[at].name), &self.keys);
        self.scroll.rewind();
    }

    fn fill_text(&mut self, text: &str) -> Outcome {
        let Some(field) = self.fields.get(self.at) else { return self.finish() };
        let value = match &field.kind {
            _ if text.is_empty() => None,
            // What is no number is told when the answer is checked.
            FieldKind::Number { .. } => {
                Some(text.parse::<serde_json::Number>().map_or_else(|_| text.into(), Value::from))
            }
            _ => Some(text.into()),
        };
        self.fill(value)
    }

    fn fill_several(&mut self) -> Outcome {
        let Control::Several(_, entries) = &self.control else { return Outcome::Ignored };
        let chosen: Vec<Value> =
            entries.iter().filter(|(_, _, checked)| *checked).map(|(_, value, _)| value.clone()).collect();
        self.fill(Some(chosen.into()))
    }

    /// Fills the field in and goes on; what does not fit is said and asked again.
    fn fill(&mut self, value: Option<Value>) -> Outcome {
        let Some(field) = self.fields.get(self.at) else { return self.finish() };
        match value {
            Some(value) => self.answer.insert(field.name.clone(), value),
            None => self.answer.remove(&field.name),
        };
        let own: Map<String, Value> = self
            .answer
            .iter()
            .filter(|(name, _)| **name == field.name)
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        self.problem = check(std::slice::from_ref(field), &own).err();
        if self.problem.is_some() {
            return Outcome::Handled;
        }
        if self.at + 1 == self.fields.len() {
            return self.finish();
        }
        self.go_to(self.at + 1);
        Outcome::Handled
    }

    fn finish(&mut self) -> Outcome {
        Outcome::Answered(Answer::Elicitation { content: Some(Value::Object(self.answer.clone())) })
    }

    /// What a line can answer to the field that is asked for.
    pub(super) fn form(&self) -> Form {
        match &self.control {
            Control::Text(_) => Form {
                count: 1,
                no: Some(Said::Refused),
                words: Some(Words { index: 0, needed: false }),
                ..Form::default()
            },
            Control::One(_, values) => Form::choices(values.len()),
            Control::Several(_, entries) => Form { several: true, ..Form::choices(entries.len()) },
        }
    }

    /// Takes the answer of a line.
    pub(super) fn say(&mut self, said: Said) -> Outcome {
        let Said::Chosen(indices, words) = said else { return declined() };
        match &mut self.control {
            Control::Text(_) => self.fill_text(&words),
            Control::One(_, values) => {
                let value =
                    indices.first().and_then(|index| values.get(*index)).and_then(|(_, value)| value.clone());
                self.fill(value)
            }
            Control::Several(_, entries) => {
                for (index, (_, _, checked)) in entries.iter_mut().enumerate() {
                    *checked = indices.contains(&index);
                }
                self.fill_several()
            }
        }
    }

    /// Takes a paste into the text field, if one is open; says whether that was so.
    pub fn paste(&mut self, text: &str) -> bool {
        match &mut self.control {
            Control::Text(field) => {
                field.paste(text);
                true
            }
            _ => false,
        }
    }

    /// What the server says, and the field.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let mut foot = vec![Line::default()];
        if let Some(problem) = &self.problem {
            foot.extend(paragraphs(&visible_line(problem), columns, theme.error));
        }
        let (rows, focus, cursor) = self.control_rows(columns, theme);
        let above = foot.len();
        foot.extend(rows);
        let count = match self.fields.len() {
            0 | 1 => String::new(),
            count => format!(" ({} of {count})", self.at + 1),
        };
        let below = |row: u16| row.saturating_add(u16::try_from(above).unwrap_or(u16::MAX));
        let sheet = Sheet {
            title: format!("{}{count}", self.title),
            style: theme.accent,
            body: paragraphs(&self.message, columns, theme.text),
            foot,
            focus: focus.start + above..focus.end + above,
            cursor: cursor.map(|(column, row)| (column, below(row))),
            hint: self.hint(),
            read_on: self.keys.hint(Action::PageDown),
            ..Sheet::default()
        };
        sheet.compose(columns, height, &self.scroll, theme)
    }

    fn control_rows(
        &self,
        columns: u16,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, std::ops::Range<usize>, Option<(u16, u16)>) {
        let (choices, entries) = match &self.control {
            Control::Text(field) => return field.rows(columns, theme),
            Control::One(choices, values) => {
                (choices, values.iter().map(|(label, _)| Entry::new(label.clone())).collect::<Vec<_>>())
            }
            Control::Several(choices, entries) => {
                let entry = |(label, _, checked): &(String, Value, bool)| {
                    Entry::new(format!("[{}] {label}", if *checked { "x" } else { " " }))
                };
                let go_on = (!theme.is_printed).then(|| Entry::new("Go on"));
                (choices, entries.iter().map(entry).chain(go_on).collect())
            }
        };
        let mut rows = match self.fields.get(self.at) {
            Some(field) => paragraphs(&question(field), columns, theme.strong),
            None => Vec::new(),
        };
        let above = rows.len();
        let (more, focus) = choices.rows(entries, columns, theme);
        rows.extend(more);
        (rows, focus.start + above..focus.end + above, None)
    }

    fn hint(&self) -> String {
        let keys = |action| self.keys.hint(action);
        let back =
            if self.at > 0 { format!(" · {} back", keys(Action::PreviousPart)) } else { String::new() };
        let toggle = match &self.control {
            Control::Several(..) => format!("{} check · ", keys(Action::Toggle)),
            Control::Text(_) | Control::One(..) => String::new(),
        };
        format!("{toggle}{} go on{back} · {} decline", keys(Action::Accept), keys(Action::Cancel))
    }
}

fn first_control(fields: &[FormField], answer: &Map<String, Value>, keys: &Arc<Keymap>) -> Control {
    match fields.first() {
        Some(field) => Control::of(field, answer.get(&field.name), keys),
        None => Control::One(Choices::new(1), vec![("Yes".to_owned(), None)]),
    }
}

fn declined() -> Outcome {
    Outcome::Answered(Answer::Refuse { feedback: None, then: Then::GoOn })
}
