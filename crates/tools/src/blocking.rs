//! Work that blocks, away from the threads that must not.

use crate::cx::ToolCx;
use crate::tool::ToolError;

/// Runs blocking work to its end. The work itself looks at `cx.cancel`, so that a write is never reported as cancelled
/// while it goes on.
pub(crate) async fn blocking<T, F>(cx: ToolCx, work: F) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&ToolCx) -> Result<T, ToolError> + Send + 'static,
{
    if cx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    match tokio::task::spawn_blocking(move || work(&cx)).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::Cancelled),
    }
}
