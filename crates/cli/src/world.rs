//! The real world: the only place that reads the clock, makes ids and looks at the environment.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use jiff::Timestamp;
use tiller_protocol::env::{Clock, Env, Ids};
use uuid::Uuid;

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Random numbers decide about pauses and samples, not about secrets: they come from one seed, and cost no system call.
struct SystemIds {
    random: AtomicU64,
}

impl SystemIds {
    #[expect(clippy::disallowed_methods, reason = "the one place that makes random numbers")]
    fn new() -> Self {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        Self { random: AtomicU64::new(high ^ low) }
    }
}

impl Ids for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn random(&self) -> f64 {
        let count = self.random.fetch_add(STRIDE, Ordering::Relaxed).wrapping_add(STRIDE);
        // 53 random bits fill a double's mantissa exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let fraction = (mixed(count) >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }
}

/// By which the count goes on, as SplitMix64 has it.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number that SplitMix64 makes of a count.
fn mixed(count: u64) -> u64 {
    let first = (count ^ (count >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let second = (first ^ (first >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    second ^ (second >> 31)
}

/// The environment of this process.
pub(crate) fn env() -> anyhow::Result<Env> {
    let cwd =
        std::env::current_dir().context("the current directory is not accessible; change to one that is")?;
    let vars: std::collections::BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let home =
        vars.get("HOME").filter(|home| !home.is_empty()).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    Ok(Env { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds::new()), vars: Arc::new(vars), home, cwd })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_fill_the_range_and_differ() {
        let ids = SystemIds::new();
        let numbers: Vec<f64> = (0..1000).map(|_| ids.random()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        for tenth in 0..10 {
            let count = numbers.iter().filter(|number| (**number * 10.0).floor() == f64::from(tenth)).count();
            assert!((50..200).contains(&count), "{count} of 1000 in tenth {tenth}");
        }
        // The first numbers that the authors of SplitMix64 give for the seed 1234567.
        let known = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        let seed = 1_234_567_u64;
        assert_eq!([1, 2].map(|step| mixed(seed.wrapping_add(STRIDE.wrapping_mul(step)))), known);
    }
}
