//! Frames on their way to the terminal.
//!
//! A terminal may have another size when a frame comes than when it was drawn: what is on the way cannot be called
//! back. Therefore every frame asks how large the terminal is, at its beginning, before the live area and at its end,
//! and last of all where the cursor stands; the answers tell what became of it. Only one frame that moves rows is under
//! way at any time; so a slow terminal is not flooded either.
//!
//! What a late frame missed of the live area before it has to be in sight still when that is found out, and the size
//! must not change in the middle of one. So a frame adds only a few rows, unless there is no live area before and after
//! it: see [`Screen::few_rows`](super::Screen::few_rows).

use std::collections::VecDeque;

use super::picture::Picture;
use super::row::Row;
use super::{Size, Wrapping};

/// Asks for the size in characters.
pub(super) const ASK_SIZE: &str = "\x1b[18t";
/// Asks for the place of the cursor. There is hardly a terminal that does not answer this.
pub(super) const ASK_CURSOR: &str = "\x1b[6n";
/// Frames under way at once.
const MOST: usize = 4;

/// What a frame does with the live area before it.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Nothing: only the questions.
    None,
    /// Rows are written over, each in its place.
    Rows,
    /// Everything is written anew from the first row on, after these finished rows.
    All(Vec<Row>),
}

/// A frame that was sent.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) size: Size,
    pub(super) change: Change,
    /// The row of the cursor when it was drawn.
    pub(super) from: u16,
    /// What it leaves.
    pub(super) picture: Picture,
}

/// Rows of an earlier live area that a frame missed.
#[derive(Clone, Debug)]
pub(super) struct Stray {
    pub(super) rows: u16,
    /// The finished rows between them and the live area.
    pub(super) below: Vec<Row>,
}

/// What an answer was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A frame came as it was drawn.
    Frame,
    /// A frame came when the terminal had another size already.
    Late,
    /// Only the questions had been asked.
    Probe,
    /// Nobody had asked.
    Nothing,
}

/// Everything under way, and what has arrived.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Frame>,
    /// The live area by the last answer.
    pub(super) arrived: Picture,
    pub(super) stray: Option<Stray>,
    /// Whether the terminal has become another than the one that was drawn for.
    pub(super) is_adrift: bool,
}

impl Flight {
    pub(super) fn send(&mut self, frame: Frame) {
        self.sent.push_back(frame);
    }

    /// Takes for granted that a picture stands there, and that nothing is under way. Answers that still come count for what
    /// is sent next; as soon as nothing is under way, they count for nothing.
    pub(super) fn assume(&mut self, picture: Picture) {
        self.sent.clear();
        self.arrived = picture;
        self.stray = None;
        self.is_adrift = false;
    }

    /// Whether nothing is under way.
    pub(super) fn is_over(&self) -> bool {
        self.sent.is_empty()
    }

    /// Whether another frame may be sent.
    pub(super) fn has_room(&self) -> bool {
        let moves_rows = |frame: &Frame| matches!(frame.change, Change::All(_));
        !self.is_adrift && self.sent.len() < MOST && !self.sent.iter().any(moves_rows)
    }

    /// The terminal has taken the oldest frame, and says how large it was each time that the frame asked.
    pub(super) fn answered(&mut self, sizes: &[Size], wrapping: Wrapping) -> Heard {
        let Some(frame) = self.sent.pop_front() else { return Heard::Nothing };
        if matches!(frame.change, Change::None) {
            return Heard::Probe;
        }
        let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else {
            self.arrived = frame.picture;
            return Heard::Frame;
        };
        let width = frame.size.width;
        if first.width != width {
            self.came_late(frame, first.width, wrapping);
        } else if last.width != width {
            // In the middle of it: nothing was missed, and what was written since is cut.
            self.is_adrift = true;
            self.arrived = frame.picture.cut(last.width);
        } else {
            self.arrived = frame.picture;
            return Heard::Frame;
        }
        Heard::Late
    }

    /// Works out what a frame did to a live area that had been wrapped anew before it came.
    fn came_late(&mut self, frame: Frame, width: u16, wrapping: Wrapping) {
        self.is_adrift = true;
        match frame.change {
            Change::None => {}
            Change::Rows => {
                let down = i32::from(frame.picture.cursor.1) - i32::from(frame.from);
                self.arrived.move_cursor(width, wrapping, down);
            }
            Change::All(finished) => {
                let missed = self.arrived.extent(width, wrapping).above.saturating_sub(frame.from);
                self.stray = (missed > 0).then_some(Stray { rows: missed, below: finished });
                self.arrived = frame.picture.cut(width);
            }
        }
    }
}
