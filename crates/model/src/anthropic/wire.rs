//! The provider's JSON, as far as it is looked at. Everything borrows from the text it was read from.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tiller_protocol::usage::{CacheCreation, ServerToolUse, Usage};

/// One event of a stream.
#[derive(Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(default)]
    pub(crate) index: usize,
    #[serde(borrow)]
    pub(crate) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) message: Option<&'a RawValue>,
    pub(crate) usage: Option<UsagePatch>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

/// What a `content_block_delta` adds. Which field counts follows from `kind`.
#[derive(Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) text: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) partial_json: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) signature: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) citation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) encrypted_content: Option<&'a RawValue>,
}

/// The `delta` of a `message_delta`.
#[derive(Deserialize)]
pub(crate) struct Stop {
    pub(crate) stop_reason: Option<String>,
    pub(crate) stop_details: Option<Value>,
}

/// A message: whole, or the beginning of one in `message_start`.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) model: String,
    #[serde(borrow, default)]
    pub(crate) content: Vec<&'a RawValue>,
    pub(crate) usage: Option<UsagePatch>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) stop_details: Option<Value>,
}

/// Usage as reported. Later reports are cumulative and may leave out what did not change.
#[derive(Clone, Copy, Default, Deserialize)]
pub(crate) struct UsagePatch {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
    server_tool_use: Option<ServerToolUse>,
}

impl UsagePatch {
    pub(crate) fn apply(&self, usage: &mut Usage) {
        fn set<T: Copy>(field: &mut T, reported: Option<T>) {
            if let Some(value) = reported {
                *field = value;
            }
        }
        set(&mut usage.input_tokens, self.input_tokens);
        set(&mut usage.cache_creation_input_tokens, self.cache_creation_input_tokens);
        set(&mut usage.cache_read_input_tokens, self.cache_read_input_tokens);
        set(&mut usage.output_tokens, self.output_tokens);
        set(&mut usage.cache_creation, self.cache_creation);
        set(&mut usage.server_tool_use, self.server_tool_use);
    }
}

/// The body of an error answer.
#[derive(Deserialize)]
pub(crate) struct ErrorBody {
    pub(crate) error: ErrorObject,
    pub(crate) request_id: Option<String>,
}

/// What an error answer or an `error` event says.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ErrorObject {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) message: String,
}

/// The answer of the counting endpoint.
#[derive(Deserialize)]
pub(crate) struct Count {
    pub(crate) input_tokens: u64,
}
