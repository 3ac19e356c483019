//! Completion of commands behind `/` and of paths behind `@`.

use std::ops::Range;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use super::{Input, Outcome, Purpose};
use crate::keys::{Action, Context};
use crate::menu::{Candidate, Menu, Order};
use crate::theme::Theme;
use crate::view::View;

/// What is being completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Command,
    Path,
}

/// The word that is being completed: its place in the text without the sign before it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    kind: Kind,
    range: Range<usize>,
    cursor: usize,
}

/// Candidates and the menu of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Completion {
    commands: Arc<[Candidate]>,
    files: Arc<[Candidate]>,
    open: Option<(Word, Menu)>,
    word: Option<Word>,
    /// Where the word begins whose menu the user closed.
    closed: Option<usize>,
    /// The text that was looked at last.
    revision: u64,
}

impl Completion {
    pub(super) fn set_commands(&mut self, commands: Arc<[Candidate]>) {
        self.commands = commands;
    }

    pub(super) fn set_files(&mut self, files: Arc<[Candidate]>) {
        self.files = files;
    }

    pub(super) fn mentioned<'a>(&self, text: &'a str) -> Option<&'a str> {
        let word = self.word.as_ref().filter(|word| word.kind == Kind::Path)?;
        text.get(word.range.start..word.cursor).map(unquoted)
    }

    pub(super) fn menu(&self) -> Option<&Menu> {
        self.open.as_ref().map(|(_, menu)| menu)
    }

    /// No word is being completed, whatever stands at the cursor.
    pub(super) fn rest(&mut self, revision: u64) {
        self.revision = revision;
        self.open = None;
        self.word = None;
    }

    fn update(&mut self, text: &str, cursor: usize, purpose: Purpose) {
        self.open = None;
        self.word = word(text, cursor, purpose);
        let start = self.word.as_ref().map(|word| word.range.start);
        if self.closed.is_some() && self.closed != start {
            self.closed = None;
        }
        let Some(word) = self.word.clone().filter(|_| self.closed.is_none()) else { return };
        let mut menu = match word.kind {
            Kind::Command => Menu::new(Arc::clone(&self.commands), Order::Names, "/"),
            Kind::Path => Menu::new(Arc::clone(&self.files), Order::Paths, "@"),
        };
        menu.filter(unquoted(&text[word.range.start..word.cursor]));
        if !menu.is_empty() {
            self.open = Some((word, menu));
        }
    }
}

impl Input {
    /// Opens, narrows or closes the menu, depending on the word at the cursor.
    pub(super) fn complete(&mut self) {
        let buffer = &self.editor.buffer;
        self.completion.revision = buffer.revision();
        self.completion.update(buffer.text(), buffer.cursor(), self.purpose);
    }

    /// After a key: what is written is completed, and what the cursor only passes is not.
    pub(super) fn complete_if_edited(&mut self) {
        let edited = self.completion.revision != self.editor.buffer.revision();
        if edited || self.completion.open.is_some() {
            self.complete();
        }
    }

    /// The menu's rows, if one is open.
    #[must_use]
    pub fn menu_view(&self, columns: u16, height: u16, theme: &Theme) -> Option<View> {
        if let Some(search) = &self.search {
            let view = search.menu().view(columns, height, theme);
            let nothing = || View::of(vec![Line::styled("  nothing found", theme.dim)]);
            return Some(if view.lines.is_empty() { nothing() } else { view });
        }
        self.completion.menu().map(|menu| menu.view(columns, height, theme))
    }

    /// What an open menu makes of a key.
    pub(super) fn handle_menu(&mut self, key: &KeyEvent) -> Option<Outcome> {
        let (word, menu) = self.completion.open.as_mut()?;
        match self.editor.keys().action(Context::Menu, key)? {
            Action::MenuNext => menu.next(),
            Action::MenuPrevious => menu.previous(),
            Action::MenuClose => {
                self.completion.closed = Some(word.range.start);
                self.completion.open = None;
            }
            Action::MenuAccept => return self.accept(),
            Action::MenuComplete => {
                self.insert_chosen();
            }
            _ => return None,
        }
        Some(Outcome::Handled)
    }

    /// Takes the chosen entry. A command that needs no more is carried out at once.
    fn accept(&mut self) -> Option<Outcome> {
        let (kind, needs_more) = {
            let (word, menu) = self.completion.open.as_ref()?;
            (word.kind, menu.selected().is_some_and(|chosen| !chosen.hint.is_empty()))
        };
        let typed_in_full = self.insert_chosen();
        let done = typed_in_full || (kind == Kind::Command && !needs_more);
        Some(if done { self.act(Action::Submit) } else { Outcome::Handled })
    }

    /// Puts the chosen entry in place of the word. Says whether it stood there already.
    fn insert_chosen(&mut self) -> bool {
        let Some((word, menu)) = self.completion.open.take() else { return false };
        let Some(chosen) = menu.selected() else { return false };
        let text = self.editor.buffer.text();
        let typed = text.get(word.range.clone()) == Some(chosen.text.as_str());
        let goes_on = chosen.text.ends_with('/') && word.kind == Kind::Path;
        let quoted = word.kind == Kind::Path && chosen.text.contains(char::is_whitespace);
        let mut by = if quoted { format!("\"{}\"", chosen.text) } else { chosen.text.clone() };
        if goes_on && quoted {
            by.pop();
        }
        let behind = text[word.range.end..].chars().next();
        let space = !goes_on && behind.is_none_or(|letter| letter == '\n');
        if space {
            by.push(' ');
        }
        self.editor.replace(word.range, &by);
        // Behind a space that is there already one would write on.
        if !goes_on && behind == Some(' ') {
            self.editor.apply(Action::Right);
        }
        self.complete();
        typed
    }
}

/// The word at the cursor, if it is one that can be completed.
fn word(text: &str, cursor: usize, purpose: Purpose) -> Option<Word> {
    if purpose == Purpose::Prompt && text.starts_with('/') {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        if (1..=end).contains(&cursor) {
            return Some(Word { kind: Kind::Command, range: 1..end, cursor });
        }
    }
    let at = text[..cursor].rfind('@')?;
    let begins = text[..at].chars().next_back().is_none_or(may_precede);
    let start = at + 1;
    let quoted = text[start..].starts_with('"');
    let inside = if quoted {
        !text[start + 1..cursor.max(start + 1)].contains(['"', '\n'])
    } else {
        !text[start..cursor].contains(char::is_whitespace)
    };
    let stop = text[start..].find(char::is_whitespace).map_or(text.len(), |end| start + end).max(cursor);
    // The lines that are wanted of a file stay when its name is completed, and are not completed themselves.
    let end = text[start..stop].find("#L").map_or(stop, |lines| start + lines);
    (begins && inside && cursor <= end).then_some(Word { kind: Kind::Path, range: start..end, cursor })
}

/// Whether a mention can begin behind this; an address of mail has a letter there.
fn may_precede(letter: char) -> bool {
    letter.is_whitespace() || "([{<,;:'\"`*>".contains(letter)
}

fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').unwrap_or(word)
}
