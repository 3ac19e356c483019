//! Tables: as wide as their content, narrower where there is no room.

use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::{line_width, width, wrap};
use crate::theme::Theme;

/// Between two columns.
const BETWEEN: &str = " │ ";
/// No column is made narrower than its longest word, unless that is longer than this.
const LONGEST_WORD: usize = 16;

/// The lines of a cell.
type Cell = Vec<Line<'static>>;

/// The cells of a table.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
    current: Vec<Cell>,
    /// Only what follows the head is shown.
    is_headless: bool,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), current: Vec::new(), is_headless: false }
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        self.current.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.current));
    }

    /// Leaves out the head if it was shown before.
    pub(super) fn hide_head(&mut self, was_shown: bool) {
        self.is_headless |= was_shown;
    }

    pub(super) fn rows(self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let widths = self.widths(usize::from(columns));
        let needed = widths.iter().sum::<usize>() + BETWEEN.chars().count() * widths.len().saturating_sub(1);
        if needed > usize::from(columns) {
            return self.as_list(theme);
        }
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate().skip(usize::from(self.is_headless)) {
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
        let mut widths: Vec<usize> = (0..count).map(|column| self.widest(column, line_width)).collect();
        let least: Vec<usize> =
            (0..count).map(|column| self.widest(column, longest_word).min(LONGEST_WORD)).collect();
        let room = columns.saturating_sub(BETWEEN.chars().count() * count.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let wider = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
            match wider.map(|(width, _)| width).max() {
                Some(width) => *width -= 1,
                None => break,
            }
        }
        widths
    }

    /// The greatest measure of the lines of a column.
    fn widest(&self, column: usize, measure: impl Fn(&Line<'static>) -> usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).flatten().map(measure).max().unwrap_or(0).max(1)
    }

    fn row(&self, cells: &[Cell], widths: &[usize], head: bool, theme: &Theme) -> Vec<Line<'static>> {
        let wrapped: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let style = if head { theme.strong } else { Style::new() };
                let width = u16::try_from(*width).unwrap_or(u16::MAX);
                let lines = cells.get(column).into_iter().flatten();
                lines.flat_map(|line| wrap(&line.clone().style(style), width, 0)).collect()
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
                let name: Vec<String> = name.iter().map(ToString::to_string).collect();
                let mut spans = vec![Span::styled(format!("{}: ", name.join(" ")), theme.strong)];
                for (at, line) in cell.iter().enumerate() {
                    spans.extend((at > 0).then(|| Span::raw(" ")));
                    spans.extend(line.spans.iter().cloned());
                }
                lines.push(Line::from(spans));
            }
        }
        lines
    }
}

fn longest_word(line: &Line<'static>) -> usize {
    line.to_string().split(' ').map(width).max().unwrap_or(0)
}
