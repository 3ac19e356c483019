//! Whole blocks taken apart into the events of a stream, so that played answers look like streamed ones.

use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::usage::StopReason;

use super::Answer;

/// Input of a tool comes in pieces of so many characters.
const INPUT_PIECE: usize = 24;

/// The events of an answer that was recorded as blocks. `number` makes the message's id unique.
pub(super) fn events(answer: &Answer, number: usize) -> Vec<String> {
    let usage = json!(answer.usage.unwrap_or_default());
    let message = json!({
        "id": format!("msg_recorded_{number}"), "type": "message", "role": "assistant", "model": answer.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in answer.blocks.iter().enumerate() {
        block_events(index, block, &mut events);
    }
    let delta = json!({
        "stop_reason": stop_reason(answer).as_str(), "stop_sequence": null, "stop_details": answer.stop_details,
    });
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(Value::to_string).collect()
}

fn stop_reason(answer: &Answer) -> StopReason {
    let calls = answer.blocks.iter().any(|block| block.as_tool_use().is_some());
    let usual = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
    answer.stop_reason.clone().unwrap_or(usual)
}

fn block_events(index: usize, block: &RawBlock, events: &mut Vec<Value>) {
    let mut start = block.to_value();
    let deltas = take_deltas(&mut start);
    events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
    let of_block = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
    events.extend(deltas.into_iter().map(of_block));
    events.push(json!({"type": "content_block_stop", "index": index}));
}

/// Empties the streamed fields of a block and returns their contents as deltas.
fn take_deltas(block: &mut Value) -> Vec<Value> {
    let kind = block["type"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "text" => {
            let text = take_string(block, "text");
            words(&text).map(|piece| json!({"type": "text_delta", "text": piece})).collect()
        }
        "thinking" => {
            let thinking = take_string(block, "thinking");
            let signature = take_string(block, "signature");
            let deltas = words(&thinking).map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            deltas.chain([json!({"type": "signature_delta", "signature": signature})]).collect()
        }
        "tool_use" | "server_tool_use" => {
            let input = std::mem::replace(&mut block["input"], json!({})).to_string();
            let characters: Vec<char> = input.chars().collect();
            let pieces = characters.chunks(INPUT_PIECE).map(String::from_iter);
            pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect()
        }
        _ => Vec::new(),
    }
}

fn take_string(block: &mut Value, key: &str) -> String {
    match std::mem::replace(&mut block[key], json!("")) {
        Value::String(text) => text,
        _ => String::new(),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}
