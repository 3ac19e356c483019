//! What the context is made of, as a bar.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tiller_protocol::ledger::{Sent, tokens};

use crate::cell::amount;
use crate::text::{width, wrap_all};
use crate::theme::Theme;

/// How the parts look in the bar, told apart even without colours.
const FILLS: [&str; 5] = ["█", "▓", "▒", "░", "▚"];
/// What is still free.
const FREE: &str = "·";
/// Columns of the bar at most.
const WIDEST: usize = 80;

/// One part of the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextPart {
    /// What it is.
    pub name: String,
    /// Estimated tokens.
    pub tokens: u64,
}

/// What the next request is made of, and how much the model takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextUse {
    /// The parts, in the order in which they are sent.
    pub parts: Vec<ContextPart>,
    /// Tokens that the model takes, if that is known.
    pub window: Option<u64>,
    /// Tokens that the provider counted last, if it did: the parts are estimates.
    pub counted: Option<u64>,
}

impl ContextUse {
    /// The parts by the log.
    #[must_use]
    pub fn of(sent: &Sent, window: Option<u64>, counted: Option<u64>) -> Self {
        let part = |name: &str, bytes| ContextPart { name: name.to_owned(), tokens: tokens(bytes) };
        let parts = vec![
            part("system prompt", sent.system),
            part("tools", sent.tools),
            part("instructions", sent.user_context),
            part("conversation", sent.conversation.saturating_sub(sent.added)),
            part("steering", sent.added),
        ];
        Self { parts, window, counted }
    }

    fn estimated(&self) -> u64 {
        self.parts.iter().map(|part| part.tokens).sum()
    }

    /// A bar, and a line for each part.
    #[must_use]
    pub fn lines(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let all = self.window.unwrap_or(0).max(self.estimated()).max(1);
        let mut lines = vec![self.bar(columns, all, theme)];
        let names = self.parts.iter().map(|part| width(&part.name)).max().unwrap_or(0).max(width("free"));
        let row = |fill: &'static str, style: Style, name: &str, tokens: u64| {
            let share = percent(tokens, all);
            let text = format!(" {name:names$}  {:>7}  {share:>4}", amount(tokens));
            Line::from(vec![Span::styled(fill, style), Span::raw(text)])
        };
        for (index, part) in self.parts.iter().enumerate() {
            lines.push(row(fill(index), style(index, theme), &part.name, part.tokens));
        }
        if self.window.is_some() {
            lines.push(row(FREE, theme.dim, "free", all.saturating_sub(self.estimated())));
        }
        if let Some(counted) = self.counted {
            let text =
                format!("The provider counted {} tokens last; the parts are estimates.", amount(counted));
            lines.push(Line::styled(text, theme.dim));
        }
        wrap_all(lines, columns, 4)
    }

    /// Every part that is there at all gets at least one column.
    fn bar(&self, columns: u16, all: u64, theme: &Theme) -> Line<'static> {
        let room = usize::from(columns).min(WIDEST);
        let mut spans = Vec::new();
        let mut used = 0;
        let present = self.parts.iter().enumerate().filter(|(_, part)| part.tokens > 0);
        for (index, part) in present {
            let exact = u64::try_from(room).unwrap_or(0).saturating_mul(part.tokens) / all;
            let wide = usize::try_from(exact).unwrap_or(room).max(1).min(room - used);
            spans.push(Span::styled(fill(index).repeat(wide), style(index, theme)));
            used += wide;
        }
        spans.push(Span::styled(FREE.repeat(room - used), theme.dim));
        Line::from(spans)
    }
}

fn fill(index: usize) -> &'static str {
    FILLS[index % FILLS.len()]
}

fn style(index: usize, theme: &Theme) -> Style {
    [theme.accent, theme.name, theme.user, theme.text, theme.warning][index % FILLS.len()]
}

fn percent(part: u64, all: u64) -> String {
    match part.saturating_mul(100) / all.max(1) {
        0 if part > 0 => "<1%".to_owned(),
        whole => format!("{whole}%"),
    }
}
