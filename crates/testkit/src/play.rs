//! Plays a composed reply: as a stream of writes, waits and faults, or as one message.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    compose::{Block, Composer, Delta},
    gate::Gate,
    script::{Reply, Step},
    sse,
};

const DEFAULT_CHUNK: usize = 64;

/// One thing the connection does.
#[derive(Debug)]
pub(crate) enum Action {
    Write(Bytes),
    Wait(Gate),
    /// Drop the connection.
    Cut,
    /// Say nothing more, but stay.
    Stall,
}

/// A reply ready to be sent either way.
#[derive(Debug)]
pub(crate) struct Performance {
    pub(crate) actions: Vec<Action>,
    pub(crate) message: Value,
}

/// The message around the content: id, model, input usage.
pub(crate) struct Envelope {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) usage: Value,
    pub(crate) input_transformations: Option<Value>,
}

impl Performance {
    pub(crate) fn prepare(reply: &Reply, composer: &mut Composer<'_>, envelope: &Envelope) -> Self {
        let mut player = Player {
            reply,
            actions: Vec::new(),
            content: Vec::new(),
            open: None,
            chunk: reply.chunk.unwrap_or(DEFAULT_CHUNK),
        };
        player.event("message_start", &json!({ "type": "message_start", "message": envelope.head(reply) }));
        let finished = player.steps(composer);
        let message = envelope.message(reply, &player.content);
        if finished {
            player.finish(&message);
        }
        let actions = match reply.write_size {
            Some(size) => torn(player.actions, size),
            None => player.actions,
        };
        Self { actions, message }
    }

    /// The gates of the reply, for an answer that is sent in one piece.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.actions.iter().filter_map(|action| match action {
            Action::Wait(gate) => Some(gate),
            _ => None,
        })
    }
}

struct Player<'a> {
    reply: &'a Reply,
    actions: Vec<Action>,
    content: Vec<Value>,
    open: Option<Delta>,
    chunk: usize,
}

impl Player<'_> {
    /// Plays the steps; false when a fault ended the stream early.
    fn steps(&mut self, composer: &mut Composer<'_>) -> bool {
        let steps = &self.reply.steps;
        for (position, step) in steps.iter().enumerate() {
            let rest = &steps[position + 1..];
            for block in composer.blocks(step, &continuation(rest)) {
                self.close();
                self.start(block);
            }
            if !self.play(step) {
                return false;
            }
            if !matches!(step, Step::Unfinished) && !step.is_interlude() && !stays_open(rest) {
                self.close();
            }
        }
        self.close();
        true
    }

    fn play(&mut self, step: &Step) -> bool {
        match step {
            Step::More { piece } => self.deltas(piece),
            Step::UnknownDelta => self.delta(&json!({ "type": "future_delta", "future": true })),
            Step::Ping => self.actions.push(Action::Write(sse::ping())),
            Step::UnknownEvent => {
                self.event("future_event", &json!({ "type": "future_event", "future": true }));
            }
            Step::Gate(gate) => self.actions.push(Action::Wait(gate.clone())),
            Step::Garbage { text } => self.actions.push(Action::Write(Bytes::from(text.clone()))),
            Step::Cut => self.actions.push(Action::Cut),
            Step::Stall => self.actions.push(Action::Stall),
            Step::Error { kind, message } => {
                let error = json!({ "type": kind, "message": message });
                self.event("error", &json!({ "type": "error", "error": error }));
            }
            _ => {}
        }
        !matches!(step, Step::Cut | Step::Stall | Step::Error { .. } | Step::EndWithoutStop)
    }

    fn start(&mut self, block: Block) {
        let start = json!({
            "type": "content_block_start",
            "index": self.content.len(),
            "content_block": block.start,
        });
        self.content.push(block.whole);
        self.event("content_block_start", &start);
        let is_input = block.delta == Delta::Input;
        self.open = Some(block.delta);
        if is_input {
            self.delta(&json!({ "type": "input_json_delta", "partial_json": "" }));
        }
        self.deltas(&block.first_piece);
    }

    fn deltas(&mut self, text: &str) {
        let (kind, field) = match &self.open {
            Some(Delta::Text) => ("text_delta", "text"),
            Some(Delta::Thinking { .. }) => ("thinking_delta", "thinking"),
            Some(Delta::Input) => ("input_json_delta", "partial_json"),
            Some(Delta::None) | None => return,
        };
        for piece in sse::pieces(text, self.chunk) {
            self.delta(&json!({ "type": kind, field: piece }));
        }
    }

    fn close(&mut self) {
        let Some(delta) = self.open.take() else { return };
        if let Delta::Thinking { signature } = delta {
            self.delta(&json!({ "type": "signature_delta", "signature": signature }));
        }
        let index = self.content.len() - 1;
        self.event("content_block_stop", &json!({ "type": "content_block_stop", "index": index }));
    }

    fn delta(&mut self, delta: &Value) {
        let index = self.content.len() - 1;
        let event = json!({ "type": "content_block_delta", "index": index, "delta": delta });
        self.event("content_block_delta", &event);
    }

    fn event(&mut self, name: &str, data: &Value) {
        self.actions.push(Action::Write(sse::event(name, data)));
        if self.reply.pings {
            self.actions.push(Action::Write(sse::ping()));
        }
    }

    fn finish(&mut self, message: &Value) {
        if self.reply.several_message_deltas {
            let mut early = message["usage"].clone();
            early["output_tokens"] = json!(1);
            let delta = json!({ "stop_reason": null, "stop_sequence": null, "stop_details": null });
            self.event("message_delta", &json!({ "type": "message_delta", "delta": delta, "usage": early }));
        }
        let delta = json!({
            "stop_reason": message["stop_reason"],
            "stop_sequence": message["stop_sequence"],
            "stop_details": message["stop_details"],
        });
        let event = json!({ "type": "message_delta", "delta": delta, "usage": message["usage"] });
        self.event("message_delta", &event);
        self.event("message_stop", &json!({ "type": "message_stop" }));
    }
}

