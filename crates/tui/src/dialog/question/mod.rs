//! What does the user want? Up to four questions, each on its own page, and a last look before the answers go out.

mod page;

use std::sync::Arc;

use crossterm::event::KeyEvent;
use indexmap::IndexMap;
use ratatui::text::{Line, Span};
use tiller_protocol::ask::{Answer, QuestionAsk, Then};

use super::Outcome;
use super::choices::{Choices, Entry, Pick};
use super::line::{Form, Said};
use super::sheet::{Scroll, Sheet};
use crate::keys::{Action, Keymap};
use crate::text::{fit_line, paragraphs, visible, visible_line, wrap};
use crate::theme::Theme;
use crate::view::View;
use page::{Page, Turned};

/// The dialog with the agent's questions.
#[derive(Debug)]
pub struct Questions {
    ask: QuestionAsk,
    pages: Vec<Page>,
    /// The page that is open; behind the last one all answers are shown.
    open: usize,
    review: Choices,
    scroll: Scroll,
    keys: Arc<Keymap>,
}

impl Questions {
    /// Begins with the first question.
    #[must_use]
    pub fn new(ask: QuestionAsk, keys: Arc<Keymap>) -> Self {
        let pages = ask.questions.iter().map(|question| Page::new(question.clone(), &keys)).collect();
        Self { ask, pages, open: 0, review: Choices::new(2), scroll: Scroll::default(), keys }
    }

    /// One plain question is answered with one key; everything else deserves a last look.
    fn is_reviewed(&self) -> bool {
        self.pages.len() != 1 || self.pages.iter().any(Page::takes_several)
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> Outcome {
        let Some(page) = self.pages.get_mut(self.open) else { return self.handle_review(&key) };
        match page.handle(&key) {
            Turned::Stays => Outcome::Handled,
            Turned::Answered => self.go_on(),
            Turned::Other => self.act(&key),
        }
    }

    /// What a line can answer to the open page.
    pub(super) fn form(&self) -> Form {
        match self.pages.get(self.open) {
            Some(page) => page.form(),
            None => Form { count: 2, ..Form::default() },
        }
    }

    /// Takes the answer of a line.
    pub(super) fn say(&mut self, said: Said) -> Outcome {
        match (self.pages.get_mut(self.open), said) {
            (_, Said::Refused) => refused(),
            (Some(page), Said::Chosen(indices, words)) => {
                page.say(&indices, words);
                self.go_on()
            }
            (None, said) => self.review(said.index().unwrap_or(1)),
        }
    }

    /// Takes a paste into the text field, if one is open; says whether that was so.
    pub fn paste(&mut self, text: &str) -> bool {
        self.pages.get_mut(self.open).is_some_and(|page| page.paste(text))
    }

    fn go_on(&mut self) -> Outcome {
        if !self.is_reviewed() {
            return self.answer();
        }
        self.turn_to(self.open + 1);
        Outcome::Handled
    }

    fn turn_to(&mut self, page: usize) {
        self.open = page.min(self.pages.len());
        self.scroll.rewind();
        self.review.mark(0);
    }

    fn act(&mut self, key: &KeyEvent) -> Outcome {
        match self.keys.in_question(key) {
            Some(Action::Cancel) => {
                return refused();
            }
            Some(Action::NextPart) if self.is_reviewed() => self.turn_to(self.open + 1),
            Some(Action::PreviousPart) if self.is_reviewed() => self.turn_to(self.open.saturating_sub(1)),
            Some(action) if self.scroll.act(action) => {}
            _ => return Outcome::Ignored,
        }
        Outcome::Handled
    }

    fn handle_review(&mut self, key: &KeyEvent) -> Outcome {
        match self.review.handle(key, &self.keys) {
            Pick::Moved => Outcome::Handled,
            Pick::Other => self.act(key),
            Pick::Chosen(index) => self.review(index),
        }
    }

    fn review(&mut self, index: usize) -> Outcome {
        match self.pages.iter().position(|page| page.answer().is_none()) {
            None if index == 0 => self.answer(),
            open => {
                self.turn_to(open.unwrap_or(0));
                Outcome::Handled
            }
        }
    }

    fn answer(&self) -> Outcome {
        let answered =
            self.pages.iter().filter_map(|page| Some((page.question().to_owned(), page.answer()?)));
        let answers: IndexMap<String, String> = answered.collect();
        Outcome::Answered(Answer::Question { answers })
    }

    /// The open page, or all answers.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let mut head = Vec::new();
        if let Some(agent) = &self.ask.agent {
            head.extend(super::asker_rows(agent, columns, theme));
        }
        if self.is_reviewed() {
            head.push(self.tabs(columns, theme));
        }
        let sheet = match self.pages.get(self.open) {
            Some(page) => self.page_sheet(page, head, columns, theme),
            None => self.review_sheet(head, columns, theme),
        };
        sheet.compose(columns, height, &self.scroll, theme)
    }

