//! What a call finds out before it is permitted.

use tiller_tools::{PreparedCall, View};
use tokio_util::sync::CancellationToken;

use super::call::Verdict;

/// Asks a call something that it may have to read whole files for: then on a thread that nobody waits for, so that
/// signals and commands are heard meanwhile. Whoever is cancelled does not wait for the answer.
pub(super) async fn foresee<T: Send + 'static>(
    call: Box<dyn PreparedCall>,
    view: &View,
    cancel: &CancellationToken,
    question: impl FnOnce(&dyn PreparedCall, &View) -> T + Send + 'static,
) -> Result<(Box<dyn PreparedCall>, T), Verdict> {
    if !call.reads_files() {
        let answer = question(call.as_ref(), view);
        return Ok((call, answer));
    }
    let view = view.clone();
    let answering = tokio::task::spawn_blocking(move || {
        let answer = question(call.as_ref(), &view);
        (call, answer)
    });
    let answered = tokio::select! {
        biased;
        answered = answering => answered,
        () = cancel.cancelled() => return Err(Verdict::Cancelled),
    };
    match answered {
        Ok(answered) => Ok(answered),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Verdict::Cancelled),
    }
}
