//! Searching the history while typing.

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent};

use super::{Input, Outcome, Past, Purpose};
use crate::keys::{Action, Chord, Context};
use crate::menu::{Candidate, Menu, Order};

/// What is looked for, and what was found of it.
#[derive(Clone, Debug)]
pub(super) struct Search {
    query: String,
    menu: Menu,
    /// The inputs, the newest first, each once.
    entries: Vec<Past>,
}

impl Search {
    pub(super) fn new(history: &[Past]) -> Self {
        let mut known = HashSet::new();
        let newest = history.iter().rev().filter(|past| known.insert((past.purpose, past.text.as_str())));
        let entries: Vec<Past> = newest.cloned().collect();
        let candidates = entries.iter().map(|past| Candidate::plain(spelled(past))).collect();
        Self { query: String::new(), menu: Menu::new(candidates, Order::Texts, ""), entries }
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn menu(&self) -> &Menu {
        &self.menu
    }

    pub(super) fn type_text(&mut self, text: &str) {
        self.query.push_str(&text.replace('\n', " "));
        self.menu.filter(&self.query);
    }

    fn delete(&mut self) {
        self.query.pop();
        self.menu.filter(&self.query);
    }
}

fn spelled(past: &Past) -> String {
    past.purpose.sign().map_or_else(|| past.text.clone(), |sign| format!("{sign}{}", past.text))
}

impl Input {
    pub(super) fn handle_search(&mut self, key: &KeyEvent) -> Outcome {
        let Some(search) = &mut self.search else { return Outcome::Ignored };
        let again = self.editor.keys().action(Context::Input, key) == Some(Action::HistorySearch);
        match self.editor.keys().action(Context::Menu, key) {
            _ if again => search.menu.next(),
            Some(Action::MenuNext) => search.menu.next(),
            Some(Action::MenuPrevious) => search.menu.previous(),
            Some(Action::MenuClose) => self.search = None,
            Some(Action::MenuAccept | Action::MenuComplete) => self.take_found(),
            _ if key.code == KeyCode::Backspace => search.delete(),
            _ => match Chord::pressed(key).and_then(|chord| chord.typed()) {
                Some(letter) => search.type_text(letter.encode_utf8(&mut [0; 4])),
                None => return Outcome::Ignored,
            },
        }
        Outcome::Handled
    }

    fn take_found(&mut self) {
        let found = self.search.take().and_then(|search| {
            let index = search.menu.selected_index()?;
            search.entries.get(index).cloned()
        });
        if let Some(Past { purpose, text }) = found {
            self.purpose = purpose;
            self.editor.set(&text);
            self.history.stay();
        } else if self.editor.is_empty() {
            self.purpose = Purpose::Prompt;
        }
    }
}
