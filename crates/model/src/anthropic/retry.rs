//! Counting failures and choosing pauses.

use std::sync::Arc;
use std::time::Duration;

use tiller_protocol::env::Ids;

use super::config::RetryPolicy;
use super::failure::{Advice, Failure};
use crate::error::ModelError;
use crate::event::ModelEvent;

/// So many overloads in a row are enough to turn to another model.
const OVERLOADS_BEFORE_FALLBACK: u32 = 3;
/// A pause is shortened by up to this share, so that many clients do not come back at once.
const JITTER: f64 = 0.25;

/// The retries of one request.
pub(crate) struct Retries {
    policy: RetryPolicy,
    ids: Arc<dyn Ids>,
    fallback_allowed: bool,
    done: u32,
    overloads_in_a_row: u32,
}

/// The pause before the next attempt.
pub(crate) struct Pause {
    pub(crate) delay: Duration,
    pub(crate) event: ModelEvent,
}

impl Retries {
    /// None so far.
    pub(crate) fn new(policy: RetryPolicy, ids: Arc<dyn Ids>, fallback_allowed: bool) -> Self {
        Self { policy, ids, fallback_allowed, done: 0, overloads_in_a_row: 0 }
    }

    /// What to do after a failure: wait and try again, or fail.
    pub(crate) fn after(&mut self, failure: Failure) -> Result<Pause, ModelError> {
        let Failure { error, advice } = failure;
        let overloaded = error == ModelError::Overloaded;
        self.overloads_in_a_row = if overloaded { self.overloads_in_a_row + 1 } else { 0 };
        let turn_away = self.fallback_allowed && self.overloads_in_a_row >= OVERLOADS_BEFORE_FALLBACK;
        if turn_away || self.done >= self.policy.max_retries {
            return Err(error);
        }
        let delay = match advice {
            Advice::GiveUp => return Err(error),
            Advice::RetryAfter(wait) if wait > self.policy.max_imposed_delay => return Err(error),
            Advice::RetryAfter(wait) => wait,
            Advice::Retry => self.backoff(),
        };
        self.done += 1;
        let event = ModelEvent::Retrying {
            attempt: self.done,
            max: self.policy.max_retries,
            delay,
            status: error.status(),
            error: error.to_string(),
        };
        Ok(Pause { delay, event })
    }

    fn backoff(&self) -> Duration {
        let growing = self.policy.base_delay.saturating_mul(2u32.saturating_pow(self.done));
        growing.min(self.policy.max_delay).mul_f64(1.0 - JITTER * self.ids.random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(f64);
    impl Ids for Fixed {
        fn next(&self) -> uuid::Uuid {
            uuid::Uuid::nil()
        }
        fn random(&self) -> f64 {
            self.0
        }
    }

    fn retries(fallback_allowed: bool, random: f64) -> Retries {
        Retries::new(RetryPolicy::default(), Arc::new(Fixed(random)), fallback_allowed)
    }

    fn overloaded() -> Failure {
        Failure { error: ModelError::Overloaded, advice: Advice::Retry }
    }

    fn broken() -> Failure {
        Failure { error: ModelError::Protocol { detail: String::new() }, advice: Advice::Retry }
    }

    #[test]
    fn pauses_grow_up_to_a_limit_and_end() {
        let mut retries = retries(false, 0.0);
        let pauses: Vec<u128> = std::iter::from_fn(|| retries.after(overloaded()).ok())
            .map(|pause| pause.delay.as_millis())
            .collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 32_000, 32_000, 32_000]);
    }

    #[test]
    fn pauses_vary() {
        let delay = retries(false, 1.0).after(overloaded()).unwrap().delay;
        assert_eq!(delay.as_millis(), 375);
    }

    // LOOP-50
    #[test]
    fn three_overloads_in_a_row_turn_to_the_fallback() {
        let mut retries = retries(true, 0.0);
        assert!(retries.after(overloaded()).is_ok());
        assert!(retries.after(overloaded()).is_ok());
        assert!(retries.after(broken()).is_ok(), "the row is interrupted");
        assert!(retries.after(overloaded()).is_ok());
        assert!(retries.after(overloaded()).is_ok());
        assert_eq!(retries.after(overloaded()).err(), Some(ModelError::Overloaded));
    }

    #[test]
    fn the_provider_may_impose_a_pause_within_reason() {
        let wait = |seconds| {
            let advice = Advice::RetryAfter(Duration::from_secs(seconds));
            retries(false, 0.5).after(Failure { advice, ..broken() }).map(|pause| pause.delay.as_secs()).ok()
        };
        assert_eq!(wait(0), Some(0));
        assert_eq!(wait(600), Some(600));
        assert_eq!(wait(601), None);
    }
}
