//! Hooks: commands, questions to a small model and callbacks of a host that run at certain moments of a session.
//!
//! [`Hooks`] is a snapshot of the configuration, taken when the session starts. [`Hooks::run`] runs everything that
//! matches an [`Occasion`] at once and puts the answers together in configuration order; the caller acts on the
//! [`Outcome`]. Exactly one record is made for every hook that ran.
//!
//! Invariants: only a hook that ran and spoke decides. One that cannot be started, is killed, takes too long or
//! prints what nobody understands has failed; it is always told to the user and blocks only where its configuration
//! says so. No hook outlives the session.

mod attachment;
mod background;
mod case;
mod combine;
mod document;
mod doubt;
mod execute;
mod matcher;
mod not_started;
mod occasion;
mod outcome;
mod output;
mod process;
mod prompt;
mod record;
mod registered;
mod trial;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use serde_json::Value;
use tiller_config::{HookEvent, HookGroup, OnFailure, Sourced};
use tiller_protocol::entry::Level;
use tiller_protocol::env::Env;
use tiller_protocol::id::{CallId, SessionId};
use tokio_util::sync::CancellationToken;

use background::Background;
use case::Case;
use combine::combine;
use execute::Surroundings;
use output::can_block;
use registered::{Registered, select};

pub(crate) use occasion::{Agent, Ending, Moment, Occasion, StartSource};
pub(crate) use outcome::{
    AsyncResponse, Conclusion, HookRun, Outcome, PermissionAnswer, PreDecision, Verdict,
};

pub use doubt::HookPlace;
pub use trial::{HookTrial, ListedHook, TrialReport, TriedHook, TriedRun, list_hooks};

/// What is wrong with a matcher, if it is not one.
#[must_use]
pub fn matcher_problem(matcher: &str) -> Option<String> {
    match matcher::Matcher::new(matcher) {
        matcher::Matcher::Invalid(invalid) => Some(invalid.why),
        _ => None,
    }
}

/// Hooks as settings have them.
pub type HookSettings = BTreeMap<HookEvent, Vec<Sourced<HookGroup>>>;

/// The variables in which commands find the project.
const PROJECT_VARS: [&str; 2] = ["TILLER_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];

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
    /// Told of each hook when it starts.
    pub(crate) started: Started,
}

/// Hears of hooks that start.
pub(crate) type Started = Arc<dyn Fn(&HookRun) + Send + Sync>;

/// A small model that is asked by prompt hooks.
pub(crate) trait Judge: Send + Sync {
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
    settings: Vec<Registered>,
    callbacks: Arc<RwLock<Vec<Registered>>>,
    session: String,
    transcript: String,
    vars: Arc<BTreeMap<String, String>>,
    project_dir: PathBuf,
    judge: Arc<dyn Judge>,
    env: Env,
    started: Started,
    background: Arc<Background>,
}

impl Hooks {
    /// The hooks of these settings.
    pub(crate) fn new(settings: &HookSettings, parts: Parts) -> Self {
        let settings = Registered::of_settings(settings);
        let mut vars = BTreeMap::clone(&parts.env.vars);
        for name in PROJECT_VARS {
            vars.insert(name.to_owned(), parts.project_dir.to_string_lossy().into_owned());
        }
        Self(Arc::new(Inner {
            settings,
            callbacks: Arc::default(),
            session: parts.session.to_string(),
            transcript: parts.transcript.to_string_lossy().into_owned(),
            vars: Arc::new(vars),
            project_dir: parts.project_dir,
            judge: parts.judge,
            env: parts.env,
            started: parts.started,
            background: Arc::default(),
        }))
    }

