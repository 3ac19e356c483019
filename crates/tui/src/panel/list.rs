//! A long list of which one entry is marked, seen through a window around it.

use ratatui::text::{Line, Span};

use crate::dialog::wrapped_title;
use crate::keys::Action;
use crate::text::{clean, fit_line, wrap, wrap_some};
use crate::theme::Theme;
use crate::view::View;

/// Rows of an entry, and of what there is to say about it.
const ENTRY_ROWS: usize = 2;
/// Entries that a page of the list has.
const PAGE: usize = 10;

/// Which entry is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) at: usize,
    pub(super) last: usize,
}

impl Mark {
    /// The last entry of so many.
    pub(crate) fn at_end_of(count: usize) -> Self {
        let last = count.saturating_sub(1);
        Self { at: last, last }
    }

    /// Moves; says whether the action was that.
    pub(crate) fn act(&mut self, action: Action) -> bool {
        self.at = match action {
            Action::Next => self.at + 1,
            Action::Previous => self.at.saturating_sub(1),
            Action::PageDown | Action::ReadOn => self.at + PAGE,
            Action::PageUp => self.at.saturating_sub(PAGE),
            Action::First => 0,
            Action::Last => self.last,
            _ => return false,
        };
        self.at = self.at.min(self.last);
        true
    }
}

/// An entry, and what there is to say about it; that may be empty.
pub(crate) struct Entry<'a> {
    pub(crate) text: &'a str,
    pub(crate) detail: &'a str,
}

/// A list below its title, with what keys do in it.
pub(crate) struct Listing<'a> {
    pub(crate) title: &'a str,
    pub(crate) entries: Vec<Entry<'a>>,
    pub(crate) mark: Mark,
    pub(crate) hint: String,
}

impl Listing<'_> {
    /// The entries around the marked one.
    pub(crate) fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let mut lines = wrapped_title(self.title, columns, theme.accent);
        let rows = |(index, entry): (usize, &Entry<'_>)| self.rows(index, entry, columns, theme);
        let entries: Vec<Vec<Line<'static>>> = self.entries.iter().enumerate().map(rows).collect();
        if theme.is_printed {
            lines.extend(entries.into_iter().flatten());
        } else {
            let hint = wrap(&Line::styled(self.hint.clone(), theme.dim), columns, 0);
            let room = usize::from(height).saturating_sub(lines.len() + hint.len());
            lines.extend(window(&entries, self.mark.at, room));
            lines.extend(hint);
        }
        lines.truncate(height.into());
        View::of(lines.into_iter().map(|line| fit_line(line, columns.into())).collect())
    }

    fn rows(&self, index: usize, entry: &Entry<'_>, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let marked = index == self.mark.at && !theme.is_printed;
        let style = if marked { theme.selected } else { theme.text };
        let lead = match (theme.is_printed, marked) {
            (true, _) => format!("  {}. ", index + 1),
            (false, true) => "› ".to_owned(),
            (false, false) => "  ".to_owned(),
        };
        let text = clean(entry.text).trim().replace('\n', " ⏎ ");
        let text = Line::from(vec![Span::styled(lead, theme.accent), Span::styled(text, style)]);
        let mut lines = wrap_some(&text, columns, 2, ENTRY_ROWS);
        if !entry.detail.is_empty() {
            let detail = Line::styled(format!("    {}", clean(entry.detail)), theme.dim);
            lines.extend(wrap_some(&detail, columns, 4, ENTRY_ROWS));
        }
        lines
    }
}

/// As many entries as fit, the marked one among them. Entries may have several rows.
pub(crate) fn window(entries: &[Vec<Line<'static>>], marked: usize, height: usize) -> Vec<Line<'static>> {
    let Some(chosen) = entries.get(marked) else { return Vec::new() };
    let mut rows = chosen.len();
    let mut first = marked;
    // Half of the room is for what stands before.
    while first > 0 && rows + entries[first - 1].len() <= height.div_ceil(2).max(chosen.len()) {
        first -= 1;
        rows += entries[first].len();
    }
    let mut last = marked + 1;
    while last < entries.len() && rows < height {
        rows += entries[last].len();
        last += 1;
    }
    while first > 0 && rows + entries[first - 1].len() <= height {
        first -= 1;
        rows += entries[first].len();
    }
    entries[first..last].iter().flatten().take(height).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(counts: &[usize], marked: usize, height: usize) -> Vec<String> {
        let entries: Vec<Vec<Line<'static>>> = counts
            .iter()
            .enumerate()
            .map(|(entry, rows)| (0..*rows).map(|row| Line::raw(format!("{entry}.{row}"))).collect())
            .collect();
        window(&entries, marked, height).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_marked_entry_is_in_the_window() {
        assert_eq!(shown(&[1; 9], 0, 3), ["0.0", "1.0", "2.0"]);
        assert_eq!(shown(&[1; 9], 4, 3), ["3.0", "4.0", "5.0"]);
        assert_eq!(shown(&[1; 9], 8, 3), ["6.0", "7.0", "8.0"]);
        assert_eq!(shown(&[1, 5, 1], 1, 3), ["1.0", "1.1", "1.2"]);
        assert_eq!(shown(&[2, 2, 2], 1, 4), ["1.0", "1.1", "2.0", "2.1"]);
        assert_eq!(shown(&[], 0, 4), Vec::<String>::new());
    }
}
