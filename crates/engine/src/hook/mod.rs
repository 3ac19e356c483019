//! Hooks: commands, questions to a small model and callbacks of a host that run at certain moments of a session.
//!
//! [`Hooks`] is a snapshot of the configuration, taken when the session starts. [`Hooks::run`] runs everything that
//! matches an [`Occasion`] at once and puts the answers together in configuration order; the caller acts on the
//! [`Outcome`]. Exactly one record is made for every hook that ran.
//!
//! Invariants: only a hook that ran and spoke decides. One that cannot be started, is killed, takes too long or
//! prints what nobody understands has failed; it is always told to the user and blocks only where its configuration
//! says so. No hook outlives the session.

mod occasion;
mod outcome;
mod record;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use tiller_config::{HookEvent, HookGroup, OnFailure, Sourced};
use tiller_protocol::env::Env;
use tiller_protocol::id::{CallId, SessionId};
use tokio_util::sync::CancellationToken;

pub(crate) use occasion::{Agent, Ending, Moment, Occasion, StartSource, Trigger};
pub(crate) use outcome::{
    AsyncResponse, Conclusion, HookRun, Outcome, PermissionAnswer, PreDecision, Verdict,
};

/// Hooks as settings have them.
pub(crate) type HookSettings = BTreeMap<HookEvent, Vec<Sourced<HookGroup>>>;

/// What hooks need to know of the session.
pub(crate) struct Parts {
    /// Variables and ids.
    pub(crate) env: Env,
    /// The directory Tiller was started in.
    pub(crate) project_dir: PathBuf,
    /// The session.
    pub(crate) session: SessionId,
    /// Its log.
    pub(crate) transcript: PathBuf,
    /// Answers the questions of prompt hooks.
    pub(crate) judge: Arc<dyn Judge>,
}

/// A small model that is asked by prompt hooks.
pub trait Judge: Send + Sync {
    /// The model's answer, or why there is none.
    fn ask(&self, prompt: String) -> BoxFuture<'static, Result<String, String>>;
}

/// Hooks that a host has registered, for those cases of an event that match.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallbackGroup {
    /// As in settings.
    pub(crate) matcher: String,
    /// The host's names for what it will run.
    pub(crate) ids: Vec<String>,
    /// The longest time each may take.
    pub(crate) timeout: Option<Duration>,
    /// What it means when the host does not answer.
    pub(crate) on_failure: OnFailure,
}

/// The way to the host that has registered hooks.
pub(crate) trait Callbacks: Send + Sync {
    /// Runs one hook in the host. Dropping the future calls it off.
    fn call(
        &self,
        id: String,
        input: Value,
        call: Option<CallId>,
    ) -> BoxFuture<'static, Result<Value, String>>;
}

/// The hooks of a session.
#[derive(Clone)]
pub(crate) struct Hooks(Arc<Inner>);

struct Inner {
    settings: HookSettings,
}

impl Hooks {
    /// The hooks of these settings.
    pub(crate) fn new(settings: &HookSettings, _parts: Parts) -> Self {
        Self(Arc::new(Inner { settings: settings.clone() }))
    }

    /// Whether there is anything to run at this event.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.0.settings.contains_key(&event)
    }

    /// Adds hooks of a host.
    pub(crate) fn add_callbacks(
        &self,
        _groups: Vec<(HookEvent, CallbackGroup)>,
        _caller: &Arc<dyn Callbacks>,
    ) {
    }

    /// Runs all hooks that match, in parallel, and puts their answers together. When the token fires, they are ended
    /// and have no say: look at the token before acting on the outcome.
    pub(crate) async fn run(
        &self,
        _occasion: Occasion<'_>,
        _moment: &Moment,
        _cancel: &CancellationToken,
    ) -> Outcome {
        Outcome::default()
    }

    /// What asynchronous hooks have said since the last time.
    pub(crate) fn take_async_responses(&self) -> Vec<AsyncResponse> {
        Vec::new()
    }

    /// Ends every hook that still runs.
    pub(crate) async fn end_all(&self) {}
}
