//! What hooks need from outside the session: a small model to ask, and the host that has hooks of its own.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tiller_config::{HookEvent, OnFailure};
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::command::Event;
use tiller_protocol::entry::Level;
use tiller_protocol::hook::{HookAsk, HostHooks};
use tiller_protocol::id::CallId;
use tokio::sync::{mpsc, oneshot};

use super::{Aside, Task};
use crate::beside::{Beside, small_question};
use crate::hook::{CallbackGroup, Callbacks, HookRun, Judge, Started};

use crate::store::StoreError;

/// The small model, as prompt hooks ask it.
pub(super) struct SmallModel {
    pub(super) beside: Beside,
    pub(super) name: String,
    pub(super) asides: mpsc::UnboundedSender<Aside>,
}

impl Judge for SmallModel {
    fn ask(&self, prompt: String) -> BoxFuture<'static, Result<String, String>> {
        let (beside, asides) = (self.beside.clone(), self.asides.clone());
        let request = small_question(&self.name, &prompt);
        async move {
            let (answer, bill) = beside.ask(request).await.map_err(|error| error.to_string())?;
            // The session may be over; then nobody counts any more.
            let _ = asides.send(Aside::Billed(bill));
            Ok(answer.text())
        }
        .boxed()
    }
}

/// Tells the front end of each hook that starts.
pub(super) fn announce(events: mpsc::UnboundedSender<Event>) -> Started {
    Arc::new(move |run: &HookRun| {
        let (event, name) = (run.event.name().to_owned(), run.hook_name.clone());
        // A front end that went away no longer needs to be told.
        let _ = events.send(Event::HookStarted { id: run.id, event, name });
    })
}

impl Task {
    /// Takes hooks of the host in. An event that never happens here is told, so that nobody relies on it.
    pub(super) fn add_host_hooks(&mut self, hooks: Vec<HostHooks>) -> Result<(), StoreError> {
        let mut groups = Vec::new();
        for HostHooks { event, matcher, callbacks, timeout, failure_blocks } in hooks {
            let Some(known) = HookEvent::ALL.into_iter().find(|known| format!("{known:?}") == event) else {
                let problem =
                    format!("there is no hook event {event} here; the host's hooks for it never run");
                self.notice("hook", Level::Warning, problem)?;
                continue;
            };
            let on_failure = if failure_blocks { OnFailure::Block } else { OnFailure::Ignore };
            let timeout = timeout.map(Duration::from_secs);
            groups.push((known, CallbackGroup { matcher, ids: callbacks, timeout, on_failure }));
        }
        let host = InHost { asides: self.services.asides.clone() };
        self.services.hooks.add_callbacks(groups, &(Arc::new(host) as Arc<dyn Callbacks>));
        Ok(())
    }
}

/// Hooks that run in the host's own process.
struct InHost {
    asides: mpsc::UnboundedSender<Aside>,
}

impl Callbacks for InHost {
    fn call(
        &self,
        id: String,
        input: Value,
        call: Option<CallId>,
    ) -> BoxFuture<'static, Result<Value, String>> {
        let (sender, answer) = oneshot::channel();
        let ask = Ask::Hook(HookAsk { callback: id, input, call });
        let asked = self.asides.send(Aside::Ask(ask, sender)).is_ok();
        async move {
            match answer.await {
                Ok(Answer::Host { answer }) if asked => answer,
                _ => Err("the host did not answer".to_owned()),
            }
        }
        .boxed()
    }
}
