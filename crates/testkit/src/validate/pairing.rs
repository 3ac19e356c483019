//! Every tool call has its result, in the next message, before anything else.

use std::collections::HashSet;

use serde_json::Value;

use super::Request;
use crate::{
    error::{ApiError, Check},
    prompt::items,
};

/// Neighbouring messages of one role, which the service merges.
struct Turn<'a> {
    role: &'a str,
    /// Index of the last message.
    last: usize,
    blocks: Vec<(usize, usize, &'a Value)>,
    /// Some content was a plain string, so there is more than the blocks.
    plain_text_at: Option<usize>,
}

pub(super) fn check(request: &Request<'_>) -> Check {
    let turns = turns(items(&request.body["messages"]));
    check_unique_ids(&turns)?;
    for (index, turn) in turns.iter().enumerate() {
        let next = turns.get(index + 1);
        let previous = index.checked_sub(1).map(|before| &turns[before]);
        match turn.role {
            "assistant" => {
                check_server_calls(turn, next)?;
                check_answered(turn, next)?;
            }
            "user" => check_results(turn, previous)?,
            _ => {}
        }
    }
    Ok(())
}

fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if turns.last().is_none_or(|turn| turn.role != role) {
            turns.push(Turn { role, last: index, blocks: Vec::new(), plain_text_at: None });
        }
        let Some(turn) = turns.last_mut() else { continue };
        turn.last = index;
        if message["content"].is_string() {
            turn.plain_text_at.get_or_insert(turn.blocks.len());
        }
        let blocks = items(&message["content"]).iter().enumerate();
        turn.blocks.extend(blocks.map(|(position, block)| (index, position, block)));
    }
    turns
}

impl<'a> Turn<'a> {
    fn of_kind(&self, kind: &'a str) -> impl Iterator<Item = (usize, usize, &'a Value)> + '_ {
        self.blocks.iter().copied().filter(move |(_, _, block)| block["type"] == kind)
    }

    fn calls(&self) -> Vec<&'a str> {
        self.of_kind("tool_use").filter_map(|(_, _, block)| block["id"].as_str()).collect()
    }

    /// The results at the head of the turn, before any other content.
    fn leading_results(&self) -> Vec<&'a str> {
        self.blocks
            .iter()
            .enumerate()
            .take_while(|(index, _)| self.plain_text_at.is_none_or(|at| *index < at))
            .map(|(_, (_, _, block))| *block)
            .take_while(|block| block["type"] == "tool_result")
            .filter_map(|block| block["tool_use_id"].as_str())
            .collect()
    }

    fn only_results(&self) -> bool {
        self.plain_text_at.is_none() && self.blocks.iter().all(|(_, _, block)| block["type"] == "tool_result")
    }
}

fn check_unique_ids(turns: &[Turn<'_>]) -> Check {
    let mut seen = HashSet::new();
    for turn in turns.iter().filter(|turn| turn.role == "assistant") {
        for (message, block, call) in turn.of_kind("tool_use") {
            if !seen.insert(call["id"].as_str()) {
                let path = format!("messages.{message}.content.{block}");
                return Err(ApiError::at(path, "`tool_use` ids must be unique"));
            }
        }
    }
    Ok(())
}

fn check_answered(turn: &Turn<'_>, next: Option<&Turn<'_>>) -> Check {
    let answered: HashSet<&str> = match next {
        Some(next) if next.role == "user" => next.leading_results().into_iter().collect(),
        _ => HashSet::new(),
    };
    let open: Vec<&str> = turn.calls().into_iter().filter(|id| !answered.contains(id)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let ids = open.join(", ");
    Err(ApiError::at(
        format!("messages.{}", turn.last),
        format!(
            "`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` \
             block must have a corresponding `tool_result` block in the next message."
        ),
    ))
}

fn check_results(turn: &Turn<'_>, previous: Option<&Turn<'_>>) -> Check {
    let calls: HashSet<&str> = match previous {
        Some(previous) if previous.role == "assistant" => previous.calls().into_iter().collect(),
        _ => HashSet::new(),
    };
    let mut answered = HashSet::new();
    for (message, block, result) in turn.of_kind("tool_result") {
        let path = format!("messages.{message}.content.{block}");
        let id = result["tool_use_id"].as_str().unwrap_or_default();
        if !calls.contains(id) {
            let rule = format!(
                "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have \
                 a corresponding `tool_use` block in the previous message."
            );
            return Err(ApiError::at(path, rule));
        }
        if !answered.insert(id) {
            let rule = format!(
                "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            );
            return Err(ApiError::at(path, rule));
        }
    }
    Ok(())
}

/// A server tool call may stay open only while its turn goes on.
fn check_server_calls(turn: &Turn<'_>, next: Option<&Turn<'_>>) -> Check {
    let Some(next) = next else { return Ok(()) };
    let results: HashSet<&str> =
        turn.blocks.iter().filter_map(|(_, _, block)| block["tool_use_id"].as_str()).collect();
    let open = turn
        .of_kind("server_tool_use")
        .find(|(_, _, call)| call["id"].as_str().is_none_or(|id| !results.contains(id)));
    let Some((message, block, call)) = open else { return Ok(()) };
    let continues = next.role == "user" && !next.blocks.is_empty() && next.only_results();
    if continues {
        return Ok(());
    }
    let (id, name) = (call["id"].as_str().unwrap_or_default(), call["name"].as_str().unwrap_or_default());
    Err(ApiError::at(
        format!("messages.{message}.content.{block}"),
        format!(
            "`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block"
        ),
    ))
}
