//! The fixed head of requests: `system` and `tools`, built once per epoch and stored in the log.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn raw(mut blocks: Vec<Value>) -> Box<RawValue> {
    if let Some(last) = blocks.pop() {
        blocks.push(cached(last));
    }
    to_raw_value(&blocks).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The `system` array: one text block per part, with a cache breakpoint at its end.
#[must_use]
pub fn system(parts: &[String]) -> Box<RawValue> {
    let whole = parts.join("\n\n");
    let blocks =
        if whole.trim().is_empty() { Vec::new() } else { vec![json!({"type": "text", "text": whole})] };
    raw(blocks)
}

/// The `tools` array, with a cache breakpoint at its end: it is the same in every project.
#[must_use]
pub fn tools(definitions: Vec<Value>) -> Box<RawValue> {
    raw(definitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    // CACHE-02
    #[test]
    fn tools_and_system_each_end_in_a_breakpoint() {
        let tools: Value =
            serde_json::from_str(tools(vec![json!({"name":"A"}), json!({"name":"B"})]).get()).unwrap();
        assert!(tools[0].get("cache_control").is_none());
        assert_eq!(tools[1]["cache_control"]["type"], "ephemeral");
        let system: Value = serde_json::from_str(system(&["a".into(), "b".into()]).get()).unwrap();
        assert_eq!(system[0]["text"], "a\n\nb");
        assert_eq!(system[0]["cache_control"]["type"], "ephemeral");
    }

    #[test]
    fn nothing_to_say_is_an_empty_array() {
        assert_eq!(system(&[]).get(), "[]");
        assert_eq!(tools(Vec::new()).get(), "[]");
    }
}
