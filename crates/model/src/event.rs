//! What a model answers with.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::id::MessageId;
use tiller_protocol::usage::{StopReason, Usage};

/// News of one response, in the order in which it happens.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The provider began to answer.
    Started {
        /// The response's id.
        message_id: MessageId,
        /// The model that answers, as the provider names it.
        model: String,
        /// What is known of the usage so far: mostly the input.
        usage: Usage,
        /// The provider's id of the request, for support.
        request_id: Option<String>,
    },
    /// One event of the provider's stream, as it came. Answers that were not streamed have none.
    Raw(Arc<str>),
    /// A finished content block; comes just before the [`ModelEvent::Raw`] that closes it.
    Block {
        /// Its place among the blocks of the response.
        index: usize,
        /// The block.
        block: RawBlock,
        /// What the model wrote as a tool's input when that is not a JSON object; `block` then has `"input":{}`.
        invalid_input: Option<String>,
    },
    /// The response is complete.
    Finished {
        /// The final usage.
        usage: Usage,
        /// Why the model stopped.
        stop_reason: StopReason,
        /// The provider's details of the reason, for instance of a refusal.
        stop_details: Option<Value>,
        /// From sending the request that was answered until now.
        duration: Duration,
    },
    /// The request failed and will be sent again after a pause.
    Retrying {
        /// The number of the coming retry, from 1.
        attempt: u32,
        /// How many retries there will be at most.
        max: u32,
        /// The pause.
        delay: Duration,
        /// The HTTP status, if there was an answer.
        status: Option<u16>,
        /// What went wrong.
        error: String,
    },
    /// What came since [`ModelEvent::Started`] is void; what follows is a new answer.
    Abandoned {
        /// The cause.
        why: Abandon,
    },
}

/// Why a started answer was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abandon {
    /// The stream broke off, fell silent or could not be read; the request is repeated without streaming.
    StreamBroken {
        /// What was wrong with it.
        detail: String,
    },
    /// The provider became overloaded while answering; the request is repeated after a pause.
    Overloaded,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The response's id.
    pub message_id: MessageId,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// The content.
    pub blocks: Vec<RawBlock>,
    /// What it consumed.
    pub usage: Usage,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// The provider's details of the reason.
    pub stop_details: Option<Value>,
    /// The provider's id of the request, for support.
    pub request_id: Option<String>,
    /// From sending the request that was answered until the answer was complete.
    pub duration: Duration,
}

impl Completion {
    /// The text blocks, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.blocks.iter().filter_map(RawBlock::as_text).collect()
    }
}
