//! A content block while it is being streamed. What the provider sent stays as it was, key by key; only the fields
//! that deltas speak of are rewritten.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tiller_protocol::block::RawBlock;

use super::wire::Delta;

/// A block between its start and its stop.
pub(crate) struct OpenBlock {
    start: Box<RawValue>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    input: Option<String>,
    citations: Vec<Box<RawValue>>,
    replaced: Vec<(&'static str, Box<RawValue>)>,
}

impl OpenBlock {
    /// A block that begins with this JSON.
    pub(crate) fn new(start: &RawValue) -> Self {
        Self {
            start: start.to_owned(),
            text: None,
            thinking: None,
            signature: None,
            input: None,
            citations: Vec::new(),
            replaced: Vec::new(),
        }
    }

    /// Adds a delta; kinds of a later version of the protocol are ignored.
    pub(crate) fn add(&mut self, delta: &Delta<'_>) {
        let (field, piece) = match delta.kind.as_ref() {
            "text_delta" => (&mut self.text, &delta.text),
            "input_json_delta" => (&mut self.input, &delta.partial_json),
            "thinking_delta" => (&mut self.thinking, &delta.thinking),
            "signature_delta" => (&mut self.signature, &delta.signature),
            "citations_delta" => return self.citations.extend(delta.citation.map(ToOwned::to_owned)),
            "compaction_delta" => {
                let fields = [("content", delta.content), ("encrypted_content", delta.encrypted_content)];
                let given = fields.into_iter().filter_map(|(key, value)| Some((key, value?.to_owned())));
                return self.replaced.extend(given);
            }
            _ => return,
        };
        field.get_or_insert_default().push_str(piece);
    }