    /// The same with further hooks behind those of the settings.
    pub(crate) fn with(&self, further: &HookSettings) -> Self {
        if further.is_empty() {
            return self.clone();
        }
        let inner = &*self.0;
        Self(Arc::new(Inner {
            settings: [inner.settings.clone(), Registered::of_settings(further)].concat(),
            callbacks: Arc::clone(&inner.callbacks),
            session: inner.session.clone(),
            transcript: inner.transcript.clone(),
            vars: Arc::clone(&inner.vars),
            project_dir: inner.project_dir.clone(),
            judge: Arc::clone(&inner.judge),
            env: inner.env.clone(),
            started: Arc::clone(&inner.started),
            background: Arc::clone(&inner.background),
        }))
    }

    /// Whether there is anything to run at this event.
    pub(crate) fn has(&self, event: HookEvent) -> bool {
        self.0.settings.iter().chain(&*self.callbacks()).any(|entry| entry.event == event)
    }

    /// Adds hooks of a host. They run after those of the settings in all that depends on the order.
    pub(crate) fn add_callbacks(&self, groups: Vec<(HookEvent, CallbackGroup)>, caller: &Arc<dyn Callbacks>) {
        let added =
            groups.into_iter().flat_map(|(event, group)| Registered::of_callbacks(event, group, caller));
        self.0.callbacks.write().unwrap_or_else(PoisonError::into_inner).extend(added);
    }

    /// Runs all hooks that match, in parallel, and puts their answers together. When the token fires, they are ended
    /// and have no say: look at the token before acting on the outcome.
    pub(crate) async fn run(
        &self,
        occasion: Occasion<'_>,
        moment: &Moment,
        cancel: &CancellationToken,
    ) -> Outcome {
        if !self.has(occasion.event()) {
            return Outcome::default();
        }
        let case = Case::new(occasion, moment, (self.0.session.clone(), &self.0.transcript));
        self.run_case(case, moment.cwd.clone(), cancel).await
    }

    async fn run_case(&self, case: Case, cwd: PathBuf, cancel: &CancellationToken) -> Outcome {
        let problems = self.problems(case.event);
        let selected = select(self.0.settings.iter().chain(&*self.callbacks()), &case);
        let surroundings = self.surroundings(case, cwd, cancel);
        let finished = join_all(selected.iter().map(|hook| surroundings.run(hook).boxed())).await;
        let mut outcome = combine(&surroundings.case, finished);
        outcome.notices.splice(0..0, problems);
        outcome
    }

    fn surroundings(&self, case: Case, cwd: PathBuf, cancel: &CancellationToken) -> Surroundings {
        Surroundings {
            input: case.value().to_string().into(),
            case: Arc::new(case),
            cwd,
            project_dir: self.0.project_dir.clone(),
            vars: Arc::clone(&self.0.vars),
            judge: Arc::clone(&self.0.judge),
            env: self.0.env.clone(),
            started: Arc::clone(&self.0.started),
            background: Arc::clone(&self.0.background),
            cancel: cancel.clone(),
        }
    }

    /// Matchers that nobody understands, each told once. Where a hook may have been meant to prevent something, that
    /// is an error.
    fn problems(&self, event: HookEvent) -> Vec<(Level, String)> {
        let level = if can_block(event) { Level::Error } else { Level::Warning };
        let told = |entry: &Registered| {
            let problem = entry.matcher.problem()?;
            let source = &entry.hook.source;
            Some((level, format!("{} hooks ({source}) never run: {problem}", event.name())))
        };
        self.0
            .settings
            .iter()
            .chain(&*self.callbacks())
            .filter(|entry| entry.event == event)
            .filter_map(told)
            .collect()
    }

    fn callbacks(&self) -> RwLockReadGuard<'_, Vec<Registered>> {
        self.0.callbacks.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What asynchronous hooks have said since the last time, each of them once.
    pub(crate) fn take_async_responses(&self) -> Vec<AsyncResponse> {
        self.0.background.take()
    }

    /// Ends every hook that still runs.
    pub(crate) async fn end_all(&self) {
        self.0.background.end_all().await;
    }
}

#[cfg(test)]
mod tests;
