//! One request to a model, as far as possible in bytes that are ready to be sent.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tiller_protocol::messages::Messages;

/// What to ask. The byte fields are copied into the body as they are, so that equal parts of two requests
/// are equal on the wire.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The model's id, perhaps with the suffix `[1m]`, which is not sent.
    pub model: String,
    /// A JSON array of text blocks; empty to leave it out.
    pub system: Bytes,
    /// A JSON array of tool definitions; empty to leave it out.
    pub tools: Bytes,
    /// What was said so far.
    pub messages: Messages,
    /// The output limit; absent, the catalogue's for agents.
    pub max_tokens: Option<u32>,
    /// How the model should think.
    pub thinking: Thinking,
    /// How much effort to spend; left out for models that have no such setting.
    pub effort: Option<Effort>,
    /// Names for the `anthropic-beta` header.
    pub betas: Vec<String>,
    /// A JSON schema format for the answer (`output_config.format`).
    pub output_format: Option<Value>,
    /// Another model stands ready: after three overloads in a row fail with
    /// [`ModelError::Overloaded`](crate::ModelError::Overloaded) instead of going on.
    pub fallback_allowed: bool,
    /// Let the provider drop thinking that belongs to another prefix, instead of refusing the request.
    pub drop_mismatched_thinking: bool,
    /// Let the provider place a cache breakpoint at the end of the request.
    pub cache: bool,
}

/// How the model should think. Each model is told so in a form it accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Thinking {
    /// As the model does by itself.
    #[default]
    ModelDefault,
    /// Not at all, or as little as the model allows.
    Off,
    /// At most this many tokens, where the model takes a number.
    Budget(u32),
    /// As much as the model finds useful.
    Adaptive,
}

/// How much effort a model spends on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Quick answers.
    Low,
    /// Balanced.
    Medium,
    /// Thorough.
    High,
    /// More than high; not on every model.
    XHigh,
    /// Without regard to cost; not on every model.
    Max,
}

impl Effort {
    /// The provider's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}
