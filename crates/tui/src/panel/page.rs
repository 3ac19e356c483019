//! A page that is only read: what a command reports.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use super::PanelOutcome;
use crate::dialog::{Scroll, wrapped_title};
use crate::keys::{Action, Keymap};
use crate::text::{fit_line, wrap, wrap_all};
use crate::theme::Theme;
use crate::view::View;

/// The frame around lines that may be more than fit.
#[derive(Debug)]
pub struct Page {
    title: String,
    scroll: Scroll,
    keys: Arc<Keymap>,
}

impl Page {
    /// A page with this title.
    #[must_use]
    pub fn new(title: impl Into<String>, keys: Arc<Keymap>) -> Self {
        Self { title: title.into(), scroll: Scroll::default(), keys }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        match self.keys.in_page(&key) {
            Some(Action::Cancel | Action::Accept) => return PanelOutcome::Closed,
            Some(Action::Next) => self.scroll.step(true),
            Some(Action::Previous) => self.scroll.step(false),
            Some(action) if self.scroll.act(action) => {}
            _ => return PanelOutcome::Ignored,
        }
        PanelOutcome::Handled
    }

    /// How to get around.
    fn ways(&self) -> String {
        let ways = [Action::ReadOn, Action::First, Action::Last];
        let [on, first, last] = ways.map(|action| self.keys.hint(action));
        format!(" · {on} read on · {first}/{last} jump")
    }

    /// The part of the lines that fits.
    #[must_use]
    pub fn view(&self, lines: Vec<Line<'static>>, columns: u16, height: u16, theme: &Theme) -> View {
        let lines = wrap_all(lines, columns, 2);
        let mut shown = wrapped_title(&self.title, columns, theme.accent);
        let rows = usize::from(height).saturating_sub(shown.len() + 1);
        let fits = lines.len() <= rows;
        let keys = |action| self.keys.hint(action);
        let read_on = if fits { String::new() } else { self.ways() };
        let hint = Line::styled(format!("{} close{read_on}", keys(Action::Cancel)), theme.dim);
        let hint = if theme.is_printed { Vec::new() } else { wrap(&hint, columns, 0) };
        let rows = usize::from(height).saturating_sub(shown.len() + hint.len());
        shown.extend(self.scroll.window(lines, rows, columns, theme));
        shown.extend(hint);
        shown.truncate(height.into());
        View::of(shown.into_iter().map(|line| fit_line(line, columns.into())).collect())
    }
}
