//! When room has to be made.

/// Tokens that are kept free for an answer, at most; the summary is one.
const RESERVED: u64 = 20_000;
/// The part of a small window that is kept free for it.
const RESERVED_SHARE: u64 = 4;
/// From here old results are cleared.
const LIGHT: u64 = 60;
/// From here the user is warned.
const WARNING: u64 = 75;
/// Failures in a row after which it is no longer tried.
const PATIENCE: u32 = 3;

/// What a model can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens of a request and its answer.
    pub tokens: u64,
    /// Tokens of an answer.
    pub max_output: u64,
}

impl Window {
    /// What of it a conversation may fill.
    #[must_use]
    pub fn effective(self) -> u64 {
        self.tokens.saturating_sub(self.max_output.min(RESERVED).min(self.tokens / RESERVED_SHARE))
    }

    /// How full it is, if a conversation is folded at this share.
    #[must_use]
    pub fn fullness(self, tokens: u64, fold_at: Percent) -> Fullness {
        let reached = |percent: u64| tokens.saturating_mul(100) >= self.effective().saturating_mul(percent);
        match () {
            () if reached(fold_at.0) => Fullness::Full,
            () if reached(WARNING) => Fullness::Warning,
            () if reached(LIGHT) => Fullness::Light,
            () => Fullness::Ample,
        }
    }

    /// Tokens of conversation that fit into one request for a summary, beside this much of instructions.
    #[must_use]
    pub fn room_for_folding(self, instructions: u64) -> u64 {
        self.effective().saturating_sub(instructions)
    }
}

/// How full a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fullness {
    /// There is room.
    Ample,
    /// Old results can go.
    Light,
    /// The user should know.
    Warning,
    /// The conversation has to be folded.
    Full,
}

/// The share at which a conversation is folded, between 50 and 95.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(u64);

impl Percent {
    /// This share, or the nearest that makes sense.
    #[must_use]
    pub fn new(percent: u64) -> Self {
        Self(percent.clamp(50, 95))
    }
}

impl Default for Percent {
    fn default() -> Self {
        Self(85)
    }
}

/// Whether folding happens by itself: it is switched off by the user, or by failing again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Automatic {
    failures: u32,
    off: bool,
}

impl Automatic {
    /// As the settings say.
    #[must_use]
    pub fn new(enabled: bool) -> Self {
        Self { failures: 0, off: !enabled }
    }

    /// Whether the user wants it.
    #[must_use]
    pub fn is_wanted(self) -> bool {
        !self.off
    }

    /// Whether it is tried.
    #[must_use]
    pub fn is_on(self) -> bool {
        !self.off && self.failures < PATIENCE
    }

    /// It has failed; says whether it is given up with this.
    #[must_use]
    pub fn failed(&mut self) -> bool {
        let was_on = self.is_on();
        self.failures = self.failures.saturating_add(1);
        was_on && !self.is_on()
    }

    /// It has worked.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const USUAL: Window = Window { tokens: 200_000, max_output: 64_000 };

    #[test]
    fn thresholds_are_shares_of_what_is_left_beside_the_answer() {
        assert_eq!(USUAL.effective(), 180_000);
        assert_eq!(Window { tokens: 20_000, max_output: 64_000 }.effective(), 15_000);
        assert_eq!(Window { tokens: 8_000, max_output: 1_000 }.effective(), 7_000);
        let fullness = |tokens| USUAL.fullness(tokens, Percent::default());
        assert_eq!(fullness(107_999), Fullness::Ample);
        assert_eq!(fullness(108_000), Fullness::Light);
        assert_eq!(fullness(135_000), Fullness::Warning);
        assert_eq!(fullness(153_000), Fullness::Full);
        assert_eq!(USUAL.fullness(90_000, Percent::new(10)), Fullness::Full, "50 is the least");
        assert_eq!(USUAL.fullness(170_999, Percent::new(100)), Fullness::Warning, "95 is the most");
    }

    #[test]
    fn after_three_failures_it_is_given_up() {
        let mut automatic = Automatic::new(true);
        assert!(!automatic.failed() && !automatic.failed());
        automatic.succeeded();
        assert!(!automatic.failed() && !automatic.failed() && automatic.is_on());
        assert!(automatic.failed() && !automatic.is_on());
        assert!(!automatic.failed(), "it is said once");
        assert!(!Automatic::new(false).is_on());
    }

    proptest! {
        #[test]
        fn a_request_for_a_summary_always_has_room_for_its_answer(
            tokens in 0_u64..2_000_000, max_output in 0_u64..200_000, instructions in 0_u64..50_000,
        ) {
            let window = Window { tokens, max_output };
            let room = window.room_for_folding(instructions);
            prop_assert!(room == 0 || room + instructions + max_output.min(RESERVED).min(tokens / 4) <= tokens);
        }

        #[test]
        fn fuller_is_never_less(tokens in 0_u64..400_000, more in 0_u64..100_000, percent in 0_u64..120) {
            let at = Percent::new(percent);
            prop_assert!(USUAL.fullness(tokens + more, at) >= USUAL.fullness(tokens, at));
        }
    }
}
