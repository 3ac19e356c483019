//! Measurements of sources: one run in twenty.

use std::time::Duration;

use tiller_protocol::env::Ids;
use tokio::time::Instant;

use crate::source::Observation;

/// The share of runs that is measured.
const SHARE: f64 = 0.05;

/// What was measured of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The source.
    pub label: &'static str,
    /// How long it took.
    pub duration: Duration,
    /// What it said; absent when it failed.
    pub output: Option<Output>,
}

/// How much a source said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The attachments' JSON.
    pub bytes: usize,
    /// How many they are.
    pub count: usize,
}

/// A source that is running.
pub(super) struct Measures {
    label: &'static str,
    begun: Instant,
    wanted: bool,
}

impl Measures {
    pub(super) fn begin(label: &'static str, ids: &dyn Ids) -> Self {
        Self { label, begun: Instant::now(), wanted: ids.random() < SHARE }
    }

    pub(super) fn success(&self, observation: &Observation) -> Option<Measurement> {
        self.wanted.then(|| {
            let bytes = observation.attachments.iter().map(|one| one.attachment.to_string().len()).sum();
            self.measurement(Some(Output { bytes, count: observation.attachments.len() }))
        })
    }

    pub(super) fn failure(&self) -> Option<Measurement> {
        self.wanted.then(|| self.measurement(None))
    }

    fn measurement(&self, output: Option<Output>) -> Measurement {
        Measurement { label: self.label, duration: self.begun.elapsed(), output }
    }
}
