//! The live area as it stands on a terminal.

use super::Wrapping;
use super::row::Row;

/// Rows, and the cursor among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    pub(super) rows: Vec<Row>,
    /// Column and row of the cursor.
    pub(super) cursor: (u16, u16),
}

/// Rows of a terminal that a picture takes above the cursor, and below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) above: u16,
    pub(super) below: u16,
}

impl Picture {
    /// What the picture takes in a terminal that has become this wide.
    pub(super) fn extent(&self, width: u16, wrapping: Wrapping) -> Extent {
        let width = width.max(1);
        let height = |row: &Row| row.height(width, wrapping);
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

    /// Moves the cursor by rows of the terminal, which may be parts of ours.
    pub(super) fn move_cursor(&mut self, width: u16, wrapping: Wrapping, down: i32) {
        let width = width.max(1);
        let mut target = i32::from(self.extent(width, wrapping).above) + down;
        for (at, row) in self.rows.iter().enumerate() {
            let height = i32::from(row.height(width, wrapping));
            if target < height || at + 1 == self.rows.len() {
                let column = u16::try_from(target.clamp(0, height - 1)).unwrap_or(0) * width;
                self.cursor = (column, u16::try_from(at).unwrap_or(u16::MAX));
                return;
            }
            target -= height;
        }
    }

    /// The picture where nothing is wrapped.
    pub(super) fn cut(&self, width: u16) -> Self {
        let rows = self.rows.iter().map(|row| row.cut(width)).collect();
        Self { rows, cursor: (self.cursor.0.min(width.saturating_sub(1)), self.cursor.1) }
    }
}
