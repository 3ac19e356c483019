//! The language in which tests say what the model answers.
//!
//! A [`Reply`] is a list of steps played in order, plus how it ends. Its JSON form is what script files
//! contain:
//!
//! ```json
//! {
//!   "replies": [
//!     { "steps": [{ "type": "thinking", "thinking": "Look first." },
//!                 { "type": "tool", "name": "Read", "input": { "file_path": "/tmp/a" } }] },
//!     { "steps": [{ "type": "text", "text": "Done." }], "chunk": 4 },
//!     { "failure": { "status": 529, "kind": "overloaded_error", "message": "Overloaded" } }
//!   ],
//!   "conversations": [
//!     { "match": { "first_user_contains": "Summarise" }, "replies": [] }
//!   ],
//!   "cycle": false
//! }
//! ```

mod builder;
mod conversation;
mod file;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::conversation::Matcher;
pub(crate) use self::conversation::Script;
pub use self::file::{ScriptFile, ScriptedConversation};
use crate::gate::Gate;

/// One answer of the model: its content, how it is cut into pieces, its faults and its end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    pub(crate) steps: Vec<Step>,
    pub(crate) stop: Option<String>,
    pub(crate) stop_sequence: Option<String>,
    pub(crate) stop_details: Option<Value>,
    /// Fields that replace those of the computed usage.
    pub(crate) usage: Option<Value>,
    /// Bytes per delta.
    pub(crate) chunk: Option<usize>,
    /// Write non-ASCII characters of tool input as `\u` escapes.
    pub(crate) escape_input: bool,
    /// Bytes per write to the socket, regardless of events.
    pub(crate) write_size: Option<usize>,
    /// A ping after every event.
    pub(crate) pings: bool,
    pub(crate) several_message_deltas: bool,
    /// Answer with an error status instead of a message.
    pub(crate) failure: Option<Failure>,
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(skip)]
    pub(crate) header_gates: Vec<Gate>,
}

/// An error answer that the script asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) message: String,
}

/// One thing that happens while a reply is played.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Step {
    Thinking {
        thinking: String,
    },
    Redacted {
        seed: String,
    },
    Text {
        text: String,
    },
    Tool {
        name: String,
        input: Value,
        #[serde(default)]
        id: Option<String>,
    },
    /// A tool call whose input is sent exactly as written, valid or not.
    ToolJson {
        name: String,
        json: String,
    },
    ServerTool {
        name: String,
        input: Value,
        /// Content of the result block; none leaves the call open.
        #[serde(default)]
        result: Option<Value>,
    },
    RawBlock {
        block: Value,
    },
    /// Another piece of the block before.
    More {
        piece: String,
    },
    UnknownDelta,
    /// The block before is not closed.
    Unfinished,
    Ping,
    UnknownEvent,
    #[serde(skip)]
    Gate(Gate),
    Cut,
    EndWithoutStop,
    Stall,
    Garbage {
        text: String,
    },
    Error {
        kind: String,
        message: String,
    },
}

impl Step {
    /// Whether this belongs to the block before it and keeps that block open.
    pub(crate) fn continues_block(&self) -> bool {
        matches!(self, Self::More { .. } | Self::UnknownDelta | Self::Unfinished)
    }

    /// Whether this may happen inside a block or between blocks alike.
    pub(crate) fn is_interlude(&self) -> bool {
        matches!(self, Self::Gate(_) | Self::Ping | Self::UnknownEvent)
    }
}
