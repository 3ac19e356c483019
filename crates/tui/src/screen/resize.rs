//! What a change of size did to the live area.
//!
//! Most terminals wrap rows anew that have become too long, some cut them off; there is no way to ask. But the cursor
//! moves along with the text, so that where it has gone tells which of the two happened.

use super::{BEGIN, END, Screen, Size};

/// What a terminal does with rows that have become too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// They are wrapped, and what is below moves down.
    Anew,
    /// They are cut off.
    Never,
}

/// Rows that the live area takes above the cursor, and below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    above: u16,
    below: u16,
}

impl Screen {
    /// The bytes that take the live area away after a change of size. The next frame draws it anew.
    ///
    /// `cursor` is the row in which the terminal says that the cursor is now; `otherwise` is what counts if that is not
    /// known or tells nothing.
    pub fn resize(&mut self, size: Size, cursor: Option<u16>, otherwise: Wrapping) -> String {
        let wrapped = self.extent(size.width, Wrapping::Anew);
        let cut = self.extent(size.width, Wrapping::Never);
        let extent = match self.observed(size, cursor, wrapped, cut).unwrap_or(otherwise) {
            Wrapping::Anew => wrapped,
            Wrapping::Never => cut,
        };
        let above = extent.above.min(cursor.unwrap_or(u16::MAX));
        let mut out = BEGIN.to_owned();
        self.cursor.1 = above;
        self.go_to_row(&mut out, 0);
        out.push_str("\x1b[J");
        out.push_str(END);
        self.rows.clear();
        self.cursor = (0, 0);
        self.cursor_is_shown = false;
        self.top = cursor.map(|row| row - above);
        self.size = size;
        out
    }

    fn extent(&self, width: u16, wrapping: Wrapping) -> Extent {
        let width = width.max(1);
        let height = |row: &super::Row| match wrapping {
            Wrapping::Anew => row.width.div_ceil(width).max(1),
            Wrapping::Never => 1,
        };
        let at = usize::from(self.cursor.1).min(self.rows.len());
        let (before, rest) = self.rows.split_at(at);
        let own = rest.first().map_or(1, height);
        let within = match wrapping {
            Wrapping::Anew => (self.cursor.0 / width).min(own - 1),
            Wrapping::Never => 0,
        };
        let below: u16 = rest.iter().skip(1).map(height).sum();
        Extent { above: before.iter().map(height).sum::<u16>() + within, below: below + own - 1 - within }
    }

    /// What must have happened, by where the cursor is.
    fn observed(&self, size: Size, cursor: Option<u16>, wrapped: Extent, cut: Extent) -> Option<Wrapping> {
        if wrapped == cut {
            return Some(Wrapping::Never);
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
