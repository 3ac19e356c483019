//! Thinking that is sent back: genuine, complete, and still in its own conversation.

use serde_json::Value;

use super::Request;
use crate::{
    digest::Chain,
    error::{ApiError, Check},
    models,
    prompt::{Piece, Place, Prompt, items},
    signature::Seal,
    state::{Issued, seal_of},
};

/// The beta that lets a client say what happens to thinking of another conversation.
pub(crate) const CONTROLS: &str = "thinking-binding-controls-2026-08-01";

const MODIFIED: &str = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be \
                        modified. These blocks must remain as they were in the original response.";

/// A thinking block the model does not get to see.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) path: String,
    pub(crate) reason: &'static str,
}

/// Returns what was dropped, and the conversation as a whole.
pub(super) fn check(
    request: &Request<'_>,
    prompt: &Prompt<'_>,
    issued: &Issued,
) -> Check<(Vec<Dropped>, Chain)> {
    let mut chains = prompt.conversation_chains();
    let whole = chains.pop().unwrap_or_else(|| Chain::new(""));
    let tool_loop = ToolLoop::find(prompt);
    let drop_mismatch = request.body["thinking"]["block_binding"]["prefix_mismatch_behavior"] == "drop_block";
    let mut dropped: Vec<Dropped> = Vec::new();
    let mut mismatch_run = false;
    for (piece, prefix) in prompt.pieces.iter().zip(&chains) {
        if !piece.is_thinking() {
            mismatch_run = false;
            continue;
        }
        let path = path_of(piece);
        let seal = genuine(piece, &path, tool_loop.contains(piece))?;
        let source = models::find(&seal.model).unwrap_or(request.model);
        if !request.model.reads(source) {
            dropped.push(Dropped { path, reason: "model_binding_mismatch" });
            continue;
        }
        if !request.model.prefix_check || (seal.covers_prefix(prefix) && !mismatch_run) {
            continue;
        }
        if !drop_mismatch {
            return Err(ApiError::at(
                path,
                "Invalid signature in thinking block. The block is bound to a different conversation. Remove the \
                 block, or set thinking.block_binding.prefix_mismatch_behavior to \"drop_block\".",
            ));
        }
        mismatch_run = true;
        dropped.push(Dropped { path, reason: "prefix_binding_mismatch" });
    }
    tool_loop.check(request, issued)?;
    Ok((dropped, whole))
}

fn path_of(piece: &Piece<'_>) -> String {
    match piece.place {
        Place::Message { message, block } => format!("messages.{message}.content.{block}"),
        Place::Tool | Place::System => String::new(),
    }
}

/// The seal of a block that was issued as it is.
fn genuine(piece: &Piece<'_>, path: &str, in_loop: bool) -> Check<Seal> {
    let block = piece.block.unwrap_or(&Value::Null);
    let (field, kind) =
        if piece.kind() == "thinking" { ("signature", "thinking") } else { ("data", "redacted_thinking") };
    let invalid = || ApiError::at(path, format!("Invalid `{field}` in `{kind}` block"));
    let seal = seal_of(block).and_then(Seal::decode).ok_or_else(invalid)?;
    let text = block["thinking"].as_str().unwrap_or_default();
    match (kind, seal.covers_text(text)) {
        ("thinking", false) if in_loop => Err(ApiError::at(path, MODIFIED)),
        ("thinking", false) => Err(invalid()),
        _ => Ok(seal),
    }
}

/// The assistant turn whose tool calls are being answered right now, if there is one.
struct ToolLoop<'p, 'a> {
    turn: &'p [Piece<'a>],
}

impl<'p, 'a> ToolLoop<'p, 'a> {
    fn find(prompt: &'p Prompt<'a>) -> Self {
        let pieces = &prompt.pieces;
        let end = pieces.iter().rposition(|piece| piece.role == "assistant").map_or(0, |last| last + 1);
        let start =
            pieces[..end].iter().rposition(|piece| piece.role != "assistant").map_or(0, |before| before + 1);
        let answered = pieces[end..].iter().any(|piece| piece.kind() == "tool_result");
        Self { turn: if answered { &pieces[start..end] } else { &[] } }
    }

    fn contains(&self, piece: &Piece<'_>) -> bool {
        self.turn.iter().any(|own| own.place == piece.place)
    }

    fn check(&self, request: &Request<'_>, issued: &Issued) -> Check {
        let kind = request.body["thinking"]["type"].as_str();
        let Some(first) = self.turn.first() else { return Ok(()) };
        if kind == Some("disabled") {
            return Ok(());
        }
        if kind == Some("enabled") && !first.is_thinking() {
            let found = first.kind();
            return Err(ApiError::at(
                format!("{}.type", path_of(first)),
                format!(
                    "Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a \
                     final `assistant` message must start with a thinking block."
                ),
            ));
        }
        self.check_complete(request, issued)
    }

    /// All thinking that came with the calls is there, in its order.
    fn check_complete(&self, request: &Request<'_>, issued: &Issued) -> Check {
        let sent: Vec<&str> = self.turn.iter().filter_map(|piece| piece.block.and_then(seal_of)).collect();
        for call in self.turn.iter().filter(|piece| piece.kind() == "tool_use") {
            let Some(thought) = issued.with_call(&call.print.digest) else { continue };
            let complete = sent.windows(thought.seals.len()).any(|window| window == thought.seals);
            if thought.model == request.model.id && !complete {
                let Place::Message { message, .. } = call.place else { continue };
                let first = items(&request.body["messages"][message]["content"]).iter().position(|block| {
                    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
                });
                let path = format!("messages.{message}.content.{}", first.unwrap_or(0));
                return Err(ApiError::at(path, MODIFIED));
            }
        }
        Ok(())
    }
}
