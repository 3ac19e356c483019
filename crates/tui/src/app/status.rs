//! The line at the bottom: the mode and how commands are held in it, which are always there; then what else there is room
//! for.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use tiller_protocol::mode::Mode;

use super::{App, Effect};
use crate::cell::dollars;
use crate::host::Request;
use crate::text::{clean, fit, fit_line, line_width, width, wrap};
use crate::theme::Theme;

/// Columns between the two sides of the line.
const GAP: usize = 2;
/// Said as long as a question is too new to be answered.
const TOO_NEW: &str = "one moment …";

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

/// The same where there is little room.
fn in_short(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "asks",
        Mode::AcceptEdits => "edits",
        Mode::BypassPermissions => "BYPASS",
        Mode::DontAsk => "refuses",
        Mode::Delegate => "delegates",
        Mode::Plan => "PLAN",
    }
}

impl App {
    /// The line; above it a passing remark that has no room in it.
    pub(super) fn status(&self) -> Vec<Line<'static>> {
        let theme = &self.look.theme;
        let columns = usize::from(self.look.size.width);
        let left = self.standing(columns);
        let room = columns.saturating_sub(line_width(&left) + GAP);
        let mut rows = Vec::new();
        let right = match &self.hint {
            Some((hint, _)) if width(hint) <= room => Span::styled(hint.clone(), theme.warning),
            hint => {
                let hint = hint.iter().map(|(hint, _)| Line::styled(hint.clone(), theme.warning));
                rows.extend(hint.flat_map(|hint| wrap(&hint, self.look.size.width, 0)));
                self.beside(room)
            }
        };
        let gap = columns.saturating_sub(line_width(&left) + width(&right.content));
        let mut spans = left.spans;
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(right);
        rows.push(fit_line(Line::from(spans), columns));
        rows
    }

    /// The mode and how commands are held, in as many words as there is room for.
    fn standing(&self, columns: usize) -> Line<'static> {
        let theme = &self.look.theme;
        let (name, style) = mode(self.state.mode, theme);
        let level = self.info.confinement.level(self.state.mode);
        let line = |name: &'static str| {
            let held = Span::styled(level.word(), level.style(theme));
            Line::from(vec![Span::styled(name, style), Span::styled(" · ", theme.dim), held])
        };
        let whole = line(name);
        let mut line = if line_width(&whole) <= columns { whole } else { line(in_short(self.state.mode)) };
        if let Some(vim) = self.input.vim_mode() {
            let vim = format!(" · {vim:?}").to_lowercase();
            if line_width(&line) + width(&vim) <= columns {
                line.spans.push(Span::styled(vim, theme.dim));
            }
        }
        line
    }

    /// The mode and how commands are held, as it is printed.
    pub(crate) fn mode_in_words(&self) -> String {
        let (name, _) = mode(self.state.mode, &self.look.theme);
        format!("{name} · commands {}", self.info.confinement.level(self.state.mode).word())
    }

    /// What stands beside the mode.
    fn beside(&self, room: usize) -> Span<'static> {
        let theme = &self.look.theme;
        match &self.status_text {
            _ if self.is_too_new() => Span::styled(fit(TOO_NEW, room), theme.warning),
            Some(text) => Span::styled(fit(clean(text).lines().next().unwrap_or_default(), room), theme.dim),
            None => Span::styled(self.facts(room), theme.dim),
        }
    }

    /// As many facts as there is room for, the most important first.
    fn facts(&self, room: usize) -> String {
        let mut facts = Vec::new();
        let tasks = self.live.running_tasks();
        if tasks > 0 {
            facts.push(format!("{tasks} in background"));
        }
        facts.extend(self.context_share().map(|share| format!("context {share}%")));
        facts.push(format!("steering {:.0}%", self.steering_percent()));
        facts.push(self.model().to_owned());
        let spent = &self.state.spent;
        if spent.usd > 0.0 {
            facts.push(format!("{}{}", dollars(spent.usd), if spent.unpriced { "+?" } else { "" }));
        }
        while width(&facts.join(" · ")) > room && facts.pop().is_some() {}
        facts.join(" · ")
    }

    fn steering_percent(&self) -> f64 {
        self.ledger.share().fraction() * 100.0
    }

    /// How full the context is, in percent.
    pub(super) fn context_share(&self) -> Option<u64> {
        let window = self.context_window().filter(|window| *window > 0)?;
        let used = self.state.last_usage?.total();
        Some((used * 100 / window).min(100))
    }

    /// Lets the user's own command say what it makes of the facts.
    pub(super) fn refresh_status(&self) -> Vec<Effect> {
        if !self.status_command {
            return Vec::new();
        }
        let facts = serde_json::json!({
            "sessionId": self.info.id,
            "cwd": self.state.cwd,
            "model": self.model(),
            "mode": self.state.mode,
            "confinement": self.info.confinement.level(self.state.mode).profile(),
            "costUsd": self.state.spent.usd,
            "contextTokens": self.state.last_usage.map(|usage| usage.total()),
            "steeringPercent": self.steering_percent(),
        });
        vec![Effect::Ask(Request::StatusLine(facts.to_string()))]
    }
}
