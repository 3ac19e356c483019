//! What a session of many steps shows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tiller_testkit::Captured;

use super::sample::{median, millis};

/// Steps on each side of a mark whose overheads count for it.
pub(super) const WINDOW: usize = 20;

/// Peak memory in megabytes when the request of a step arrived.
pub(super) type Peaks = Arc<Mutex<Vec<(usize, f64)>>>;

/// What one session showed.
pub(super) struct Session {
    /// Before the request of each step but the first: the time since the end of the answer before it.
    pub(super) overheads: Vec<Duration>,
    /// Of the bodies of requests.
    pub(super) sizes: Vec<usize>,
    /// Peak memory in megabytes when the request of a step arrived.
    pub(super) peaks: Vec<(usize, f64)>,
}

impl Session {
    /// Around a step, in milliseconds.
    pub(super) fn overhead(&self, step: usize) -> f64 {
        let first = step.saturating_sub(1 + WINDOW);
        let window = self.overheads.iter().skip(first).take(step + WINDOW - first);
        millis(median(window.copied()))
    }

    /// Of the body of a step's request, in bytes.
    pub(super) fn size(&self, step: usize) -> usize {
        self.sizes.get(step.saturating_sub(1)).copied().unwrap_or_default()
    }

    pub(super) fn peak(&self, step: usize) -> f64 {
        self.peaks.iter().find(|(at, _)| *at == step).map_or(f64::NAN, |(_, peak)| *peak)
    }
}

/// The time from each answer to the request that follows.
pub(super) fn overheads(requests: &[Captured]) -> anyhow::Result<Vec<Duration>> {
    let pairs = requests.windows(2).map(|pair| {
        let sent = pair[0].sent().context("an answer was not sent to its end")?;
        Ok(pair[1].arrived().saturating_duration_since(sent))
    });
    pairs.collect()
}

/// The most memory a process has used so far, in megabytes.
pub(super) fn peak_memory(pid: u32) -> Option<f64> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse_peak(&status)
}

fn parse_peak(status: &str) -> Option<f64> {
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = kibibytes.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_megabytes() {
        assert_eq!(parse_peak("Name:\tx\nVmHWM:\t   10000 kB\nVmRSS:\t 1 kB\n"), Some(10.24));
        assert_eq!(parse_peak("Name:\tx\n"), None);
    }

    #[test]
    fn a_mark_stands_for_the_steps_around_it() {
        let overheads = (1..=100).map(Duration::from_millis).collect();
        let session = Session { overheads, sizes: Vec::new(), peaks: vec![(3, 7.0)] };
        assert_eq!(session.overhead(50), 50.0);
        assert_eq!(session.overhead(5), 13.0);
        assert_eq!(session.peak(3), 7.0);
        assert!(session.peak(4).is_nan());
    }
}
