//! Turns a scripted reply into the blocks of a message: ids, signatures, and what `display` leaves of thinking.

use serde_json::{Value, json};

use crate::{
    digest::{Chain, fingerprint},
    script::{Reply, Step},
    signature::Seal,
    sse,
};

/// Numbers given out by one server.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    message: u64,
    tool: u64,
    server_tool: u64,
}

impl Ids {
    pub(crate) fn message(&mut self) -> String {
        self.message += 1;
        format!("msg_{:02}", self.message)
    }

    /// Skips ids the conversation already has: it may have begun with another server.
    fn tool(&mut self, taken: impl Fn(&str) -> bool) -> String {
        loop {
            self.tool += 1;
            let id = format!("toolu_{:02}", self.tool);
            if !taken(&id) {
                return id;
            }
        }
    }

    fn server_tool(&mut self) -> String {
        self.server_tool += 1;
        format!("srvtoolu_{:02}", self.server_tool)
    }
}

/// What the reply answers.
pub(crate) struct Setting<'a> {
    pub(crate) model: &'a str,
    pub(crate) omit_thinking: bool,
    /// The conversation before the reply.
    pub(crate) chain: Chain,
    /// Ids of tool calls already in the conversation.
    pub(crate) taken_ids: std::collections::HashSet<&'a str>,
}

/// A block as the finished message holds it, and how it is streamed.
#[derive(Debug)]
pub(crate) struct Block {
    /// The finished block.
    pub(crate) whole: Value,
    /// What `content_block_start` shows of it.
    pub(crate) start: Value,
    pub(crate) delta: Delta,
    /// The part to send before any [`Step::More`].
    pub(crate) first_piece: String,
}

/// Which deltas build a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delta {
    None,
    Text,
    Thinking { signature: String },
    Input,
}

/// Builds the blocks of one step; most steps have one, server tools have two, faults have none.
pub(crate) struct Composer<'a> {
    setting: Setting<'a>,
    ids: &'a mut Ids,
    escape_input: bool,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(setting: Setting<'a>, ids: &'a mut Ids, reply: &Reply) -> Self {
        let mut setting = setting;
        setting.chain.turn("assistant");
        Self { setting, ids, escape_input: reply.escape_input }
    }

    /// `rest` are the pieces that follow by [`Step::More`].
    pub(crate) fn blocks(&mut self, step: &Step, rest: &str) -> Vec<Block> {
        let blocks = match step {
            Step::Text { text } => vec![text_block(text, rest)],
            Step::Thinking { thinking } => vec![self.thinking(thinking, rest)],
            Step::Redacted { seed } => vec![self.redacted(seed)],
            Step::Tool { name, input, id } => vec![self.tool(name, id.as_deref(), &input.to_string(), rest)],
            Step::ToolJson { name, json } => vec![self.tool(name, None, json, rest)],
            Step::ServerTool { name, input, result } => self.server_tool(name, input, result.as_ref()),
            Step::RawBlock { block } => vec![whole_block(block.clone())],
            _ => Vec::new(),
        };
        for block in &blocks {
            self.setting.chain.push(&fingerprint(&block.whole).digest);
        }
        blocks
    }

    fn thinking(&self, thinking: &str, rest: &str) -> Block {
        let omitted = self.setting.omit_thinking;
        let text = if omitted { String::new() } else { format!("{thinking}{rest}") };
        let signature = Seal::new(self.setting.model, &text, omitted, &self.setting.chain).encode();
        Block {
            whole: json!({ "type": "thinking", "thinking": text, "signature": signature }),
            start: json!({ "type": "thinking", "thinking": "", "signature": "" }),
            delta: Delta::Thinking { signature },
            first_piece: if omitted { String::new() } else { thinking.to_owned() },
        }
    }

    fn redacted(&self, seed: &str) -> Block {
        let data = Seal::new(self.setting.model, seed, true, &self.setting.chain).encode();
        whole_block(json!({ "type": "redacted_thinking", "data": data }))
    }

    fn tool(&mut self, name: &str, id: Option<&str>, json: &str, rest: &str) -> Block {
        let taken = |id: &str| self.setting.taken_ids.contains(id);
        let id = id.map_or_else(|| self.ids.tool(taken), str::to_owned);
        let input = serde_json::from_str(&format!("{json}{rest}")).unwrap_or_else(|_| json!({}));
        Block {
            whole: json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
            start: json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
            delta: Delta::Input,
            first_piece: self.input_text(json),
        }
    }

    fn server_tool(&mut self, name: &str, input: &Value, result: Option<&Value>) -> Vec<Block> {
        let id = self.ids.server_tool();
        let call = Block {
            whole: json!({ "type": "server_tool_use", "id": id, "name": name, "input": input }),
            start: json!({ "type": "server_tool_use", "id": id, "name": name, "input": {} }),
            delta: Delta::Input,
            first_piece: self.input_text(&input.to_string()),
        };
        let kind = format!("{name}_tool_result");
        let result = result.map(|content| json!({ "type": kind, "tool_use_id": id, "content": content }));
        std::iter::once(call).chain(result.map(whole_block)).collect()
    }

    /// An empty object is streamed as no text at all, as the service does.
    fn input_text(&self, json: &str) -> String {
        match json {
            "{}" => String::new(),
            json if self.escape_input => sse::escape_non_ascii(json),
            json => json.to_owned(),
        }
    }
}

fn text_block(text: &str, rest: &str) -> Block {
    Block {
        whole: json!({ "type": "text", "text": format!("{text}{rest}") }),
        start: json!({ "type": "text", "text": "" }),
        delta: Delta::Text,
        first_piece: text.to_owned(),
    }
}

fn whole_block(block: Value) -> Block {
    Block { start: block.clone(), whole: block, delta: Delta::None, first_piece: String::new() }
}
