//! What a change of size did to the live area.
//!
//! Most terminals wrap rows anew that have become too long, some cut them off; there is no way to ask. But the cursor
//! moves along with the text, so that where it has gone tells which of the two happened.

use std::fmt::Write;

use super::picture::{Extent, Picture};
use super::{BEGIN, END, ERASE, Screen, Size};

/// What a terminal does with rows that have become too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// They are wrapped, and what is below moves down.
    Anew,
    /// They are cut off.
    Never,
}

impl Screen {
    /// The bytes that take the live area away after a change of size. The next frame draws it anew.
    ///
    /// `cursor` is the row in which the terminal says that the cursor is now, if it says so.
    pub fn resize(&mut self, size: Size, cursor: Option<u16>) -> String {
        if self.is_aside {
            return self.resize_aside(size);
        }
        let picture = &self.flight.arrived;
        let wrapped = picture.extent(size.width, Wrapping::Anew);
        let cut = picture.extent(size.width, Wrapping::Never);
        if !self.flight.is_adrift {
            self.wrapping = self.observed(size, cursor, wrapped, cut).unwrap_or(self.wrapping);
        }
        let extent = match self.wrapping {
            Wrapping::Anew => wrapped,
            Wrapping::Never => cut,
        };
        let above = extent.above.min(cursor.unwrap_or(u16::MAX));
        let mut out = BEGIN.to_owned();
        self.picture.cursor.1 = above;
        let removed = self.remove_stray(&mut out, size.width, cursor.map(|row| row - above));
        self.go_to_row(&mut out, 0);
        out.push_str(ERASE);
        out.push_str(END);
        self.picture = Picture::default();
        self.flight.assume(Picture::default());
        self.cursor_is_shown = false;
        self.top = cursor.map(|row| row - above - removed);
        self.size = size;
        out
    }

    /// Takes away what a frame that came late has left above itself, as far as it is in sight, and gives how many rows
    /// that were. `top` is the row in which the live area begins.
    fn remove_stray(&mut self, out: &mut String, width: u16, top: Option<u16>) -> u16 {
        let (Some(stray), Some(top)) = (self.flight.stray.take(), top) else { return 0 };
        let between: u16 = stray.below.iter().map(|row| row.height(width, self.wrapping)).sum();
        let count = stray.rows.min(top.saturating_sub(between));
        if count == 0 {
            return 0;
        }
        self.go_to_row(out, 0);
        let _ = write!(out, "\x1b[{}A\x1b[{count}M", between + count);
        if between > 0 {
            let _ = write!(out, "\x1b[{between}B");
        }
        count
    }

    /// What must have happened, by where the cursor is.
    fn observed(&self, size: Size, cursor: Option<u16>, wrapped: Extent, cut: Extent) -> Option<Wrapping> {
        if wrapped == cut {
            return None;
        }
        let (cursor, top) = (cursor?, self.top?);
        let is_plausible = |extent: Extent| {
            // Terminals keep the end of what was written in sight. Those that have become taller may bring as many lines
            // back from the scrollback as there are.
            let at_the_bottom = size.height.saturating_sub(1 + extent.below);
            let where_it_was = (top + extent.above).min(at_the_bottom);
            (where_it_was..=at_the_bottom).contains(&cursor)
        };
        match (is_plausible(wrapped), is_plausible(cut)) {
            (true, false) => Some(Wrapping::Anew),
            (false, true) => Some(Wrapping::Never),
            _ => None,
        }
    }
}
