//! Calls that nothing keeps from changing what decides what is allowed or run later: what they change is told.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::OptionFuture;
use tiller_policy::{Access, Permit, Profile};
use tiller_protocol::id::CallId;
use tiller_sandbox::Confinement;
use tiller_tools::{ShellInfo, ShellState};
use tokio::task::JoinHandle;

use crate::guarded::{Before, Scope, Watch, notice};
use crate::services::Services;
use crate::session::Aside;

/// A call, and what was there before it could change anything. Whatever becomes of it, somebody looks afterwards.
pub(crate) struct Watched {
    call: CallId,
    services: Services,
    begun: Mutex<Option<Begun>>,
}

/// What runs unconfined, and since when.
struct Begun {
    what: String,
    watch: Watch,
}

impl Watched {
    /// A call that nothing was seen of so far.
    pub(crate) fn new(call: CallId, services: Services) -> Self {
        Self { call, services, begun: Mutex::default() }
    }

    /// A command is about to run, held like this: it is watched unless it is confined, or certainly changes nothing.
    pub(crate) async fn command(&self, permit: &Permit, held: &Confinement) {
        // With everything open but what rules forbid, it is confined as little.
        let is_open = permit.profile() == Profile::Full || held.profile == Profile::Full;
        if let Ok(script) = permit.script()
            && is_open
            && held.profile != Profile::ReadOnly
            && !permit.only_looks()
        {
            self.begin(&script.command).await;
        }
    }

    /// Looks at everything before something runs that may change it.
    pub(crate) async fn begin(&self, what: &str) {
        if self.services.tape.is_some() || self.begun().is_some() {
            return;
        }
        let (env, roots) = (self.services.env.clone(), self.services.policy.now().roots.clone());
        let guarded = Arc::clone(&self.services.guarded);
        let watch = tokio::task::spawn_blocking(move || guarded.watch(Scope { env, roots })).await;
        let what = what.to_owned();
        *self.begun() = watch.ok().map(|watch| Begun { what, watch });
    }

    /// The call is about to write files that it has declared, as it may: that is no change by what is watched beside it.
    pub(crate) async fn writing(&self, access: &[Access]) -> Option<Before> {
        let guarded = Arc::clone(&self.services.guarded);
        let declared = access.iter().filter_map(|access| match access {
            Access::Write(place) => Some(place.real().to_owned()),
            _ => None,
        });
        let files: Vec<PathBuf> = declared.collect();
        if files.is_empty() || guarded.is_idle() {
            return None;
        }
        tokio::task::spawn_blocking(move || guarded.before(&files)).await.ok()
    }

    /// It has written them.
    pub(crate) async fn has_written(&self, before: Before) {
        let guarded = Arc::clone(&self.services.guarded);
        if let Err(error) = tokio::task::spawn_blocking(move || guarded.accept(before)).await {
            tracing::warn!("{error}");
        }
    }

    /// Tells what has changed. A command that goes on is watched until it ends.
    pub(crate) async fn end(&self) {
        if let Some(Err(error)) = OptionFuture::from(self.look()).await {
            tracing::warn!("{error}");
        }
    }

    /// Looks, and tells the session: what was found counts as known from then on, whoever still waits for the call.
    fn look(&self) -> Option<JoinHandle<()>> {
        let Begun { what, watch } = self.take()?;
        let asides = self.services.asides.clone();
        Some(self.services.tasks.spawn_blocking(move || {
            // The session may be over; then there is nobody to tell.
            notice(&watch.end(), &what)
                .into_iter()
                .for_each(|notice| drop(asides.send(Aside::Notice(notice))));
        }))
    }

    fn take(&self) -> Option<Begun> {
        let begun = self.begun().take()?;
        let guarded = &self.services.guarded;
        guarded.may_last(&self.call);
        let goes_on = |shell: &ShellInfo| shell.call == self.call && shell.state == ShellState::Running;
        if !self.services.shells.list().iter().any(goes_on) {
            drop(guarded.has_ended(&self.call));
        }
        Some(begun)
    }

    fn begun(&self) -> MutexGuard<'_, Option<Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watched {
    /// A call that broke, or that nobody waited for any longer, has an end as well.
    fn drop(&mut self) {
        if tokio::runtime::Handle::try_current().is_ok() {
            drop(self.look());
        }
    }
}