    /// The finished block, and the text of a tool's input if that is not a JSON object.
    pub(crate) fn finish(self) -> Result<(RawBlock, Option<String>), serde_json::Error> {
        let mut fields: Fields = serde_json::from_str(self.start.get())?;
        let (input, invalid_input) = match self.input {
            Some(text) => checked_input(text),
            None => (None, None),
        };
        for (key, piece) in [("text", self.text), ("thinking", self.thinking)] {
            if let Some(piece) = piece {
                let begun = fields.string(key);
                fields.set(key, json_string(&(begun + &piece))?);
            }
        }
        if let Some(signature) = self.signature {
            fields.set("signature", json_string(&signature)?);
        }
        if let Some(input) = input {
            fields.set("input", input);
        }
        if !self.citations.is_empty() {
            let mut all = fields.array("citations");
            all.extend(self.citations);
            fields.set("citations", serde_json::value::to_raw_value(&all)?);
        }
        for (key, value) in self.replaced {
            fields.set(key, value);
        }
        let json = if fields.changed { fields.json()? } else { self.start.get().to_owned() };
        Ok((RawBlock::parse(json)?, invalid_input))
    }
}

/// What to put into the block, if anything, and what to report as invalid.
fn checked_input(text: String) -> (Option<Box<RawValue>>, Option<String>) {
    if text.trim().is_empty() {
        return (None, None);
    }
    let is_object = serde_json::from_str::<Map<String, Value>>(&text).is_ok();
    match RawValue::from_string(text.trim().to_owned()) {
        Ok(raw) if is_object => (Some(raw), None),
        _ => (RawValue::from_string("{}".to_owned()).ok(), Some(text)),
    }
}

fn json_string(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    serde_json::value::to_raw_value(text)
}

/// The fields of an object in their order, their values untouched.
struct Fields {
    entries: Vec<(String, Box<RawValue>)>,
    changed: bool,
}

impl Fields {
    fn get(&self, key: &str) -> Option<&RawValue> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    fn string(&self, key: &str) -> String {
        self.get(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    fn array(&self, key: &str) -> Vec<Box<RawValue>> {
        self.get(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    fn set(&mut self, key: &str, value: Box<RawValue>) {
        self.changed = true;
        match self.entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    fn json(&self) -> Result<String, serde_json::Error> {
        let size: usize = self.entries.iter().map(|(key, value)| key.len() + value.get().len() + 4).sum();
        let mut json = String::with_capacity(size + 2);
        for (key, value) in &self.entries {
            json.push(if json.is_empty() { '{' } else { ',' });
            json.push_str(&serde_json::to_string(key)?);
            json.push(':');
            json.push_str(value.get());
        }
        json.push('}');
        Ok(json)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a content block")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Fields { entries, changed: false })
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(start: &str, deltas: &[&str]) -> (String, Option<String>) {
        let mut block = OpenBlock::new(serde_json::from_str(start).unwrap());
        for delta in deltas {
            block.add(&serde_json::from_str(delta).unwrap());
        }
        let (block, invalid) = block.finish().unwrap();
        (block.json().to_owned(), invalid)
    }

    fn check(start: &str, deltas: &[&str], expected: &str) {
        assert_eq!(build(start, deltas), (expected.to_owned(), None));
    }

    #[test]
    fn text_is_appended() {
        check(
            r#"{"type":"text","text":""}"#,
            &[r#"{"type":"text_delta","text":"a\n"}"#, r#"{"type":"text_delta","text":"\u00e9\""}"#],
            r#"{"type":"text","text":"a\né\""}"#,
        );
    }

    #[test]
    fn citations_are_pushed_as_they_came() {
        check(
            r#"{"citations":null,"type":"text","text":""}"#,
            &[
                r#"{"type":"citations_delta","citation":{"n":1.10}}"#,
                r#"{"type":"text_delta","text":"x"}"#,
                r#"{"type":"citations_delta","citation":{"b":2}}"#,
            ],
            r#"{"citations":[{"n":1.10},{"b":2}],"type":"text","text":"x"}"#,
        );
    }

    #[test]
    fn thinking_keeps_key_order_and_unknown_fields() {
        check(
            r#"{"type":"thinking","thinking":"","signature":"","new":{"n":1.0}}"#,
            &[
                r#"{"type":"thinking_delta","thinking":"hm","estimated_tokens":3}"#,
                r#"{"type":"signature_delta","signature":"Eq+/="}"#,
            ],
            r#"{"type":"thinking","thinking":"hm","signature":"Eq+/=","new":{"n":1.0}}"#,
        );
        check(
            r#"{"type":"thinking","thinking":""}"#,
            &[r#"{"type":"signature_delta","signature":"s"}"#],
            r#"{"type":"thinking","thinking":"","signature":"s"}"#,
        );
    }

    #[test]
    fn tool_input_is_the_text_the_model_wrote() {
        check(
            r#"{"type":"tool_use","id":"t","name":"N","input":{},"caller":{"type":"direct"}}"#,
            &[
                r#"{"type":"input_json_delta","partial_json":""}"#,
                r#"{"type":"input_json_delta","partial_json":"{\"b\": 1.50, \"a\":"}"#,
                r#"{"type":"input_json_delta","partial_json":" \"\\u00e9\"}"}"#,
            ],
            r#"{"type":"tool_use","id":"t","name":"N","input":{"b": 1.50, "a": "\u00e9"},"caller":{"type":"direct"}}"#,
        );
        let start = r#"{"type":"tool_use","id":"t","name":"N","input":{}}"#;
        check(start, &[r#"{"type":"input_json_delta","partial_json":""}"#], start);
        check(start, &[], start);
    }

    #[test]
    fn input_that_is_no_object_is_reported() {
        let start = r#"{"type":"tool_use","id":"t","name":"N","input":{}}"#;
        for text in [r#"{"a":"#, "[1]", "\"x\"", r#"{"a":"\ud800"}"#, "}"] {
            let delta = serde_json::json!({"type": "input_json_delta", "partial_json": text}).to_string();
            assert_eq!(build(start, &[&delta]), (start.to_owned(), Some(text.to_owned())));
        }
    }

    #[test]
    fn blocks_without_deltas_survive_to_the_byte() {
        for start in [
            r#"{"type":"redacted_thinking","data":"x"}"#,
            r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[ {"a" : 1.0} ]}"#,
            r#"{"type":"of_the_future","x":{"y":[]}}"#,
        ] {
            check(start, &[r#"{"type":"delta_of_the_future","z":1}"#], start);
        }
    }

    #[test]
    fn compaction_comes_in_one_delta() {
        check(
            r#"{"type":"compaction","content":null}"#,
            &[r#"{"type":"compaction_delta","content":"sum","encrypted_content":"e"}"#],
            r#"{"type":"compaction","content":"sum","encrypted_content":"e"}"#,
        );
    }
}
