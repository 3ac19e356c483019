//! From entries to the events of an answer as it came.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tiller_model::{Abandon, ModelError, ModelEvent};
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{AssistantBlock, Body, Cause, Notice, Orphaned, Outcome, Response};
use tiller_protocol::usage::{FAILED, StopReason, Usage};

use super::model::Played;
use super::tape::Reading;

/// The notice that another model has taken over.
pub(super) const FALLBACK: &str = "model_fallback";
/// The notice that the provider no longer accepted earlier reasoning.
pub(super) const THINKING_DROPPED: &str = "thinking_dropped";

impl Reading {
    /// The answer to the next request.
    pub(super) fn play(&mut self) -> Vec<Played> {
        let mut played = Vec::new();
        if self.is_over() {
            return vec![Played::Silence];
        }
        if let Some(error) = self.failure_before_an_answer() {
            return vec![Played::Failed(error)];
        }
        let mut current = None;
        while let Some(at) = self.next_answer() {
            let body = self.entries[at].body.clone();
            match body {
                Body::Assistant(AssistantBlock { api_error: Some(kind), block, .. }) => {
                    self.remaining.take_answer();
                    played.push(Played::Failed(self.error(&kind, &block)));
                    return played;
                }
                Body::Assistant(block) => {
                    if current.as_ref().is_some_and(|id| *id != block.message_id) {
                        // The answer before has no end on record.
                        break;
                    }
                    if current.replace(block.message_id.clone()).is_none() {
                        played.push(Played::Event(started(&block)));
                    }
                    self.remaining.take_answer();
                    played.extend(block_events(&block).into_iter().map(Played::Event));
                }
                Body::Response(response) => {
                    if current.is_none() {
                        let block = unwritten(&response);
                        played.push(Played::Event(started(&block)));
                    }
                    self.remaining.take_answer();
                    if response.stop_reason.as_str() == FAILED {
                        // Why it failed stands behind it.
                        current = Some(response.message_id);
                        continue;
                    }
                    match self.end_of(at, response) {
                        Played::Event(event @ ModelEvent::Abandoned { .. }) => {
                            played.push(Played::Event(event));
                            current = None;
                        }
                        end => {
                            played.push(end);
                            return played;
                        }
                    }
                }
                _ => break,
            }
        }
        played.push(Played::Silence);
        played
    }

    /// How an answer ended.
    fn end_of(&mut self, at: usize, response: Response) -> Played {
        match response.stop_reason {
            StopReason::Other(reason) if reason == "interrupted" => match self.outcome() {
                Some(Outcome::ToolRejected) => Played::CutShort,
                _ => Played::Silence,
            },
            StopReason::Other(reason) if reason == "abandoned" => self.void(at),
            stop_reason => Played::Event(ModelEvent::Finished {
                usage: response.usage,
                stop_reason,
                stop_details: response.stop_details,
                duration: Duration::from_millis(response.duration_ms),
            }),
        }
    }

    /// Why an answer was void.
    fn void(&mut self, at: usize) -> Played {
        let horizon = self.horizon();
        let cause = self.entries[at..horizon].iter().find_map(|entry| match &entry.body {
            Body::Orphaned(Orphaned { cause, .. }) => Some(*cause),
            _ => None,
        });
        match (cause, self.take_notice(FALLBACK), self.take_notice(THINKING_DROPPED)) {
            (Some(Cause::ModelFallback), ..) | (None, true, _) => Played::Failed(ModelError::Overloaded),
            // Nothing but a request that is too long fails after its answer has begun and is made again.
            (Some(Cause::ApiError), ..) => Played::Failed(ModelError::PromptTooLong {
                message: "as recorded".to_owned(),
                tokens: None,
                limit: None,
                request_id: None,
            }),
            (Some(Cause::ThinkingRefused), ..) | (None, _, true) => Played::Failed(refused_thinking()),
            _ => {
                let detail = "as recorded".to_owned();
                Played::Event(ModelEvent::Abandoned { why: Abandon::StreamBroken { detail } })
            }
        }
    }

    /// A request that failed before anything came, and was followed by another one.
    fn failure_before_an_answer(&mut self) -> Option<ModelError> {
        if self.take_notice(FALLBACK) {
            return Some(ModelError::Overloaded);
        }
        self.take_notice(THINKING_DROPPED).then(refused_thinking)
    }

    /// Takes a notice that stands before the next answer.
    fn take_notice(&mut self, wanted: &str) -> bool {
        let is_it = |body: &Body| matches!(body, Body::Notice(Notice { subtype, .. }) if subtype == wanted);
        let found = self.remaining.before(self.horizon()).find(|&at| is_it(&self.entries[at].body));
        found.inspect(|&at| self.remaining.take(at)).is_some()
    }

    fn error(&self, kind: &str, block: &RawBlock) -> ModelError {
        let status = match self.outcome() {
            Some(Outcome::Error { status: Some(status), .. }) => *status,
            _ => {
                let detail = block.as_text().unwrap_or_default();
                return ModelError::Protocol { detail };
            }
        };
        let message = block.as_text().unwrap_or_default();
        ModelError::Api { status, kind: kind.to_owned(), message, request_id: None }
    }
}

fn refused_thinking() -> ModelError {
    ModelError::PrefixMismatch { message: "as recorded".to_owned(), request_id: None }
}

fn started(block: &AssistantBlock) -> ModelEvent {
    ModelEvent::Started {
        message_id: block.message_id.clone(),
        model: block.model.clone(),
        usage: Usage::default(),
        request_id: None,
    }
}

/// Stands for an answer that came without a block.
fn unwritten(response: &Response) -> AssistantBlock {
    AssistantBlock {
        message_id: response.message_id.clone(),
        model: response.model.clone(),
        block: RawBlock::text(""),
        invalid_input: None,
        api_error: None,
        aborted: false,
    }
}

/// A whole block; or the pieces of one that the user cut off.
fn block_events(block: &AssistantBlock) -> Vec<ModelEvent> {
    if !block.aborted {
        let (block, invalid_input) = (block.block.clone(), block.invalid_input.clone());
        return vec![ModelEvent::Block { index: 0, block, invalid_input }];
    }
    let text = block.block.as_text().unwrap_or_default();
    let start =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let delta =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    [start, delta].map(|event| ModelEvent::Raw(Arc::from(event.to_string()))).into()
}
