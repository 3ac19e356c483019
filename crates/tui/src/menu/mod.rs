//! A list that pops up beside the input: commands, files, earlier inputs.

mod fuzzy;

use std::sync::Arc;

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

pub use fuzzy::Order;
use fuzzy::{Found, search};

use crate::text::{clean, fit, fit_line, width, wrap_some};
use crate::theme::Theme;
use crate::view::View;

/// Columns that help must have to be worth showing.
const LEAST_HELP: usize = 12;
/// In narrower terminals the chosen entry is explained below the list.
const NARROW: u16 = 60;
/// But not in those.
const NARROWEST: u16 = 12;
/// Rows for that.
const HELP_ROWS: usize = 6;
/// Fewer rows are for the list alone.
const HELP_FROM: u16 = 8;

/// Something to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What is matched and inserted: the name of a command without its slash, or a path, directories with a slash at
    /// their end.
    pub text: String,
    /// What may follow it, e.g. `<model>`.
    pub hint: String,
    /// What it is good for.
    pub help: String,
    /// Where it comes from, if not from Tiller itself, e.g. `project`.
    pub source: String,
}

impl Candidate {
    /// A candidate that is nothing but its text.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Candidates, what of them fits, and which one is chosen.
#[derive(Clone, Debug)]
pub struct Menu {
    candidates: Arc<[Candidate]>,
    order: Order,
    /// What stands before each text, e.g. `/`.
    sign: &'static str,
    found: Vec<Found>,
    selected: usize,
}

impl Menu {
    /// A menu of everything.
    #[must_use]
    pub fn new(candidates: Arc<[Candidate]>, order: Order, sign: &'static str) -> Self {
        let found = search("", &candidates, order);
        Self { candidates, order, sign, found, selected: 0 }
    }

    /// Keeps what fits, the best first.
    pub fn filter(&mut self, query: &str) {
        self.found = search(query, &self.candidates, self.order);
        self.selected = 0;
    }

    /// Whether nothing fits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The chosen candidate.
    #[must_use]
    pub fn selected(&self) -> Option<&Candidate> {
        self.found.get(self.selected).and_then(|found| self.candidates.get(found.index))
    }

    /// The place of the chosen candidate in the list that was handed in.
    #[must_use]
    pub fn selected_index(&self) -> Option<usize> {
        self.found.get(self.selected).map(|found| found.index)
    }

    /// Chooses the next one; behind the last comes the first.
    pub fn next(&mut self) {
        self.selected = if self.selected + 1 < self.found.len() { self.selected + 1 } else { 0 };
    }

    /// Chooses the previous one; before the first comes the last.
    pub fn previous(&mut self) {
        self.selected = self.selected.checked_sub(1).unwrap_or(self.found.len().saturating_sub(1));
    }

    /// The entries around the chosen one, and how many there are if that is not all.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let explained = self.explained(columns, height, theme);
        let height = usize::from(height).saturating_sub(explained.len());
        let clipped = self.found.len() > height;
        let rows = if clipped { height.saturating_sub(1) } else { height };
        let first = (self.selected + 1).saturating_sub(rows);
        let shown = self.found.iter().enumerate().skip(first).take(rows);
        let name_width = shown.clone().map(|(_, found)| width(&self.name(found))).max().unwrap_or(0);
        let mut lines: Vec<Line<'static>> = shown
            .map(|(at, found)| self.row(found, at == self.selected, name_width, columns, theme))
            .collect();
        if clipped && height > 0 {
            let place = format!("  {}/{}", self.selected + 1, self.found.len());
            lines.push(fit_line(Line::styled(place, theme.dim), columns.into()));
        }
        lines.extend(explained);
        View::of(lines)
    }

    /// The chosen entry to its end, where rows are too short for that.
    fn explained(&self, columns: u16, height: u16, theme: &Theme) -> Vec<Line<'static>> {
        let is_narrow = (NARROWEST..NARROW).contains(&columns) && height >= HELP_FROM;
        let Some(found) = self.found.get(self.selected).filter(|_| is_narrow) else { return Vec::new() };
        let help = help(&self.candidates[found.index]);
        let text = format!("  {}  {help}", self.name(found));
        if help.is_empty() || width(&text) <= usize::from(columns) {
            return Vec::new();
        }
        wrap_some(&Line::styled(text, theme.dim), columns, 4, HELP_ROWS)
    }

    fn name(&self, found: &Found) -> String {
        let candidate = &self.candidates[found.index];
        let gap = if candidate.hint.is_empty() { "" } else { " " };
        format!("{}{}{gap}{}", self.sign, one_line(&candidate.text), candidate.hint)
    }

    fn row(
        &self,
        found: &Found,
        chosen: bool,
        name_width: usize,
        columns: u16,
        theme: &Theme,
    ) -> Line<'static> {
        let columns = usize::from(columns);
        let candidate = &self.candidates[found.index];
        let style = if chosen { theme.selected } else { theme.text };
        let mut spans = vec![Span::styled(if chosen { "› " } else { "  " }, theme.accent)];
        spans.push(Span::styled(self.sign, style));
        for (number, sign) in (0..).zip(one_line(&candidate.text).graphemes(true)) {
            let matched = found.signs.binary_search(&number).is_ok();
            let style = if matched { style.patch(theme.strong) } else { style };
            spans.push(Span::styled(sign.to_owned(), style));
        }
        if !candidate.hint.is_empty() {
            spans.push(Span::styled(format!(" {}", candidate.hint), theme.dim));
        }
        let name_width = name_width.min(columns / 2);
        let gap = name_width.saturating_sub(width(&self.name(found))) + 2;
        let help = help(candidate);
        let used = 2 + width(&self.name(found)) + gap;
        if !help.trim().is_empty() && used + LEAST_HELP <= columns {
            let help = fit(&help, columns - used);
            spans.push(Span::styled(format!("{}{help}", " ".repeat(gap)), theme.dim));
        }
        fit_line(Line::from(joined(spans)), columns)
    }
}

/// What a candidate is good for, and where it comes from.
fn help(candidate: &Candidate) -> String {
    match candidate.source.as_str() {
        "" => one_line(&candidate.help),
        source => one_line(&format!("{} ({source})", candidate.help)),
    }
}

/// Neighbours of one style as one span.
fn joined(spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
    let mut all: Vec<Span<'static>> = Vec::new();
    for span in spans {
        match all.last_mut() {
            Some(last) if last.style == span.style => last.content.to_mut().push_str(&span.content),
            _ => all.push(span),
        }
    }
    all
}

fn one_line(text: &str) -> String {
    clean(text).trim().replace('\n', " ⏎ ")
}

#[cfg(test)]
mod tests;
