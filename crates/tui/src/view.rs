//! What a widget shows.

use ratatui::text::Line;

/// Lines of text, and where in them the user types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// From top to bottom; each fits the width it was asked for.
    pub lines: Vec<Line<'static>>,
    /// Column and row of the caret within the lines, if the widget takes text.
    pub cursor: Option<(u16, u16)>,
}

impl View {
    /// Lines without a caret.
    #[must_use]
    pub fn of(lines: Vec<Line<'static>>) -> Self {
        Self { lines, cursor: None }
    }

    /// Puts another view below this one.
    pub fn push(&mut self, below: Self) {
        let offset = u16::try_from(self.lines.len()).unwrap_or(u16::MAX);
        if let Some((column, row)) = below.cursor {
            self.cursor = Some((column, row.saturating_add(offset)));
        }
        self.lines.extend(below.lines);
    }
}
