//! What was cut, to be inserted again.

use std::collections::VecDeque;
use std::ops::Range;

/// Cuts that are remembered.
const MOST: usize = 60;

/// The side on which a text was cut away from the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The cuts, the latest first.
#[derive(Clone, Debug, Default)]
pub(super) struct KillRing {
    cuts: VecDeque<String>,
    /// Whether the last thing done was a cut, so that the next one adds to it.
    growing: bool,
    /// Where the last insertion stands, as long as it can be exchanged, and which cut it was.
    inserted: Option<(Range<usize>, usize)>,
}

impl KillRing {
    /// Rewrites every cut.
    pub(super) fn rewrite(&mut self, how: impl Fn(&str) -> String) {
        self.rest();
        self.cuts.iter_mut().for_each(|cut| *cut = how(cut));
    }

    /// Something else was done in between.
    pub(super) fn rest(&mut self) {
        self.growing = false;
        self.inserted = None;
    }

    pub(super) fn cut(&mut self, text: &str, side: Side) {
        self.inserted = None;
        if text.is_empty() {
            return;
        }
        match self.cuts.front_mut().filter(|_| self.growing) {
            Some(latest) if side == Side::Left => latest.insert_str(0, text),
            Some(latest) => latest.push_str(text),
            None => {
                self.cuts.push_front(text.to_owned());
                self.cuts.truncate(MOST);
            }
        }
        self.growing = true;
    }

    /// The latest cut, about to be inserted at an offset.
    pub(super) fn yank(&mut self, at: usize) -> Option<String> {
        self.growing = false;
        let text = self.cuts.front()?.clone();
        self.inserted = Some((at..at + text.len(), 0));
        Some(text)
    }

    /// What to put in place of the last insertion, and where that is.
    pub(super) fn older(&mut self) -> Option<(Range<usize>, String)> {
        let (range, index) = self.inserted.take()?;
        let index = (index + 1) % self.cuts.len().max(1);
        let text = self.cuts.get(index)?.clone();
        self.inserted = Some((range.start..range.start + text.len(), index));
        Some((range, text))
    }
}
