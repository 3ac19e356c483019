//! Tables: as wide as their content, narrower where there is no room.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::text::{line_width, wrap};
use crate::theme::Theme;

/// Between two columns.
const BETWEEN: &str = " │ ";
/// A column is not made narrower than this.
const NARROWEST: usize = 4;

/// The cells of a table.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Line<'static>>>,
    current: Vec<Line<'static>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), current: Vec::new() }
    }

    pub(super) fn cell(&mut self, cell: Line<'static>) {
        self.current.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.current));
    }

    pub(super) fn rows(self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let widths = self.widths(usize::from(columns));
        let needed = widths.iter().sum::<usize>() + BETWEEN.chars().count() * widths.len().saturating_sub(1);
        if needed > usize::from(columns) {
            return self.as_list(theme);
        }
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, &widths, at == 0, theme));
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rules.join("─┼─"), theme.dim));
            }
        }
        lines
    }

    /// The widest cell of each column; if that is too much, the widest columns give way.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.alignments.len();
        let widest = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(line_width).max();
        let mut widths: Vec<usize> = (0..count).map(|column| widest(column).unwrap_or(0).max(1)).collect();
        let room = columns.saturating_sub(BETWEEN.chars().count() * count.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(width) if *width > NARROWEST => *width -= 1,
                _ => break,
            }
        }
        widths
    }

    fn row(
        &self,
        cells: &[Line<'static>],
        widths: &[usize],
        head: bool,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        let wrapped: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let cell = cells.get(column).cloned().unwrap_or_default();
                let cell = if head { cell.style(theme.strong) } else { cell };
                wrap(&cell, u16::try_from(*width).unwrap_or(u16::MAX), 0)
            })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        (0..height).map(|at| self.joined(&wrapped, widths, at, theme)).collect()
    }

    fn joined(
        &self,
        cells: &[Vec<Line<'static>>],
        widths: &[usize],
        at: usize,
        theme: &Theme,
    ) -> Line<'static> {
        let mut spans = Vec::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                spans.push(Span::styled(BETWEEN, theme.dim));
            }
            let part = cell.get(at).cloned().unwrap_or_default();
            let missing = width.saturating_sub(line_width(&part));
            let before = match self.alignments.get(column) {
                Some(Alignment::Right) => missing,
                Some(Alignment::Center) => missing / 2,
                _ => 0,
            };
            let is_last = column + 1 == widths.len();
            spans.push(Span::raw(" ".repeat(before)));
            spans.extend(part.spans);
            spans.push(Span::raw(" ".repeat(if is_last { 0 } else { missing - before })));
        }
        Line::from(spans.into_iter().filter(|span| !span.content.is_empty()).collect::<Vec<_>>())
    }

    /// Where there is no room for columns, each row is a list of its cells.
    fn as_list(&self, theme: &Theme) -> Vec<Line<'static>> {
        let Some((head, body)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for (at, row) in body.iter().enumerate() {
            if at > 0 {
                lines.push(Line::default());
            }
            for (name, cell) in head.iter().zip(row) {
                let name = Span::styled(format!("{name}: "), theme.strong);
                lines.push(Line::from(std::iter::once(name).chain(cell.spans.clone()).collect::<Vec<_>>()));
            }
        }
        lines
    }
}
