//! Model requests beside the conversation: digests, comparisons, judgements, searches. What one could cost is set aside
//! before it is made, like for any other request.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use tiller_model::{Completion, Model, ModelError, Request, Thinking, cost};
use tiller_protocol::entry::Response;

use crate::budget::{Budget, Reached, Reservation};

/// Output limit of side requests.
pub(crate) const SIDE_MAX_TOKENS: u32 = 4_096;
/// Bytes for each token of a request, at the least.
const BYTES_PER_TOKEN: usize = 3;

/// The way to a model beside the conversation.
#[derive(Clone)]
pub(crate) struct Beside {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) budget: Arc<Budget>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SideError {
    /// It was not asked for.
    #[error("not asked. {}", .0.explain())]
    Reached(Reached),
    /// The model gave none.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// What a request cost, and what was set aside for it.
pub(crate) struct Bill {
    pub(crate) response: Response,
    /// Held until it is counted.
    pub(crate) held: Reservation,
}

impl Beside {
    /// Makes a request: the answer, and what it cost.
    pub(crate) async fn ask(&self, mut request: Request) -> Result<(Completion, Bill), SideError> {
        let info = self.model.info(&request.model);
        let wanted = request.max_tokens.unwrap_or(SIDE_MAX_TOKENS);
        let held = self.budget.reserve_for(&info, likely_input(&request), wanted);
        let held = held.await.map_err(SideError::Reached)?;
        request.max_tokens = Some(held.max_tokens().map_or(wanted, |granted| granted.min(wanted)));
        let answer = self.model.complete(request).await?;
        let response = Response {
            message_id: answer.message_id.clone(),
            model: answer.model.clone(),
            usage: answer.usage,
            stop_reason: answer.stop_reason.clone(),
            stop_details: None,
            cost_usd: cost(&info, &answer.usage),
            duration_ms: u64::try_from(answer.duration.as_millis()).unwrap_or(u64::MAX),
            request_id: answer.request_id.clone(),
            side: true,
            agent: None,
            asked: None,
        };
        Ok((answer, Bill { response, held }))
    }
}

/// Tokens that a request will have at the most, as far as that can be told without counting them.
fn likely_input(request: &Request) -> u64 {
    let bytes = request.system.len() + request.tools.len() + request.messages.bytes();
    u64::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX)
}

/// What a small model says, without the code fences that it likes to put around JSON.
pub(crate) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}

/// Asks the small model one question.
pub(crate) fn small_question(small_model: &str, prompt: &str) -> Request {
    Request {
        model: small_model.to_owned(),
        messages: vec![user_message(prompt)].into(),
        max_tokens: Some(SIDE_MAX_TOKENS),
        thinking: Thinking::Off,
        ..Request::default()
    }
}

pub(crate) fn user_message(text: &str) -> Bytes {
    Bytes::from(json!({"role": "user", "content": [{"type": "text", "text": text}]}).to_string())
}
