//! What follows an answer on the side. None of it can change the step, and its failures are only logged.

use tiller_protocol::entry::Level;

use super::Task;
use super::sample::Attempt;
use crate::cache_watch::Head;
use crate::store::StoreError;
use crate::telemetry::Telemetry;

impl Task {
    /// Looks at a finished answer.
    pub(super) fn after_sampling(&mut self, attempt: &Attempt) -> Result<(), StoreError> {
        if attempt.blocks == 0 {
            return Ok(());
        }
        if self.turn.pending_steering > 0 {
            self.measure(&Telemetry::SteeringAnswered { count: self.turn.pending_steering });
            self.turn.pending_steering = 0;
        }
        if attempt.is_overly_agreeable {
            self.measure(&Telemetry::ResponseKeyword);
        }
        self.learn_about(&attempt.model);
        self.watch_cache(attempt)
    }

    /// Asks the provider about a model of which only the shipped table is known, once, without waiting for the answer.
    fn learn_about(&mut self, model: &str) {
        if self.services.model.info(model).settled || !self.asked_about.insert(model.to_owned()) {
            return;
        }
        let refresh = self.services.model.refresh(model.to_owned());
        let ended = self.services.ended.clone();
        self.services.tasks.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                learned = refresh => if let Err(error) = learned {
                    tracing::info!("the provider said nothing about its model: {error}");
                },
            }
        });
    }

    fn watch_cache(&mut self, attempt: &Attempt) -> Result<(), StoreError> {
        let head = Head {
            model: attempt.model.clone(),
            epoch: self.epoch.as_ref().map(|epoch| epoch.key.clone()).unwrap_or_default(),
            thinking_dropped: self.drop_thinking,
            folded: self.journal.state.folded.map(|folded| folded.seq),
            cleared: self.journal.state.cleared,
        };
        let now = self.fixed.env.now();
        match self.cache_watch.observe(head, &attempt.usage, now) {
            Some(cause) => {
                self.notice("cache_miss", Level::Info, format!("The prompt cache was missed: {cause}."))
            }
            None => Ok(()),
        }
    }
}
