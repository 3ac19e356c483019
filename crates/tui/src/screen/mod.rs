//! The terminal as a machine: what it shows now, and the bytes that make it show something else.
//!
//! Finished lines are written once and scroll into the terminal's own history; below them is the live area, which is
//! redrawn. All movement is relative to the cursor, so nothing has to be known of what stood there before. A row is
//! never left to the terminal to wrap.

mod aside;
mod encode;
mod flight;
mod picture;
mod resize;
mod row;

use std::fmt::Write;

use ratatui::text::Line;

use crate::text;
use crate::view::View;
pub(crate) use aside::TURN_BACK;
pub use flight::Heard;
use flight::{ASK_CURSOR, ASK_SIZE, Change, Flight, Frame};
use picture::Picture;
pub use resize::Wrapping;
use row::Row;

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// What a terminal shows of us.
#[derive(Debug)]
pub struct Screen {
    size: Size,
    /// The live area as it was drawn last.
    picture: Picture,
    cursor_is_shown: bool,
    /// The row of the terminal at which the live area begins, if that is known.
    top: Option<u16>,
    flight: Flight,
    /// Whether the terminal answers questions.
    answers: bool,
    wrapping: Wrapping,
    /// Whether the alternate screen is shown.
    is_aside: bool,
}

/// Finished rows that a frame adds above a live area, as a share of the screen.
const SHARE: usize = 6;
/// And on the smallest screen.
const FEWEST_ROWS: usize = 4;

const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Rows of the live area are cut rather than wrapped, should the terminal have become narrower meanwhile.
const CUT: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
/// Erases everything from the row of the cursor on. Who erases from the very first cell gets a copy of the screen in the
/// scrollback from tmux and some other terminals: so the row goes by itself, and the rest from its second cell on.
const ERASE: &str = "\x1b[2K\x1b[C\x1b[J\r";

impl Screen {
    /// A screen whose live area begins at the cursor: in the first column of a row that is known or not. `wrapping` is
    /// what the terminal probably does with long rows.
    #[must_use]
    pub fn new(size: Size, row: Option<u16>, wrapping: Wrapping) -> Self {
        Self {
            size,
            picture: Picture::default(),
            cursor_is_shown: true,
            top: row,
            flight: Flight::default(),
            answers: false,
            wrapping,
            is_aside: false,
        }
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The terminal answers questions: from now on every frame asks what became of it.
    pub fn ask(&mut self) {
        self.answers = true;
    }

    /// Whether the terminal answers questions, as far as is known.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.answers
    }

