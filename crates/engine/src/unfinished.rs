//! What those who follow the raw events of an answer still wait for when it is broken off.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use tiller_protocol::usage::Usage;

/// How nearly all events begin; they open and close nothing.
const DELTA: &str = r#"{"type":"content_block_delta""#;

/// How far the events of an answer have come.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    is_open: bool,
    /// The block that is being written.
    block: Option<u64>,
}

#[derive(Deserialize)]
struct Progress<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
}

impl Unfinished {
    /// Takes in a raw streaming event.
    pub(crate) fn feed(&mut self, json: &str) {
        if json.starts_with(DELTA) {
            return;
        }
        let Ok(Progress { kind, index }) = serde_json::from_str(json) else { return };
        match &*kind {
            "message_start" => *self = Self { is_open: true, block: None },
            "content_block_start" => self.block = Some(index),
            "content_block_stop" => self.block = None,
            "message_stop" => self.is_open = false,
            _ => {}
        }
    }

    /// The events that close what is open.
    pub(crate) fn close(&mut self, usage: &Usage) -> Vec<String> {
        let Self { is_open, block } = std::mem::take(self);
        if !is_open {
            return Vec::new();
        }
        let block = block.map(|index| json!({"type": "content_block_stop", "index": index}));
        let delta = json!({
            "type": "message_delta", "delta": {"stop_reason": null, "stop_sequence": null},
            "usage": {"output_tokens": usage.output_tokens},
        });
        let events = block.into_iter().chain([delta, json!({"type": "message_stop"})]);
        events.map(|event| event.to_string()).collect()
    }
}
