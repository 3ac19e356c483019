//! Earlier sessions to go on with.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};
use tiller_protocol::id::SessionId;

use super::PanelOutcome;
use super::list::window;
use super::search::Search;
use crate::dialog::{Form, Said, title, wrapped_title};
use crate::keys::{Action, Context, Keymap};
use crate::text::{clean, fit_line, wrap, wrap_all, wrap_some};
use crate::theme::Theme;
use crate::view::View;

/// Rows of a session's title, and of what else there is to say.
const ENTRY_ROWS: usize = 2;

/// A session in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Which.
    pub id: SessionId,
    /// Its title or first prompt.
    pub title: String,
    /// How long ago something happened in it, in words.
    pub age: String,
    /// What else there is to say, e.g. the branch and the number of turns.
    pub detail: String,
    /// Where it was, if not here.
    pub elsewhere: Option<String>,
}

/// The picker.
#[derive(Debug)]
pub struct Resume {
    /// Newest first.
    sessions: Vec<SessionRow>,
    search: Search,
    /// Whether sessions of other directories are shown, too.
    everywhere: bool,
    /// Whether somebody can look for words in what was said.
    searches_contents: bool,
    found: Vec<usize>,
    marked: usize,
    keys: Arc<Keymap>,
}

impl Resume {
    /// A picker; the newest session comes first.
    #[must_use]
    pub fn new(sessions: Vec<SessionRow>, keys: Arc<Keymap>) -> Self {
        let everywhere = sessions.iter().all(|session| session.elsewhere.is_some());
        let mut picker = Self {
            sessions,
            search: Search::default(),
            everywhere,
            searches_contents: false,
            found: Vec::new(),
            marked: 0,
            keys,
        };
        picker.find();
        picker
    }

    /// The same where somebody can look for words in what was said.
    #[must_use]
    pub fn searching_contents(self) -> Self {
        Self { searches_contents: true, ..self }
    }

    /// What is searched for.
    #[must_use]
    pub fn query(&self) -> &str {
        self.search.query()
    }

    /// Whether only what was said is left to look at.
    fn can_search_contents(&self) -> bool {
        self.searches_contents && self.found.is_empty() && !self.query().is_empty()
    }

    fn find(&mut self) {
        let fits = |session: &SessionRow| {
            let place = session.elsewhere.as_deref().unwrap_or_default();
            let text = format!("{} {} {place} {}", session.title, session.detail, session.id);
            (self.everywhere || session.elsewhere.is_none()) && self.search.fits(&text)
        };
        let found = self.sessions.iter().enumerate().filter(|(_, session)| fits(session));
        self.found = found.map(|(index, _)| index).collect();
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
            Some(Action::PageDown) => self.marked = (self.marked + 10).min(last),
            Some(Action::PageUp) => self.marked = self.marked.saturating_sub(10),
            Some(Action::NextPart | Action::PreviousPart) => {
                self.everywhere = !self.everywhere;
                self.find();
            }
            Some(Action::Cancel) => return PanelOutcome::Closed,
            Some(Action::Accept) if self.can_search_contents() => return PanelOutcome::Search,
            Some(Action::Accept) => {
                let chosen = self.found.get(self.marked).map(|index| self.sessions[*index].id);
                return chosen.map_or(PanelOutcome::Handled, PanelOutcome::Resume);
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
        Form::choices(self.found.len())
    }

    /// Takes the answer of a line.
    pub(crate) fn say(&self, said: &Said) -> PanelOutcome {
        let chosen = said.index().and_then(|at| self.found.get(at)).map(|index| self.sessions[*index].id);
        chosen.map_or(PanelOutcome::Closed, PanelOutcome::Resume)
    }

    /// The sessions with their numbers.
    fn printed(&self, columns: u16, theme: &Theme) -> View {
        let mut lines = vec![title("Resume a session", columns, theme.accent)];
        for (at, index) in self.found.iter().enumerate() {
            let mut entry = self.entry(*index, false, columns, theme);
            if let Some(lead) = entry.first_mut().and_then(|line| line.spans.first_mut()) {
                *lead = Span::raw(format!("  {}. ", at + 1));
            }
            lines.extend(entry);
        }
        View::of(wrap_all(lines, columns, 4))
    }

    /// The search, and what it found.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        if theme.is_printed {
            return self.printed(columns, theme);
        }
        let places = if self.everywhere { "everywhere" } else { "here" };
        let heading = format!("Resume a session ({} {places})", self.found.len());
        let mut lines = wrapped_title(&heading, columns, theme.accent);
        let field = lines.len();
        let (line, caret) = self.search.field(columns, theme);
        lines.push(line);
        if self.found.is_empty() {
            let more = match self.can_search_contents() {
                true => {
                    format!("; {} looks for it in what was said", self.keys.hint(Action::Accept))
                }
                false => String::new(),
            };
            let line = Line::styled(format!("  no session with such a title{more}"), theme.dim);
            lines.extend(wrap(&line, columns, 2));
        }
        let entries: Vec<Vec<Line<'static>>> = self
            .found
            .iter()
            .enumerate()
            .map(|(at, index)| self.entry(*index, at == self.marked, columns, theme))
            .collect();
        let keys = |action| self.keys.hint(action);
        let other = if self.everywhere { "only here" } else { "everywhere" };
        let has_others = self.sessions.iter().any(|session| session.elsewhere.is_some());
        let other =
            if has_others { format!(" · {} {other}", keys(Action::NextPart)) } else { String::new() };
        let hint = format!(
            "type to search · {} choose{other} · {} close",
            keys(Action::Accept),
            keys(Action::Cancel)
        );
        let hint = wrap(&Line::styled(hint, theme.dim), columns, 0);
        let room = usize::from(height).saturating_sub(lines.len() + hint.len());
        lines.extend(window(&entries, self.marked, room));
        lines.extend(hint);
        lines.truncate(height.into());
        let lines: Vec<Line<'static>> =
            lines.into_iter().map(|line| fit_line(line, columns.into())).collect();
        let cursor = (lines.len() > field).then_some((caret, u16::try_from(field).unwrap_or(u16::MAX)));
        View { lines, cursor }
    }

    fn entry(&self, index: usize, marked: bool, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let session = &self.sessions[index];
        let style = if marked { theme.selected } else { theme.text };
        let name = clean(&session.title).replace('\n', " ");
        let name = if name.trim().is_empty() { "(nothing was said)".to_owned() } else { name };
        let place =
            session.elsewhere.as_deref().map(|place| format!(" · {}", clean(place))).unwrap_or_default();
        let lead = Span::styled(if marked { "› " } else { "  " }, theme.accent);
        let name = Line::from(vec![lead, Span::styled(name, style)]);
        let detail = format!("    {} · {}{place}", session.age, clean(&session.detail));
        let detail = Line::styled(detail, theme.dim);
        [wrap_some(&name, columns, 2, ENTRY_ROWS), wrap_some(&detail, columns, 4, ENTRY_ROWS)].concat()
    }
}
