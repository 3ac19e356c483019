//! Samples the sources: three groups in a fixed order, within a second, each source kept from harming the others.
//!
//! Invariant: attachments stand in the order of the sources, whoever was quicker.

mod bound;
mod measure;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::Attachment;
use tiller_protocol::env::Ids;
use tiller_protocol::state::Files;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::source::{AnySource, Cx, Facts, Group, Observation, Sight};
use bound::Bound;
use measure::Measures;
pub use measure::{Measurement, Output};

/// Time after which sources that read files have to come to an end.
pub const BUDGET: Duration = Duration::from_millis(1_000);
/// Time they have for that; what is not there then is left out.
pub const GRACE: Duration = Duration::from_millis(250);

/// The sources of a session.
pub struct Pipeline {
    sources: Vec<Box<dyn AnySource>>,
    muted: BTreeSet<&'static str>,
    ids: Arc<dyn Ids>,
    enabled: bool,
}

/// What sampling has brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// For the model, in order.
    pub attachments: Vec<Attachment>,
    /// Changes of state that come without words.
    pub effects: Vec<Effect>,
    /// For the user.
    pub notices: Vec<String>,
    /// What was measured.
    pub measurements: Vec<Measurement>,
}

impl Pipeline {
    /// These sources, in their order.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn AnySource>>, ids: Arc<dyn Ids>) -> Self {
        Self { sources, muted: BTreeSet::new(), ids, enabled: true }
    }

    /// Without these kinds.
    #[must_use]
    pub fn muted(mut self, kinds: BTreeSet<&'static str>) -> Self {
        self.muted = kinds;
        self
    }

    /// Switched on or off as a whole.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Whether anything is ever sampled.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether a kind is left out.
    #[must_use]
    pub fn mutes(&self, kind: &str) -> bool {
        self.muted.contains(kind)
    }

    /// Asks the sources. Ends after [`BUDGET`] and [`GRACE`] at the latest.
    pub async fn sample(&self, facts: &Facts, sight: &dyn Sight) -> Sampled {
        if !self.enabled {
            return Sampled::default();
        }
        let budget = CancellationToken::new();
        let deadline = Instant::now() + BUDGET;
        let run = Run { pipeline: self, facts, sight, budget: &budget, end: deadline + GRACE };
        let mut groups = std::pin::pin!(run.groups());
        tokio::select! {
            biased;
            sampled = &mut groups => return sampled,
            () = sleep_until(deadline) => budget.cancel(),
        }
        groups.await
    }
}

/// One time that the sources are asked.
struct Run<'a> {
    pipeline: &'a Pipeline,
    facts: &'a Facts,
    sight: &'a dyn Sight,
    budget: &'a CancellationToken,
    /// When nothing more is waited for.
    end: Instant,
}

impl Run<'_> {
    async fn groups(&self) -> Sampled {
        let mut gathered = Gathered { bound: Bound::default(), sampled: Sampled::default() };
        if self.facts.prompt.is_some() {
            gathered.take(self.group(Group::Mention, &self.facts.files).await);
        }
        // What was mentioned is known to the other sources: it needs not be told again.
        let files = self.facts.files.after(gathered.sampled.all_effects());
        let main_only = async {
            match self.facts.agent {
                None => self.group(Group::MainOnly, &files).await,
                Some(_) => Vec::new(),
            }
        };
        let (core, main_only) = tokio::join!(self.group(Group::Core, &files), main_only);
        gathered.take(core);
        gathered.take(main_only);
        gathered.sampled
    }

    async fn group(&self, group: Group, files: &Files) -> Vec<(Observation, Option<Measurement>)> {
        let wanted = |source: &&dyn AnySource| source.group() == group && self.is_heard(*source);
        let sources = self.pipeline.sources.iter().map(AsRef::as_ref).filter(wanted);
        join_all(sources.map(|source| self.one(source, files))).await
    }

    /// A source of which nothing is wanted is not asked: what it notes as told would be told to nobody.
    fn is_heard(&self, source: &dyn AnySource) -> bool {
        source.kinds().iter().any(|kind| !self.pipeline.mutes(kind))
    }

    /// One source, whatever it does.
    async fn one(&self, source: &dyn AnySource, files: &Files) -> (Observation, Option<Measurement>) {
        let measures = Measures::begin(source.label(), self.pipeline.ids.as_ref());
        let cx = Cx { facts: self.facts, files, sight: self.sight, budget: self.budget };
        let observing = AssertUnwindSafe(source.observe(&cx)).catch_unwind();
        let observed = match timeout_at(self.end, observing).await {
            Ok(Ok(Ok(observation))) => Ok(self.unmuted(observation)),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(_)) => Err("it panicked".to_owned()),
            Err(_) => Err("it took too long".to_owned()),
        };
        match observed {
            Ok(observation) => {
                let measurement = measures.success(&observation);
                (observation, measurement)
            }
            Err(error) => {
                tracing::warn!(label = source.label(), "attachments are missing: {error}");
                (Observation::nothing(), measures.failure())
            }
        }
    }

    fn unmuted(&self, mut observation: Observation) -> Observation {
        observation.attachments.retain(|attachment| !self.pipeline.mutes(attachment.kind()));
        observation
    }
}

impl Sampled {
    fn all_effects(&self) -> impl Iterator<Item = &Effect> {
        let attached = self.attachments.iter().flat_map(|attachment| &attachment.effects);
        attached.chain(&self.effects)
    }
}

/// Puts together what sources say, within bounds.
struct Gathered {
    bound: Bound,
    sampled: Sampled,
}

impl Gathered {
    fn take(&mut self, observed: Vec<(Observation, Option<Measurement>)>) {
        for (observation, measurement) in observed {
            let fitting =
                observation.attachments.into_iter().filter(|attachment| self.bound.admits(attachment));
            self.sampled.attachments.extend(fitting);
            self.sampled.effects.extend(observation.effects);
            self.sampled.notices.extend(observation.notices);
            self.sampled.measurements.extend(measurement);
        }
    }
}

#[cfg(test)]
mod tests;
