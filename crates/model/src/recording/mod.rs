//! Recordings of a model's answers.
//!
//! A recording is a text file with one JSON object per line, one line per answer, in the order of the requests.
//! An answer is written in one of two ways:
//!
//! ```json
//! {"model":"claude-opus-5-5","events":[{"type":"message_start", …}, …, {"type":"message_stop"}]}
//! {"blocks":[{"type":"text","text":"In {{cwd}} I found …"}],"usage":{"input_tokens":9},"stop_reason":"end_turn"}
//! ```
//!
//! * `events` are the events of the provider's stream, as they came.
//! * `blocks`, for answers that were not streamed and for recordings written by hand, are whole content blocks;
//!   `usage`, `stop_reason` (default `end_turn`, or `tool_use` if there is a call) and `stop_details` go with them.
//!   Placeholders such as `{{cwd}}` in blocks are replaced by values that the player is given.
//! * `request`, if present, has fingerprints of the request that was answered: the player then picks the answer by
//!   them and notes where requests differ.
//! * `error` (`{"status":…,"kind":…,"message":…}`) is a request that failed; `"cut":true` an answer that nobody
//!   waited for to the end.
//!
//! Empty lines are skipped; unknown fields are ignored.

mod fingerprint;
mod pieces;
mod player;
mod recorder;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tiller_protocol::block::RawBlock;
use tiller_protocol::usage::{StopReason, Usage};

pub use player::{Difference, Player};
pub use recorder::Recorder;

use crate::error::ModelError;
use fingerprint::Fingerprint;

/// One line of a recording.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Fingerprint>,
    #[serde(skip_serializing_if = "String::is_empty")]
    model: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<RawBlock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<StopReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failed>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// A failed request, as recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failed {
    status: Option<u16>,
    kind: String,
    message: String,
}

impl Failed {
    fn new(error: &ModelError) -> Self {
        Self { status: error.status(), kind: error.kind().to_owned(), message: error.to_string() }
    }

    fn error(self) -> ModelError {
        match (self.kind.as_str(), self.status) {
            ("overloaded_error", _) => ModelError::Overloaded,
            (_, Some(status)) => {
                ModelError::Api { status, kind: self.kind, message: self.message, request_id: None }
            }
            (_, None) => ModelError::Recording(format!("the recorded request failed: {}", self.message)),
        }
    }
}

fn parse(text: &str) -> Result<Vec<Answer>, ModelError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let wrong = |number: usize, error: &serde_json::Error| {
        ModelError::Recording(format!("line {} of the recording is not an answer: {error}", number + 1))
    };
    lines.map(|(number, line)| serde_json::from_str(line).map_err(|error| wrong(number, &error))).collect()
}
