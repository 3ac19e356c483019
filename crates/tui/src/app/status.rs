//! The line at the bottom: mode, confinement, model, context, steering, cost.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use tiller_protocol::mode::Mode;

use super::App;
use crate::cell::dollars;
use crate::text::{clean, fit_line, line_width, width};
use crate::theme::Theme;

/// A mode in words, and its colour.
pub(super) fn mode(mode: Mode, theme: &Theme) -> (&'static str, Style) {
    match mode {
        Mode::Default => ("asks before changes", theme.dim),
        Mode::AcceptEdits => ("accepts edits", theme.edits),
        Mode::BypassPermissions => ("ASKS NOTHING", theme.error.add_modifier(Modifier::BOLD)),
        Mode::DontAsk => ("refuses what it would ask", theme.warning),
        Mode::Delegate => ("delegates", theme.accent),
        Mode::Plan => ("PLAN MODE: changes nothing", theme.plan.add_modifier(Modifier::BOLD)),
    }
}

impl App {
    pub(super) fn status(&self) -> Line<'static> {
        let theme = &self.look.theme;
        let columns = usize::from(self.look.size.width);
        let (name, style) = mode(self.state.mode, theme);
        // What is behind the colon only explains.
        let name = if width(name) > columns { name.split(':').next().unwrap_or(name) } else { name };
        let mut left = vec![Span::styled(name, style)];
        if let Some((hint, _)) = &self.hint {
            left = vec![Span::styled(hint.clone(), theme.warning)];
        } else if let Some(vim) = self.input.vim_mode() {
            left.push(Span::styled(format!(" · {vim:?}").to_lowercase(), theme.dim));
        }
        let left = Line::from(left);
        let room = columns.saturating_sub(line_width(&left) + 2);
        let right = match &self.status_text {
            Some(text) => crate::text::fit(clean(text).lines().next().unwrap_or_default(), room),
            None => self.facts(room),
        };
        let gap = columns.saturating_sub(line_width(&left) + width(&right));
        let mut spans = left.spans;
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(right, theme.dim));
        fit_line(Line::from(spans), columns)
    }

    /// As many facts as there is room for, the most important first.
    fn facts(&self, room: usize) -> String {
        let mut facts = Vec::new();
        facts.extend(self.context_share().map(|share| format!("context {share}%")));
        facts.push(self.model().to_owned());
        let spent = &self.state.spent;
        if spent.usd > 0.0 {
            facts.push(format!("{}{}", dollars(spent.usd), if spent.unpriced { "+?" } else { "" }));
        }
        let steering = self.ledger.share().fraction() * 100.0;
        facts.push(format!("steering {steering:.0}%"));
        facts.push(self.info.confinement.clone());
        let tasks = self.live.running_tasks();
        if tasks > 0 {
            facts.insert(0, format!("{tasks} in background"));
        }
        while facts.join(" · ").chars().count() > room && facts.pop().is_some() {}
        facts.join(" · ")
    }

    /// How full the context is, in percent.
    pub(super) fn context_share(&self) -> Option<u64> {
        let window = self.context_window().filter(|window| *window > 0)?;
        let used = self.state.last_usage?.total();
        Some((used * 100 / window).min(100))
    }
}
