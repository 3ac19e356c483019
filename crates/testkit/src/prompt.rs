//! A request taken apart into the pieces the model reads, in the order it reads them.

use serde_json::Value;

use crate::{
    digest::{Chain, Digest, Fingerprint, fingerprint, fingerprint_text},
    validate::images,
};

/// Where a piece stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Tool,
    System,
    Message { message: usize, block: usize },
}

/// How long a cache entry lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ttl {
    FiveMinutes,
    OneHour,
}

/// One tool, system block or content block.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) place: Place,
    pub(crate) role: &'a str,
    /// The block; none when the content was a plain string.
    pub(crate) block: Option<&'a Value>,
    pub(crate) print: Fingerprint,
    pub(crate) breakpoint: Option<Ttl>,
}

/// The whole prompt.
#[derive(Debug)]
pub(crate) struct Prompt<'a> {
    pub(crate) body: &'a Value,
    pub(crate) pieces: Vec<Piece<'a>>,
}

impl<'a> Prompt<'a> {
    pub(crate) fn read(body: &'a Value) -> Self {
        let mut pieces = Vec::new();
        for tool in items(&body["tools"]) {
            pieces.push(Piece::block(Place::Tool, "", tool));
        }
        content(&mut pieces, &body["system"], "", |_| Place::System);
        for (message, entry) in items(&body["messages"]).iter().enumerate() {
            let role = entry["role"].as_str().unwrap_or_default();
            content(&mut pieces, &entry["content"], role, |block| Place::Message { message, block });
        }
        let mut prompt = Self { body, pieces };
        prompt.mark_automatic_breakpoint();
        prompt
    }

    /// Estimated input tokens.
    pub(crate) fn tokens(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.print.bytes).sum::<u64>() / 4
    }

    /// The conversation up to, not including, each piece; the last entry covers everything.
    pub(crate) fn conversation_chains(&self) -> Vec<Chain> {
        let mut chain = Chain::new("conversation");
        let mut chains = Vec::with_capacity(self.pieces.len() + 1);
        for piece in &self.pieces {
            if let Place::Message { .. } = piece.place {
                chain.turn(piece.role);
            }
            chains.push(chain.clone());
            chain.push(&piece.print.digest);
        }
        chains.push(chain);
        chains
    }

    /// The cache key after each piece.
    pub(crate) fn cache_keys(&self) -> Vec<Digest> {
        let mut chain = Chain::new(self.body["model"].as_str().unwrap_or_default());
        let mut section = Place::Tool;
        let mut keys = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            if section == Place::Tool && piece.place != Place::Tool {
                chain.note(&format!("speed {}", self.body["speed"]));
                section = Place::System;
            }
            if let Place::Message { .. } = piece.place {
                if section == Place::System {
                    chain.note(&self.message_settings());
                    section = piece.place;
                }
                chain.turn(piece.role);
            }
            chain.push(&piece.print.digest);
            keys.push(chain.value());
        }
        keys
    }

    /// Settings whose change throws the cached messages away, but neither tools nor system.
    fn message_settings(&self) -> String {
        let body = self.body;
        let images =
            self.pieces.iter().any(|piece| piece.block.is_some_and(|block| block["type"] == "image"));
        let effort = &body["output_config"]["effort"];
        format!("{} {} {effort} {images}", body["tool_choice"], body["thinking"])
    }

    fn mark_automatic_breakpoint(&mut self) {
        if self.body["cache_control"].is_object()
            && let Some(last) = self.pieces.iter_mut().rev().find(|piece| piece.is_cacheable())
            && last.breakpoint.is_none()
        {
            last.breakpoint = ttl(&self.body["cache_control"]);
        }
    }
}

impl<'a> Piece<'a> {
    fn block(place: Place, role: &'a str, block: &'a Value) -> Self {
        let mut print = fingerprint(block);
        if let Some(tokens) = images::tokens(block) {
            print.bytes = tokens * 4;
        }
        Self { place, role, block: Some(block), print, breakpoint: ttl(&block["cache_control"]) }
    }

    pub(crate) fn kind(&self) -> &'a str {
        self.block.and_then(|block| block["type"].as_str()).unwrap_or("text")
    }

    pub(crate) fn is_thinking(&self) -> bool {
        matches!(self.kind(), "thinking" | "redacted_thinking")
    }

    fn is_cacheable(&self) -> bool {
        !self.is_thinking()
    }
}

fn content<'a>(
    pieces: &mut Vec<Piece<'a>>,
    content: &'a Value,
    role: &'a str,
    place: impl Fn(usize) -> Place,
) {
    if let Some(text) = content.as_str() {
        let print = fingerprint_text(text);
        pieces.push(Piece { place: place(0), role, block: None, print, breakpoint: None });
    }
    for (index, block) in items(content).iter().enumerate() {
        pieces.push(Piece::block(place(index), role, block));
    }
}

pub(crate) fn ttl(mark: &Value) -> Option<Ttl> {
    mark.as_object().map(|mark| match mark.get("ttl").and_then(Value::as_str) {
        Some("1h") => Ttl::OneHour,
        _ => Ttl::FiveMinutes,
    })
}

/// The entries of an array; none for anything else.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
