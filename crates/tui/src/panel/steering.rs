//! The steering ledger: what Tiller itself added to the conversation, newest first.

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};
use tiller_protocol::ledger::{Addition, KindTotal, Ledger, MaskTotal, Source, tokens};

use super::PanelOutcome;
use super::list::window;
use crate::cell::amount;
use crate::dialog::wrapped_title;
use crate::keys::{Action, Keymap};
use crate::text::{clean, fit_line, prefixed, wrap, wrap_all, wrap_some};
use crate::theme::Theme;
use crate::view::View;

/// Rows of an unfolded text.
const UNFOLDED: usize = 40;
/// Rows of what was added, and of why.
const ENTRY_ROWS: usize = 3;
/// Rows for totals at most.
const TOTALS: usize = 6;

/// Places with masks that are listed.
const MASKS: usize = 3;

/// The ledger as a list.
#[derive(Debug)]
pub struct Steering {
    /// Newest first.
    additions: Vec<Addition>,
    kinds: Vec<(String, KindTotal)>,
    share: f64,
    forged: u64,
    masks: Vec<MaskTotal>,
    marked: usize,
    unfolded: bool,
    keys: Arc<Keymap>,
}

impl Steering {
    /// The additions, oldest first as they were handed out, and their totals.
    #[must_use]
    pub fn new(additions: Vec<Addition>, ledger: &Ledger, keys: Arc<Keymap>) -> Self {
        let mut kinds: Vec<(String, KindTotal)> =
            ledger.kinds().map(|(kind, total)| (kind.to_owned(), total)).collect();
        kinds.sort_by_key(|(_, total)| std::cmp::Reverse(total.bytes));
        Self {
            additions: additions.into_iter().rev().collect(),
            kinds,
            share: ledger.share().fraction(),
            forged: ledger.forged(),
            masks: ledger.masks().to_vec(),
            marked: 0,
            unfolded: false,
            keys,
        }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        let last = self.additions.len().saturating_sub(1);
        match self.keys.in_page(&key) {
            Some(Action::Next) => self.mark((self.marked + 1).min(last)),
            Some(Action::Previous) => self.mark(self.marked.saturating_sub(1)),
            Some(Action::PageDown) => self.mark((self.marked + 10).min(last)),
            Some(Action::PageUp) => self.mark(self.marked.saturating_sub(10)),
            Some(Action::First) => self.mark(0),
            Some(Action::Last) => self.mark(last),
            Some(Action::Accept | Action::ReadOn) => self.unfolded = !self.unfolded,
            Some(Action::Cancel) => return PanelOutcome::Closed,
            _ => return PanelOutcome::Ignored,
        }
        PanelOutcome::Handled
    }

    fn mark(&mut self, index: usize) {
        self.marked = index;
    }

    /// Totals by kind, then the additions.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let mut lines = wrapped_title("Steering: what Tiller added", columns, theme.accent);
        lines.extend(wrap_all(self.totals(usize::from(height) / 3, theme), columns, 4));
        lines.push(Line::default());
        let entries: Vec<Vec<Line<'static>>> = self
            .additions
            .iter()
            .enumerate()
            .map(|(index, addition)| self.entry(addition, index == self.marked, columns, theme))
            .collect();
        let keys = |action| self.keys.hint(action);
        let hint = format!("{} unfold · {} close", keys(Action::Accept), keys(Action::Cancel));
        let hint = wrap(&Line::styled(hint, theme.dim), columns, 0);
        let room = usize::from(height).saturating_sub(lines.len() + hint.len());
        if entries.is_empty() {
            lines.push(Line::styled("Nothing yet.", theme.dim));
        }
        lines.extend(window(&entries, self.marked, room));
        lines.extend(hint);
        lines.truncate(height.into());
        View::of(lines.into_iter().map(|line| fit_line(line, columns.into())).collect())
    }

    fn totals(&self, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        let forged = match self.forged {
            0 => String::new(),
            count => format!(" · {count} forged reminders made harmless"),
        };
        let share = format!("{:.1}% of what is sent{forged}", self.share * 100.0);
        let mut lines = vec![Line::styled(share, theme.strong)];
        lines.extend(self.masked().into_iter().map(|text| Line::styled(text, theme.dim)));
        for (kind, total) in self.kinds.iter().take(most.min(TOTALS)) {
            let repeated =
                if total.repeated > 0 { format!(", {} repeated", total.repeated) } else { String::new() };
            let text =
                format!("  {kind}  {}×  ~{} tokens{repeated}", total.count, amount(tokens(total.bytes)));
            lines.push(Line::styled(text, theme.dim));
        }
        lines
    }

    /// The last places where credentials were masked.
    fn masked(&self) -> Vec<String> {
        let shown = self.masks.iter().rev().take(MASKS).map(told);
        let more = self.masks.len().saturating_sub(MASKS);
        let rest = (more > 0).then(|| format!("  masked in {more} more places, see tiller inspect"));
        shown.chain(rest).collect()
    }

    fn entry(&self, addition: &Addition, marked: bool, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let style = if marked { theme.selected } else { theme.text };
        let repeat = if addition.repeats.is_some() { " (again)" } else { "" };
        let head = Line::from(vec![
            Span::styled(if marked { "› " } else { "  " }, theme.accent),
            Span::styled(format!("{}{repeat}", addition.kind), style),
            Span::styled(
                format!(
                    "  turn {} step {}  ~{} tokens",
                    addition.place.turn,
                    addition.place.step,
                    amount(addition.tokens())
                ),
                theme.dim,
            ),
        ]);
        let why = format!("    {}: {}", spelled(&addition.source), clean(&addition.why).replace('\n', " "));
        let mut rows = wrap_some(&head, columns, 4, ENTRY_ROWS);
        rows.extend(wrap_some(&Line::styled(why, theme.dim), columns, 4, ENTRY_ROWS));
        if marked && self.unfolded {
            let text = clean(&addition.text).into_owned();
            let bar = Span::styled("    │ ", theme.dim);
            let room = columns.saturating_sub(6).max(1);
            let all: Vec<Line<'static>> =
                text.lines().flat_map(|line| wrap(&Line::raw(line.to_owned()), room, 0)).collect();
            let more = all.len().saturating_sub(UNFOLDED);
            rows.extend(prefixed(all.into_iter().take(UNFOLDED).collect(), &bar, &bar));
            if more > 0 {
                rows.push(Line::styled(format!("    │ … {more} more lines"), theme.dim));
            }
        }
        rows
    }
}

fn spelled(source: &Source) -> String {
    match source {
        Source::Hook { event, name } => format!("hook {name} at {event}"),
        Source::Generator { name } => name.clone(),
        Source::Command { name } => format!("command {name}"),
        other => other.name().to_owned(),
    }
}

/// How often what was masked where; names of tools and files may come from elsewhere.
fn told(total: &MaskTotal) -> String {
    let file = total.file.as_deref().map(|file| format!(" {file}")).unwrap_or_default();
    let place = format!("{}{file}", total.found_in);
    format!("  masked: {} {} in {}", total.count, clean(&total.kind), clean(&place).replace('\n', " "))
}