/// What the steps add to the block before them.
fn continuation(rest: &[Step]) -> String {
    rest.iter()
        .take_while(|step| step.continues_block() || step.is_interlude())
        .filter_map(|step| match step {
            Step::More { piece } => Some(piece.as_str()),
            _ => None,
        })
        .collect()
}

fn stays_open(rest: &[Step]) -> bool {
    rest.iter().find(|step| !step.is_interlude()).is_some_and(Step::continues_block)
}

impl Envelope {
    /// The message as `message_start` shows it.
    fn head(&self, reply: &Reply) -> Value {
        let mut head = self.message(reply, &[]);
        head["stop_reason"] = Value::Null;
        head["stop_sequence"] = Value::Null;
        head["stop_details"] = Value::Null;
        head["usage"]["output_tokens"] = json!(1);
        head
    }

    fn message(&self, reply: &Reply, content: &[Value]) -> Value {
        let calls_tool = content.iter().any(|block| block["type"] == "tool_use");
        let natural = if calls_tool { "tool_use" } else { "end_turn" };
        let mut message = json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": reply.stop.as_deref().unwrap_or(natural),
            "stop_sequence": reply.stop_sequence,
            "stop_details": reply.stop_details,
            "usage": self.usage(reply, content),
        });
        if let Some(transformations) = &self.input_transformations {
            message["input_transformations"] = transformations.clone();
        }
        message
    }

    fn usage(&self, reply: &Reply, content: &[Value]) -> Value {
        let tokens = |block: &Value| (block.to_string().len() as u64).div_ceil(4);
        let thinking = content.iter().filter(|block| block["type"] == "thinking").map(tokens).sum::<u64>();
        let mut usage = self.usage.clone();
        usage["output_tokens"] = json!(content.iter().map(tokens).sum::<u64>().max(1));
        usage["output_tokens_details"] = json!({ "thinking_tokens": thinking });
        usage["service_tier"] = json!("standard");
        for (field, value) in reply.usage.iter().filter_map(Value::as_object).flatten() {
            usage[field] = value.clone();
        }
        usage
    }
}

/// Cuts runs of writes into writes of `size` bytes, across the borders of events.
fn torn(actions: Vec<Action>, size: usize) -> Vec<Action> {
    let mut torn = Vec::new();
    let mut run: Vec<u8> = Vec::new();
    for action in actions {
        if let Action::Write(bytes) = action {
            run.extend_from_slice(&bytes);
            continue;
        }
        torn.extend(run.chunks(size).map(|piece| Action::Write(Bytes::copy_from_slice(piece))));
        run.clear();
        torn.push(action);
    }
    torn.extend(run.chunks(size).map(|piece| Action::Write(Bytes::copy_from_slice(piece))));
    torn
}