    /// Whether a frame may be drawn now, or others are waited for.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.flight.has_room()
    }

    /// Whether everything that was sent has arrived.
    #[must_use]
    pub fn has_arrived(&self) -> bool {
        self.flight.is_over()
    }

    /// Whether a frame came when the terminal had another size already.
    #[must_use]
    pub fn is_adrift(&self) -> bool {
        self.flight.is_adrift
    }

    /// The answers did not come: they are not waited for.
    pub fn stop_waiting(&mut self) {
        self.flight.assume(self.picture.clone());
    }

    /// The bytes that only ask.
    pub fn probe(&mut self) -> String {
        self.send(Change::None, self.picture.cursor.1);
        format!("{ASK_SIZE}{ASK_CURSOR}")
    }

    /// The terminal has answered: how large it was when it was asked, if it tells that, and in which row the cursor is.
    pub fn answered(&mut self, sizes: &[Size], row: u16) -> Heard {
        let heard = self.flight.answered(sizes, self.wrapping);
        if heard == Heard::Frame && self.flight.is_over() {
            self.top = row.checked_sub(self.picture.cursor.1);
        }
        heard
    }

    /// How many finished rows a frame may add together with a live area. Where there is none before and after it, it may
    /// be any number.
    #[must_use]
    pub fn few_rows(&self) -> usize {
        FEWEST_ROWS.max(usize::from(self.size.height) / SHARE)
    }

    /// Whether there is no live area.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.picture.rows.is_empty()
    }

    fn send(&mut self, change: Change, from: u16) {
        let picture = self.picture.clone();
        self.flight.send(Frame { size: self.size, change, from, picture });
    }

    /// The bytes that add finished lines and turn the live area into `live`. Finished lines that have become too long are
    /// wrapped, rows of the live area are cut.
    pub fn draw(&mut self, finished: &[Line<'_>], live: &View) -> String {
        let finished: Vec<Row> = finished.iter().flat_map(|line| self.fitting(line)).collect();
        let (rows, cursor) = self.clipped(live);
        if finished.is_empty() && rows == self.picture.rows && self.stands(cursor) {
            return String::new();
        }
        let mut out = BEGIN.to_owned();
        self.ask_size(&mut out);
        let from = self.picture.cursor.1;
        let change = if finished.is_empty() && rows.len() == self.picture.rows.len() {
            self.rewrite(&mut out, &rows);
            Change::Rows
        } else {
            let is_bare = self.is_bare();
            self.replace(&mut out, &finished, &rows);
            // Where there was no live area, none can be missed.
            Change::All(if is_bare { Vec::new() } else { finished })
        };
        self.picture.rows = rows;
        self.place(&mut out, cursor);
        out.push_str(END);
        if self.answers {
            self.send(change, from);
            self.ask_size(&mut out);
            out.push_str(ASK_CURSOR);
        } else {
            self.flight.assume(self.picture.clone());
        }
        out
    }

    fn ask_size(&self, out: &mut String) {
        if self.answers {
            out.push_str(ASK_SIZE);
        }
    }

    /// A finished line as rows that fit.
    fn fitting(&self, line: &Line<'_>) -> Vec<Row> {
        let width = self.size.width;
        match text::line_width(line) <= usize::from(width) {
            true => vec![Row::new(line, width)],
            false => text::wrap(line, width, 0).iter().map(|row| Row::new(row, width)).collect(),
        }
    }

    fn stands(&self, cursor: Option<(u16, u16)>) -> bool {
        match cursor {
            Some(place) => self.cursor_is_shown && self.picture.cursor == place,
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
        out.push_str(CUT);
        for (at, row) in rows.iter().enumerate() {
            if self.picture.rows[at] != *row {
                self.go_to_row(out, u16::try_from(at).unwrap_or(u16::MAX));
                row.overwrite(out);
            }
        }
        out.push_str(WRAP);
    }

    /// Writes everything from the first row of the live area on. The terminal scrolls as far as it has to.
    fn replace(&mut self, out: &mut String, finished: &[Row], rows: &[Row]) {
        self.go_to_row(out, 0);
        out.push_str(ERASE);
        for row in finished {
            row.write(out);
            out.push_str("\r\n");
        }
        out.push_str(CUT);
        let last = rows.len().saturating_sub(1);
        for (at, row) in rows.iter().enumerate() {
            row.write(out);
            if at < last {
                out.push_str("\r\n");
            }
        }
        out.push_str(WRAP);
        self.picture.cursor.1 = u16::try_from(last).unwrap_or(u16::MAX);
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
        let from = self.picture.cursor.1;
        if row < from {
            let _ = write!(out, "\x1b[{}A", from - row);
        } else if row > from {
            let _ = write!(out, "\x1b[{}B", row - from);
        }
        out.push('\r');
        self.picture.cursor.1 = row;
    }

    fn place(&mut self, out: &mut String, cursor: Option<(u16, u16)>) {
        let last = u16::try_from(self.picture.rows.len().saturating_sub(1)).unwrap_or(u16::MAX);
        let (column, row) = cursor.unwrap_or((0, last));
        self.go_to_row(out, row.min(last));
        if column > 0 {
            let _ = write!(out, "\x1b[{column}C");
        }
        self.picture.cursor.0 = column;
        self.cursor_is_shown = cursor.is_some();
        if self.cursor_is_shown {
            out.push_str(SHOW_CURSOR);
        }
    }

    /// The bytes that add finished lines where there is no live area, and ask nothing.
    pub fn append(&mut self, finished: &[Line<'_>]) -> String {
        let mut out = String::new();
        for row in finished.iter().flat_map(|line| self.fitting(line)) {
            row.write(&mut out);
            out.push_str("\r\n");
        }
        out
    }

    /// The bytes that take the live area away and leave the terminal to somebody else.
    pub fn leave(&mut self) -> String {
        let mut out = BEGIN.to_owned();
        self.go_to_row(&mut out, 0);
        out.push_str(ERASE);
        out.push_str(SHOW_CURSOR);
        out.push_str(END);
        self.picture = Picture::default();
        self.flight.assume(Picture::default());
        self.cursor_is_shown = true;
        out
    }

    /// Somebody else has written to the terminal: the live area begins anew at the cursor, in the first column.
    pub fn begin_anew(&mut self, size: Size, row: Option<u16>) {
        self.size = size;
        self.top = row;
        self.picture = Picture::default();
        self.flight.assume(Picture::default());
        self.cursor_is_shown = true;
    }
}

#[cfg(test)]
mod tests;
