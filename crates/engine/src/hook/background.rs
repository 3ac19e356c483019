//! Asynchronous hooks: nobody waits for them, their responses are picked up later, and the session's end is theirs.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tiller_protocol::entry::{Attachment, Level};
use tiller_protocol::id::CallId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::attachment::Speaker;
use super::combine::notice;
use super::document::{Document, Texts, last_object};
use super::outcome::{AsyncResponse, Conclusion, HookRun};
use super::output::Ended;
use super::process::Command;

/// How long such a hook may take unless it says otherwise.
pub(super) const DEFAULT_LIMIT: Duration = Duration::from_secs(15);

/// The asynchronous hooks of a session.
#[derive(Default)]
pub(super) struct Background {
    finished: Mutex<Vec<AsyncResponse>>,
    tasks: TaskTracker,
    pub(super) ended: CancellationToken,
}

impl Background {
    /// Lets something go on by itself.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Keeps a response until it is taken.
    pub(super) fn keep(&self, response: AsyncResponse) {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(response);
    }

    /// Each finished response once.
    pub(super) fn take(&self) -> Vec<AsyncResponse> {
        std::mem::take(&mut self.finished.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for those that still run.
    pub(super) async fn wait(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    /// Ends those that still run, and all that may be started later.
    pub(super) async fn end_all(&self) {
        self.ended.cancel();
        self.wait().await;
    }
}

/// What a command left behind that went on by itself.
pub(super) fn response(command: Command, mut run: HookRun, call: Option<CallId>) -> AsyncResponse {
    run.exit_code = command.exit_code;
    run.stderr = command.stderr.text;
    run.stdout = command.stdout.text;
    let mut attachment = None;
    run.conclusion = match command.ended {
        Ended::Printed(_) => match attach(&run) {
            Ok(made) => {
                attachment = made;
                Conclusion::Success
            }
            Err(why) => Conclusion::Failed(why),
        },
        Ended::Objected(text) => {
            Conclusion::Failed(format!("it objects, but runs in the background: {}", text.trim()))
        }
        Ended::Failed(why) => Conclusion::Failed(why),
        Ended::TimedOut => Conclusion::TimedOut,
        Ended::Cancelled => Conclusion::Cancelled,
        Ended::Answered(_) | Ended::RunsOn | Ended::HandedOver => Conclusion::Success,
    };
    let failure = match &run.conclusion {
        Conclusion::Failed(why) => Some(why.as_str()),
        Conclusion::TimedOut => Some("it took too long and was ended"),
        _ => None,
    };
    let notice = failure
        .map(|why| notice(&run, Level::Warning, &format!("failed in the background and is ignored: {why}")));
    AsyncResponse { run, call, attachment, notice }
}

/// The last JSON object in what the command printed, for the model.
fn attach(run: &HookRun) -> Result<Option<Attachment>, String> {
    let Some(object) = last_object(&run.stdout) else { return Ok(None) };
    let document =
        Document::read(object, run.event).map_err(|why| format!("its output is not usable: {why}"))?;
    let message = document.system_message.filter(|text| !text.trim().is_empty());
    let own = document.hook_specific_output.and_then(|own| own.additional_context);
    let context = own.or(document.additional_context).map(Texts::said).unwrap_or_default();
    if message.is_none() && context.is_empty() {
        return Ok(None);
    }
    let from =
        Speaker { event: run.event, hook_name: &run.hook_name, source: &run.source, call: None, about: None };
    Ok(Some(from.async_response(message.as_deref(), &context)))
}
