//! A row as it stands on a terminal.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::Wrapping;
use super::encode::encode;
use crate::text;

/// A row with its styles, and what it takes to know how many rows it becomes in a narrower terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    bytes: String,
    text: String,
    width: u16,
}

impl Row {
    /// A line, cut where it does not fit.
    pub(super) fn new(line: &Line<'_>, columns: u16) -> Self {
        let line = text::fit_line(own(line), usize::from(columns));
        let width = u16::try_from(text::line_width(&line)).unwrap_or(u16::MAX);
        Self { bytes: encode(&line), text: line.to_string(), width }
    }

    /// Writes the row where nothing stands.
    pub(super) fn write(&self, out: &mut String) {
        out.push_str(&self.bytes);
    }

    /// Writes the row over whatever stands there. All of it is erased first: tmux takes a row for as long as it ever
    /// was, even if only its beginning is left, and would wrap what cannot be seen.
    pub(super) fn overwrite(&self, out: &mut String) {
        out.push_str("\x1b[2K");
        out.push_str(&self.bytes);
    }

    /// The rows it takes in a terminal of this width.
    pub(super) fn height(&self, columns: u16, wrapping: Wrapping) -> u16 {
        if wrapping == Wrapping::Never || self.width <= columns {
            return 1;
        }
        let columns = columns.max(1);
        if self.text.len() == usize::from(self.width) {
            return self.width.div_ceil(columns);
        }
        // A character of two columns that does not fit begins the next row.
        let (rows, _) = self.text.graphemes(true).fold((1, 0), |(rows, taken), grapheme| {
            let wide = u16::try_from(text::width(grapheme)).unwrap_or(0);
            if taken + wide > columns { (rows + 1, wide) } else { (rows, taken + wide) }
        });
        rows
    }

    /// What is left of it where rows are not wrapped.
    pub(super) fn cut(&self, columns: u16) -> Self {
        Self { width: self.width.min(columns), ..self.clone() }
    }
}

fn own(line: &Line<'_>) -> Line<'static> {
    let spans = line.spans.iter().map(|span| Span::styled(span.content.to_string(), span.style));
    Line::from(spans.collect::<Vec<_>>()).style(line.style)
}
