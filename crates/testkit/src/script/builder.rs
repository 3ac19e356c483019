//! How tests write replies.

use serde_json::{Value, json};

use super::{Failure, Reply, Step};
use crate::gate::Gate;

impl Reply {
    /// An empty reply to add to.
    pub fn new() -> Self {
        Self::default()
    }

    /// A reply that is one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().and_text(text)
    }

    /// An error answer, e.g. `Reply::status(529, "overloaded_error", "Overloaded")`.
    pub fn status(status: u16, kind: &str, message: &str) -> Self {
        let failure = Failure { status, kind: kind.to_owned(), message: message.to_owned() };
        Self { failure: Some(failure), ..Self::default() }
    }

    /// A response header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds a text block.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text { text: text.into() })
    }

    /// Thinking. Shown or omitted as the request's `display` and the model ask for.
    pub fn thinking(self, thinking: impl Into<String>) -> Self {
        self.step(Step::Thinking { thinking: thinking.into() })
    }

    /// Thinking the client cannot read; `seed` only makes its data differ from others.
    pub fn redacted(self, seed: impl Into<String>) -> Self {
        self.step(Step::Redacted { seed: seed.into() })
    }

    /// A call of a client tool.
    pub fn tool(self, name: &str, input: Value) -> Self {
        self.step(Step::Tool { name: name.to_owned(), input, id: None })
    }

    /// A call of a client tool with a chosen id.
    pub fn tool_with_id(self, id: &str, name: &str, input: Value) -> Self {
        self.step(Step::Tool { name: name.to_owned(), input, id: Some(id.to_owned()) })
    }

    /// A tool call whose input JSON is sent exactly as written; continue it with [`Reply::more`].
    pub fn tool_json(self, name: &str, json: &str) -> Self {
        self.step(Step::ToolJson { name: name.to_owned(), json: json.to_owned() })
    }

    /// A tool call whose input never becomes valid JSON.
    pub fn invalid_tool_json(self, name: &str, json: &str) -> Self {
        self.tool_json(name, json)
    }

    /// A server tool call with the content of its result block.
    pub fn server_tool(self, name: &str, input: Value, result: Value) -> Self {
        self.step(Step::ServerTool { name: name.to_owned(), input, result: Some(result) })
    }

    /// A server tool call that has no result yet.
    pub fn open_server_tool(self, name: &str, input: Value) -> Self {
        self.step(Step::ServerTool { name: name.to_owned(), input, result: None })
    }

    /// Any block, sent whole in its start event. Also for block types that do not exist.
    pub fn raw_block(self, block: Value) -> Self {
        self.step(Step::RawBlock { block })
    }

    /// Continues the block before, e.g. after a gate.
    pub fn more(self, piece: impl Into<String>) -> Self {
        self.step(Step::More { piece: piece.into() })
    }

    /// Leaves the block before open, so that a following fault hits in the middle of it.
    pub fn unfinished(self) -> Self {
        self.step(Step::Unfinished)
    }

    /// A delta kind that does not exist, inside the block before.
    pub fn unknown_delta(self) -> Self {
        self.step(Step::UnknownDelta)
    }

    /// An event name that does not exist.
    pub fn unknown_event(self) -> Self {
        self.step(Step::UnknownEvent)
    }

    /// One ping here.
    pub fn ping(self) -> Self {
        self.step(Step::Ping)
    }

    /// A ping after every event.
    pub fn pings(mut self) -> Self {
        self.pings = true;
        self
    }

    /// Waits here until the gate is opened.
    pub fn gate(self, gate: &Gate) -> Self {
        self.step(Step::Gate(gate.clone()))
    }

    /// Waits before even the status line is sent.
    pub fn gate_headers(mut self, gate: &Gate) -> Self {
        self.header_gates.push(gate.clone());
        self
    }

    /// Drops the connection here.
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Ends the response cleanly here, without `message_delta` and `message_stop`.
    pub fn end_without_stop(self) -> Self {
        self.step(Step::EndWithoutStop)
    }

    /// Silence from here until the client or the server goes away.
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Bytes that are no valid event, sent as they are.
    pub fn garbage(self, text: &str) -> Self {
        self.step(Step::Garbage { text: text.to_owned() })
    }

    /// An `error` event; the stream ends after it.
    pub fn error_event(self, kind: &str, message: &str) -> Self {
        self.step(Step::Error { kind: kind.to_owned(), message: message.to_owned() })
    }

    /// The stop reason. Without one: `tool_use` if a client tool is called, else `end_turn`.
    pub fn stop(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Stops at a stop sequence.
    pub fn stop_sequence(mut self, sequence: &str) -> Self {
        self.stop_sequence = Some(sequence.to_owned());
        self.stop("stop_sequence")
    }

    /// Ran out of output tokens; a tool call at the end loses the second half of its input.
    pub fn max_tokens_cut(mut self) -> Self {
        if let Some(Step::Tool { name, input, .. }) = self.steps.last() {
            let whole = input.to_string();
            let half: String = whole.chars().take(whole.chars().count() / 2).collect();
            let cut = Step::ToolJson { name: name.clone(), json: half };
            self.steps.pop();
            self.steps.push(cut);
        }
        self.stop("max_tokens")
    }

    /// The server-side loop pauses; the client has to send the content back.
    pub fn pause_turn(self) -> Self {
        self.stop("pause_turn")
    }

    /// The context window is full.
    pub fn window_exceeded(self) -> Self {
        self.stop("model_context_window_exceeded")
    }

    /// The model refuses, before any output or after some.
    pub fn refusal(mut self, category: Option<&str>, explanation: &str) -> Self {
        let details = json!({ "type": "refusal", "category": category, "explanation": explanation });
        self.stop_details = Some(details);
        self.stop("refusal")
    }

    /// Replaces fields of the computed usage, e.g. `json!({"input_tokens": 190_000})`.
    pub fn usage(mut self, fields: Value) -> Self {
        self.usage = Some(fields);
        self
    }

    /// Bytes per delta of text, thinking and tool input.
    pub fn chunked(mut self, bytes: usize) -> Self {
        self.chunk = Some(bytes.max(1));
        self
    }

    /// One byte per delta, with tool input escaped to ASCII so that escapes are split too.
    pub fn split_every_byte(mut self) -> Self {
        self.escape_input = true;
        self.chunked(1)
    }

    /// Bytes per write to the socket: events, UTF-8 characters and line ends are torn apart.
    pub fn write_size(mut self, bytes: usize) -> Self {
        self.write_size = Some(bytes.max(1));
        self
    }

    /// Two `message_delta` events instead of one.
    pub fn several_message_deltas(mut self) -> Self {
        self.several_message_deltas = true;
        self
    }

    pub(crate) fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}
