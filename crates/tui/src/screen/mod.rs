//! The terminal as a machine: what it shows now, and the bytes that make it show something else.
//!
//! Finished lines are written once and scroll into the terminal's own history; below them is the live area, which is
//! redrawn. All movement is relative to the caret, so nothing has to be known of what stood there before. A row is
//! never left to the terminal to wrap.

mod encode;
mod resize;

use std::fmt::Write;

use ratatui::text::Line;

use crate::text;
use crate::view::View;
use encode::encode;
pub use resize::Wrapping;

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// A row of the live area as it stands on the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    bytes: String,
    width: u16,
}

impl Row {
    fn new(line: &Line<'_>, columns: u16) -> Self {
        let line = text::fit_line(own(line), usize::from(columns));
        let width = u16::try_from(text::line_width(&line)).unwrap_or(u16::MAX);
        Self { bytes: encode(&line), width }
    }

    /// Writes the row over whatever stands there. Behind a full row nothing can be erased: the cursor still stands on
    /// its last column.
    fn write(&self, out: &mut String, columns: u16) {
        out.push_str(&self.bytes);
        if self.width < columns {
            out.push_str("\x1b[K");
        }
    }
}

fn own(line: &Line<'_>) -> Line<'static> {
    let spans =
        line.spans.iter().map(|span| ratatui::text::Span::styled(span.content.to_string(), span.style));
    Line::from(spans.collect::<Vec<_>>()).style(line.style)
}

/// What a terminal shows of us.
#[derive(Debug)]
pub struct Screen {
    size: Size,
    /// The live area.
    rows: Vec<Row>,
    /// Column and row of the cursor within the live area.
    cursor: (u16, u16),
    cursor_is_shown: bool,
    /// The row of the terminal at which the live area begins, if that is known.
    top: Option<u16>,
}

const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";

impl Screen {
    /// A screen whose live area begins at the cursor: in the first column of a row that is known or not.
    #[must_use]
    pub fn new(size: Size, row: Option<u16>) -> Self {
        Self { size, rows: Vec::new(), cursor: (0, 0), cursor_is_shown: true, top: row }
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The bytes that add finished lines and turn the live area into `live`. Finished lines that have become too long are
    /// wrapped, rows of the live area are cut.
    pub fn draw(&mut self, finished: &[Line<'_>], live: &View) -> String {
        let finished: Vec<Line<'static>> = finished.iter().flat_map(|line| self.fitting(line)).collect();
        let (rows, cursor) = self.clipped(live);
        if finished.is_empty() && rows == self.rows && self.stands(cursor) {
            return String::new();
        }
        let mut out = BEGIN.to_owned();
        if finished.is_empty() && rows.len() == self.rows.len() {
            self.rewrite(&mut out, &rows);
        } else {
            self.replace(&mut out, &finished, &rows);
        }
        self.rows = rows;
        self.place(&mut out, cursor);
        out.push_str(END);
        out
    }

    /// A finished line as rows that fit.
    fn fitting(&self, line: &Line<'_>) -> Vec<Line<'static>> {
        match text::line_width(line) <= usize::from(self.size.width) {
            true => vec![own(line)],
            false => text::wrap(line, self.size.width, 0),
        }
    }

    fn stands(&self, cursor: Option<(u16, u16)>) -> bool {
        match cursor {
            Some(place) => self.cursor_is_shown && self.cursor == place,
            None => !self.cursor_is_shown,
        }
    }

    /// The part of the live area that the terminal has room for: its end.
    fn clipped(&self, live: &View) -> (Vec<Row>, Option<(u16, u16)>) {
        let skipped = live.lines.len().saturating_sub(usize::from(self.size.height.max(1)));
        let rows = live.lines[skipped..].iter().map(|line| Row::new(line, self.size.width)).collect();
        let cursor = live.cursor.and_then(|(column, row)| {
            let row = row.checked_sub(u16::try_from(skipped).ok()?)?;
            Some((column.min(self.size.width.saturating_sub(1)), row))
        });
        (rows, cursor)
    }

    /// Rewrites the rows that differ.
    fn rewrite(&mut self, out: &mut String, rows: &[Row]) {
        for (at, row) in rows.iter().enumerate() {
            if self.rows[at] != *row {
                self.go_to_row(out, u16::try_from(at).unwrap_or(u16::MAX));
                row.write(out, self.size.width);
            }
        }
    }

    /// Writes everything from the first row of the live area on. The terminal scrolls as far as it has to.
    fn replace(&mut self, out: &mut String, finished: &[Line<'static>], rows: &[Row]) {
        let width = self.size.width;
        let finished_rows = finished.iter().map(|line| Row::new(line, width));
        let mut written = 0_usize;
        let before = self.rows.len();
        self.go_to_row(out, 0);
        for row in finished_rows.chain(rows.iter().cloned()) {
            if written > 0 {
                out.push_str("\r\n");
            }
            row.write(out, width);
            written += 1;
        }
        let ends_in_finished = rows.is_empty() && written > 0;
        if before > written {
            let next = if written > 0 { "\r\n" } else { "" };
            let _ = write!(out, "{next}\x1b[J");
            if written > 0 && !ends_in_finished {
                out.push_str("\x1b[A");
            }
        } else if ends_in_finished {
            out.push_str("\r\n");
        }
        self.cursor.1 = u16::try_from(rows.len().saturating_sub(1)).unwrap_or(u16::MAX);
        self.scroll(finished.len(), rows.len());
    }

    /// Where the live area is after lines were put above it.
    fn scroll(&mut self, finished: usize, live: usize) {
        let Some(top) = self.top else { return };
        let end = usize::from(top) + finished + live.max(1);
        let height = usize::from(self.size.height);
        let top = if end > height { height.saturating_sub(live.max(1)) } else { usize::from(top) + finished };
        self.top = u16::try_from(top).ok();
    }

    fn go_to_row(&mut self, out: &mut String, row: u16) {
        let from = self.cursor.1;
        if row < from {
            let _ = write!(out, "\x1b[{}A", from - row);
        } else if row > from {
            let _ = write!(out, "\x1b[{}B", row - from);
        }
        out.push('\r');
        self.cursor.1 = row;
    }

    fn place(&mut self, out: &mut String, cursor: Option<(u16, u16)>) {
        let last = u16::try_from(self.rows.len().saturating_sub(1)).unwrap_or(u16::MAX);
        let (column, row) = cursor.unwrap_or((0, last));
        self.go_to_row(out, row.min(last));
        if column > 0 {
            let _ = write!(out, "\x1b[{column}C");
        }
        self.cursor.0 = column;
        self.cursor_is_shown = cursor.is_some();
        if self.cursor_is_shown {
            out.push_str(SHOW_CURSOR);
        }
    }

    /// The bytes that take the live area away and leave the terminal to somebody else.
    pub fn leave(&mut self) -> String {
        let mut out = BEGIN.to_owned();
        self.go_to_row(&mut out, 0);
        out.push_str("\x1b[J");
        out.push_str(SHOW_CURSOR);
        out.push_str(END);
        self.rows.clear();
        self.cursor = (0, 0);
        self.cursor_is_shown = true;
        out
    }

    /// Somebody else has written to the terminal: the live area begins anew at the cursor, in the first column.
    pub fn begin_anew(&mut self, size: Size, row: Option<u16>) {
        *self = Self::new(size, row);
    }
}

#[cfg(test)]
mod tests;
