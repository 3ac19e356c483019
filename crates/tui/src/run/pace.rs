//! How many rows are written at once when there are more than anybody can read.
//!
//! Terminals differ a thousandfold in how fast they take rows. As many are written as one takes in a moment: then
//! everything is there soon, and a key that is pressed meanwhile is seen soon as well.

use std::time::Duration;

/// A terminal that takes its rows faster gets more of them.
const SHORT: Duration = Duration::from_millis(8);
/// One that takes longer gets fewer.
const LONG: Duration = Duration::from_millis(20);
const FEWEST: usize = 16;
const MOST: usize = 2_048;

/// What one terminal takes.
#[derive(Debug)]
pub(super) struct Pace {
    rows: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { rows: 4 * FEWEST }
    }
}

impl Pace {
    /// Rows for the next frame.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// A frame with so many rows took so long.
    pub(super) fn learn(&mut self, rows: usize, time: Duration) {
        if time > LONG {
            self.rows = (rows / 2).max(FEWEST);
        } else if time < SHORT && rows >= self.rows {
            self.rows = (self.rows * 2).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // TERM-03
    #[test]
    fn fast_terminals_get_more_and_slow_ones_less() {
        let mut pace = Pace::default();
        let first = pace.rows();
        pace.learn(first, Duration::from_millis(1));
        assert_eq!(pace.rows(), 2 * first);
        pace.learn(10, Duration::from_millis(1));
        assert_eq!(pace.rows(), 2 * first, "a frame that was not full proves nothing");
        for _ in 0..20 {
            pace.learn(pace.rows(), Duration::from_millis(1));
        }
        assert_eq!(pace.rows(), MOST);
        for _ in 0..20 {
            pace.learn(pace.rows(), Duration::from_millis(200));
        }
        assert_eq!(pace.rows(), FEWEST);
    }
}