    /// The headers of all pages with the open one marked.
    fn tabs(&self, columns: u16, theme: &Theme) -> Line<'static> {
        let mut spans = Vec::new();
        for (index, page) in self.pages.iter().enumerate() {
            let tick = if page.answer().is_some() { "✓" } else { " " };
            let style = if index == self.open { theme.selected } else { theme.dim };
            spans.push(Span::styled(format!("[{tick}{}]", visible_line(page.header())), style));
            spans.push(Span::raw(" "));
        }
        let style = if self.open == self.pages.len() { theme.selected } else { theme.dim };
        spans.push(Span::styled("[send]", style));
        fit_line(Line::from(spans), columns.into())
    }

    fn page_sheet(&self, page: &Page, head: Vec<Line<'static>>, columns: u16, theme: &Theme) -> Sheet {
        let mut body = paragraphs(&visible(page.question()), columns, theme.strong);
        body.push(Line::default());
        let (foot, focus, cursor) = page.rows(columns, theme);
        let title = format!("The agent asks: {}", visible_line(page.header()));
        let (hint, read_on) = (self.hint(page), self.keys.hint(Action::PageDown));
        Sheet { title, style: theme.accent, head, body, foot, focus, cursor, hint, read_on }
    }

    fn hint(&self, page: &Page) -> String {
        let keys = |action| self.keys.hint(action);
        if page.is_writing() {
            return format!("{} go on · {} back", keys(Action::Submit), keys(Action::Cancel));
        }
        let check =
            if page.takes_several() { format!("{} check · ", keys(Action::Toggle)) } else { String::new() };
        format!("{check}{} go on{} · {} refuse", keys(Action::Accept), self.turns(), keys(Action::Cancel))
    }

    /// How to get to the other questions, if there are any.
    fn turns(&self) -> String {
        let [back, on] = [Action::PreviousPart, Action::NextPart].map(|action| self.keys.hint(action));
        if self.pages.len() > 1 { format!(" · {back}/{on} other questions") } else { String::new() }
    }

    fn review_sheet(&self, head: Vec<Line<'static>>, columns: u16, theme: &Theme) -> Sheet {
        let mut body = Vec::new();
        for page in &self.pages {
            body.extend(paragraphs(&visible(page.question()), columns, theme.dim));
            let (text, style) = match page.answer() {
                Some(answer) => (format!("  → {}", visible(&answer)), theme.strong),
                None => ("  → not answered".to_owned(), theme.warning),
            };
            body.extend(
                text.lines().flat_map(|line| wrap(&Line::styled(line.to_owned(), style), columns, 4)),
            );
        }
        body.push(Line::default());
        let complete = self.pages.iter().all(|page| page.answer().is_some());
        let first = if complete { "Send the answers" } else { "Answer what is missing" };
        let entries = vec![Entry::new(first), Entry::new("Go back")];
        let (foot, focus) = self.review.rows(entries, columns, theme);
        let [accept, cancel] = [Action::Accept, Action::Cancel].map(|action| self.keys.hint(action));
        let hint = format!("{accept} choose{} · {cancel} refuse", self.turns());
        let read_on = self.keys.hint(Action::PageDown);
        let title = "Are these your answers?".to_owned();
        Sheet { title, style: theme.accent, head, body, foot, focus, cursor: None, hint, read_on }
    }
}

fn refused() -> Outcome {
    Outcome::Answered(Answer::Refuse { feedback: None, then: Then::EndTurn })
}
