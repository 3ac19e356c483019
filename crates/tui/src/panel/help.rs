//! The help: every command and every key.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use super::{Page, PanelOutcome};
use crate::keys::{Keymap, help_entry, help_lines};
use crate::menu::Candidate;
use crate::text::{width, wrap};
use crate::theme::Theme;
use crate::view::View;

/// Columns for names before their help goes below them.
const WIDEST: usize = 30;
/// What cannot be told by a table.
const SIGNS: [(&str, &str); 4] = [
    ("/", "A command, first in the line"),
    ("!", "A shell command, first in the line"),
    ("#", "A note for the agent's memory, first in the line"),
    ("@", "A file or directory; @file#L10-20 for some of its lines"),
];

/// Keys where only lines are read.
const LINE_KEYS: [(&str, &str); 2] =
    [("ctrl+c", "Stop the agent; pressed again, leave"), ("ctrl+d", "Leave when the agent is done")];

/// The help, to be scrolled.
#[derive(Debug)]
pub struct Help {
    keys: Arc<Keymap>,
    commands: Arc<[Candidate]>,
    page: Page,
}

impl Help {
    /// Help on these keys and commands.
    #[must_use]
    pub fn new(keys: Arc<Keymap>, commands: Arc<[Candidate]>) -> Self {
        Self { page: Page::new("Help", Arc::clone(&keys)), keys, commands }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        self.page.handle(key)
    }

    /// All of it as lines, e.g. for a terminal that cannot redraw.
    #[must_use]
    pub fn lines(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = vec![Line::styled("Signs", theme.strong)];
        for (sign, help) in SIGNS {
            lines.extend(help_entry(sign, help, 2, columns, theme));
        }
        lines.push(Line::default());
        lines.push(Line::styled("Commands", theme.strong));
        let name = |command: &Candidate| match command.hint.as_str() {
            "" => format!("/{}", command.text),
            hint => format!("/{} {hint}", command.text),
        };
        let names = self.commands.iter().map(|command| width(&name(command)));
        let widest = names.filter(|wide| *wide <= WIDEST).max().unwrap_or(0);
        for command in self.commands.iter() {
            let help = match command.source.as_str() {
                "" => command.help.clone(),
                source => format!("{} ({source})", command.help),
            };
            lines.extend(help_entry(&name(command), &help, widest, columns, theme));
        }
        lines.push(Line::default());
        match theme.is_printed {
            true => lines.extend(line_keys(columns, theme)),
            false => lines.extend(help_lines(&self.keys, columns, theme)),
        }
        lines.into_iter().flat_map(|line| wrap(&line, columns, 0)).collect()
    }

    /// The part that fits.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        self.page.view(self.lines(columns, theme), columns, height, theme)
    }
}

/// What can be pressed where only lines are read.
fn line_keys(columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("Keys", theme.strong)];
    for (key, help) in LINE_KEYS {
        lines.extend(help_entry(key, help, 6, columns, theme));
    }
    lines
}
