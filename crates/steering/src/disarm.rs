//! Reminder tags in blocks that come from outside.

use serde_json::Value;
use tiller_protocol::block::RawBlock;

use crate::reminder::neutralise;

/// The block with all its text disarmed, and how many reminder tags there were. Text stands in text blocks, in results
/// and in documents.
pub(crate) fn disarm(block: &RawBlock) -> (RawBlock, usize) {
    if !may_hold_a_tag(block.json()) {
        return (block.clone(), 0);
    }
    let mut value = block.to_value();
    match disarm_value(&mut value) {
        0 => (block.clone(), 0),
        found => (RawBlock::from_value(&value), found),
    }
}

/// A cheap look at the JSON: an angle bracket stands in it as itself or escaped.
fn may_hold_a_tag(json: &str) -> bool {
    json.contains(['<', '＜']) || json.contains("\\u")
}

fn disarm_value(block: &mut Value) -> usize {
    match block["type"].as_str() {
        Some("text") => disarm_text(&mut block["text"]),
        Some("document") => {
            let named = ["title", "context"].map(|field| block.get_mut(field).map_or(0, disarm_text));
            let source = block.get_mut("source").map_or(0, disarm_source);
            named.iter().sum::<usize>() + source
        }
        Some("tool_result") => block.get_mut("content").map_or(0, disarm_content),
        _ => 0,
    }
}

fn disarm_source(source: &mut Value) -> usize {
    match source["type"].as_str() {
        Some("text") => source.get_mut("data").map_or(0, disarm_text),
        Some("content") => source.get_mut("content").map_or(0, disarm_content),
        _ => 0,
    }
}

fn disarm_content(content: &mut Value) -> usize {
    match content {
        Value::Array(blocks) => blocks.iter_mut().map(disarm_value).sum(),
        text => disarm_text(text),
    }
}

/// Disarms whatever is text in a definition that comes from elsewhere, names of fields included, and says how many reminder
/// tags there were.
pub fn disarm_definition(definition: &mut Value) -> usize {
    match definition {
        Value::Array(items) => items.iter_mut().map(disarm_definition).sum(),
        Value::Object(fields) => {
            let names: usize = fields.keys().map(|name| neutralise(name).found).sum();
            if names > 0 {
                let renamed = |(name, value): (String, Value)| (neutralise(&name).text.into_owned(), value);
                *fields = std::mem::take(fields).into_iter().map(renamed).collect();
            }
            names + fields.values_mut().map(disarm_definition).sum::<usize>()
        }
        text => disarm_text(text),
    }
}

fn disarm_text(text: &mut Value) -> usize {
    let Value::String(text) = text else { return 0 };
    let harmless = neutralise(text);
    let found = harmless.found;
    if found > 0 {
        *text = harmless.text.into_owned();
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // LEDG-05
    #[test]
    fn text_is_disarmed_wherever_it_stands() {
        let tag = "<system-reminder>";
        let blocks = [
            json!({"type": "text", "text": tag}),
            json!({"type": "tool_result", "tool_use_id": "t", "content": tag}),
            json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": tag}]}),
            json!({"type": "document", "title": tag, "source": {"type": "base64", "data": ""}}),
            json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": tag}}),
            json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": tag}]}}),
        ];
        for block in blocks {
            let (disarmed, found) = disarm(&RawBlock::from_value(&block));
            assert_eq!(found, 1, "{block}");
            assert_eq!(disarmed.to_value().to_string(), block.to_string().replace('<', "<\\\\"));
        }
        let escaped =
            RawBlock::parse(r#"{"type":"text","text":"\u003csystem-reminder>"}"#.to_owned()).unwrap();
        assert_eq!(disarm(&escaped).1, 1);
    }

    // LEDG-05
    #[test]
    fn a_definition_is_disarmed_in_all_its_depth() {
        let tag = "<system-reminder>";
        let mut definition = json!({"name": "mcp__srv__a", "description": tag, "input_schema": {
            "type": "object",
            "title": tag,
            "properties": {
                "x": {"type": "string", "description": tag, "enum": ["a", tag]},
                tag: {"type": "array", "items": {"description": tag}},
            },
        }});
        assert_eq!(disarm_definition(&mut definition), 6);
        assert!(!definition.to_string().contains(tag), "{definition}");
        assert_eq!(definition["name"], "mcp__srv__a");
        assert_eq!(disarm_definition(&mut definition), 0);
    }

    #[test]
    fn what_holds_no_tag_keeps_every_byte() {
        for json in [
            r#"{"type":"text","text":"a < b \u00e9"}"#,
            r#"{"type":"image","source":{"data":"<system-reminder>"}}"#,
        ] {
            let block = RawBlock::parse(json.to_owned()).unwrap();
            let (same, found) = disarm(&block);
            assert_eq!((same.json(), found), (json, 0));
        }
    }
}
