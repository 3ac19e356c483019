//! Models to choose from, found by typing.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};

use super::PanelOutcome;
use super::list::window;
use super::search::Search;
use crate::dialog::{Form, Said, wrapped_title};
use crate::keys::{Action, Context, Keymap};
use crate::text::{fit_line, visible_line, width, wrap_some};
use crate::theme::Theme;
use crate::view::View;

/// Rows of a model where one is not enough.
const ENTRY_ROWS: usize = 3;
/// From so many columns on, a row is enough to tell models apart.
const WIDE: u16 = 60;
/// Columns between a name and what there is to say about it.
const GAP: usize = 2;
/// Models that a page of the list has.
const PAGE: usize = 10;

/// The list of models: names, and what there is to say about each.
#[derive(Debug)]
pub struct Models {
    title: String,
    rows: Vec<(String, String)>,
    search: Search,
    found: Vec<usize>,
    marked: usize,
    keys: Arc<Keymap>,
}

impl Models {
    /// A list in which one is marked.
    #[must_use]
    pub fn new(title: &str, rows: Vec<(String, String)>, marked: usize, keys: Arc<Keymap>) -> Self {
        let shown = |(name, detail): (String, String)| (visible_line(&name), visible_line(&detail));
        let rows: Vec<(String, String)> = rows.into_iter().map(shown).collect();
        let found = (0..rows.len()).collect();
        Self { title: visible_line(title), rows, search: Search::default(), found, marked, keys }
    }

    fn find(&mut self) {
        let fits =
            |(_, (name, detail)): &(usize, &(String, String))| self.search.fits(&format!("{name} {detail}"));
        self.found = self.rows.iter().enumerate().filter(fits).map(|(index, _)| index).collect();
        self.marked = 0;
    }

    /// Takes a key: letters search.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        if self.search.take(&key) {
            self.find();
            return PanelOutcome::Handled;
        }
        let last = self.found.len().saturating_sub(1);
        match self.keys.action(Context::Dialog, &key) {
            Some(Action::Next) => self.marked = (self.marked + 1).min(last),
            Some(Action::Previous) => self.marked = self.marked.saturating_sub(1),
            Some(Action::PageDown) => self.marked = (self.marked + PAGE).min(last),
            Some(Action::PageUp) => self.marked = self.marked.saturating_sub(PAGE),
            Some(Action::Cancel) => return PanelOutcome::Closed,
            Some(Action::Accept) => {
                let chosen = self.found.get(self.marked).copied();
                return chosen.map_or(PanelOutcome::Handled, PanelOutcome::Model);
            }
            _ => return PanelOutcome::Ignored,
        }
        PanelOutcome::Handled
    }

    /// Takes a paste: it is searched for.
    pub fn paste(&mut self, text: &str) {
        self.search.paste(text);
        self.find();
    }

    /// What a line can answer.
    pub(crate) fn form(&self) -> Form {
        Form::choices(self.rows.len())
    }

    /// Takes the answer of a line.
    pub(crate) fn say(&self, said: &Said) -> PanelOutcome {
        let chosen = said.index().filter(|index| *index < self.rows.len());
        chosen.map_or(PanelOutcome::Closed, PanelOutcome::Model)
    }

    /// The search, and what it found.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let mut lines = wrapped_title(&self.title, columns, theme.accent);
        if theme.is_printed {
            lines.extend((0..self.rows.len()).flat_map(|index| self.entry(index, index, columns, theme)));
            return View::of(lines);
        }
        let field = lines.len();
        let (line, caret) = self.search.field(columns, theme);
        lines.push(line);
        if self.found.is_empty() {
            lines.push(Line::styled("  no matching model", theme.dim));
        }
        let found = self.found.iter().enumerate();
        let entries: Vec<_> = found.map(|(at, index)| self.entry(at, *index, columns, theme)).collect();
        let keys = |action| self.keys.hint(action);
        let hint =
            format!("type to search · {} choose · {} cancel", keys(Action::Accept), keys(Action::Cancel));
        let hint = wrap_some(&Line::styled(hint, theme.dim), columns, 0, ENTRY_ROWS);
        let room = usize::from(height).saturating_sub(lines.len() + hint.len());
        lines.extend(window(&entries, self.marked, room));
        lines.extend(hint);
        lines.truncate(height.into());
        let lines: Vec<Line<'static>> =
            lines.into_iter().map(|line| fit_line(line, columns.into())).collect();
        let cursor = (lines.len() > field).then_some((caret, u16::try_from(field).unwrap_or(u16::MAX)));
        View { lines, cursor }
    }

    /// A model with its place in the list: one row, unless the terminal is narrow; the marked one is there in full.
    fn entry(&self, at: usize, index: usize, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let (name, detail) = &self.rows[index];
        let is_marked = at == self.marked && !theme.is_printed;
        let lead = match (theme.is_printed, is_marked) {
            (true, _) => format!("{:>4}. ", at + 1),
            (false, true) => "› ".to_owned(),
            (false, false) => "  ".to_owned(),
        };
        let widest = self.rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        let gap = " ".repeat(widest.saturating_sub(width(name)) + GAP);
        let style = if is_marked { theme.selected } else { theme.text };
        let line = Line::from(vec![
            Span::styled(lead, theme.accent),
            Span::styled(name.clone(), style),
            Span::styled(format!("{gap}{detail}"), theme.dim),
        ]);
        let is_cut = !is_marked && !theme.is_printed && columns >= WIDE;
        wrap_some(&line, columns, 4, if is_cut { 1 } else { ENTRY_ROWS })
    }
}
