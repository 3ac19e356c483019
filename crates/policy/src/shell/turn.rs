//! In which order the parts of a script may happen.

/// When a part of a script happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// How many commands are written before it.
    pub(crate) at: usize,
    pub(crate) order: Order,
}

/// Whether a part of a script happens where it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// There, and once.
    #[default]
    Written,
    /// Perhaps more than once, or at the same time as others: in a loop, in a pipeline, for each name that is found.
    Mixed,
    /// At any time from there on: what a function does, or whoever reads or writes a pipe that bears a name.
    Later,
}

impl Turn {
    /// Whether another part may happen before this one.
    pub(crate) fn may_follow(self, other: Self) -> bool {
        other.at < self.at
            || match self.order {
                Order::Written => false,
                Order::Mixed => other.order != Order::Written,
                Order::Later => true,
            }
    }

    /// Whether it may happen more than once.
    pub(crate) fn repeats(self) -> bool {
        self.order != Order::Written
    }
}
