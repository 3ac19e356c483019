//! What a response consumed.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Token counts of one response, in the provider's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens after the last cache breakpoint.
    pub input_tokens: u64,
    /// Input tokens written to the cache.
    #[serde(deserialize_with = "null_is_zero")]
    pub cache_creation_input_tokens: u64,
    /// Input tokens read from the cache.
    #[serde(deserialize_with = "null_is_zero")]
    pub cache_read_input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// The part of the cache writes that lives for an hour.
    pub cache_creation: CacheCreation,
    /// Server-side tool requests.
    #[serde(deserialize_with = "null_is_default")]
    pub server_tool_use: ServerToolUse,
}

/// Cache writes by time to live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheCreation {
    /// Written for five minutes.
    pub ephemeral_5m_input_tokens: u64,
    /// Written for an hour.
    pub ephemeral_1h_input_tokens: u64,
}

/// Requests the provider's own tools made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerToolUse {
    /// Web searches.
    pub web_search_requests: u64,
    /// Web fetches.
    pub web_fetch_requests: u64,
}

fn null_is_zero<'de, D: serde::Deserializer<'de>>(de: D) -> Result<u64, D::Error> {
    Ok(Option::deserialize(de)?.unwrap_or_default())
}

fn null_is_default<'de, D: serde::Deserializer<'de>>(de: D) -> Result<ServerToolUse, D::Error> {
    Ok(Option::deserialize(de)?.unwrap_or_default())
}

impl Usage {
    /// Everything that went in: uncached, written to and read from the cache.
    #[must_use]
    pub fn total_input(&self) -> u64 {
        self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens
    }

    /// Input and output together: the size of the context after this response.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total_input() + self.output_tokens
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_creation.ephemeral_5m_input_tokens += other.cache_creation.ephemeral_5m_input_tokens;
        self.cache_creation.ephemeral_1h_input_tokens += other.cache_creation.ephemeral_1h_input_tokens;
        self.server_tool_use.web_search_requests += other.server_tool_use.web_search_requests;
        self.server_tool_use.web_fetch_requests += other.server_tool_use.web_fetch_requests;
    }
}

/// The word with which an answer is recorded that was cut off because the request failed for good.
pub const FAILED: &str = "failed";

/// Why the model stopped writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The output limit cut the answer.
    MaxTokens,
    /// A stop sequence was met.
    StopSequence,
    /// The provider's own tools need another request to go on.
    PauseTurn,
    /// The provider declined.
    Refusal,
    /// The context window was full.
    ContextWindowExceeded,
    /// A reason this version does not know; treated like [`StopReason::EndTurn`].
    Other(String),
}

impl From<String> for StopReason {
    fn from(text: String) -> Self {
        match text.as_str() {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence,
            "pause_turn" => Self::PauseTurn,
            "refusal" => Self::Refusal,
            "model_context_window_exceeded" => Self::ContextWindowExceeded,
            _ => Self::Other(text),
        }
    }
}

impl From<StopReason> for String {
    fn from(reason: StopReason) -> Self {
        reason.as_str().to_owned()
    }
}

impl StopReason {
    /// The provider's word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ContextWindowExceeded => "model_context_window_exceeded",
            Self::Other(text) => text,
        }
    }
}
