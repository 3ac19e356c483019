//! Lines without what calls have returned. That is most of a log, and most who read one do not need it.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{LineError, read};
use crate::effect::Effect;
use crate::entry::{Body, CallResult, Cause, Entry};
use crate::id::{AgentId, CallId, EntryId};

/// How a line with a result begins.
const BEGIN: &str = "{\"type\":\"user\"";
/// Longer texts in the structured output of a call are left out: they are content, not facts about the call.
const LONGEST: usize = 4_096;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultLine {
    uuid: EntryId,
    #[serde(default)]
    parent_uuid: Option<EntryId>,
    timestamp: Timestamp,
    seq: u64,
    #[serde(default)]
    agent_id: Option<AgentId>,
    message: Message,
    #[serde(rename = "toolUseResult", default)]
    detail: Sketch,
    call: CallId,
    tool: String,
    cause: Cause,
    #[serde(default)]
    effects: Vec<Effect>,
}

#[derive(Deserialize)]
struct Message {
    content: [Block; 1],
}

#[derive(Deserialize)]
struct Block {
    #[serde(default)]
    is_error: bool,
}

/// Reads one line back as [`read`] does, but leaves out what a call has returned: its content is empty, and long texts
/// in its structured output are null. [`crate::state::State`] does not miss it.
///
/// # Errors
/// When the text is not JSON or lacks the fields every entry has.
pub fn read_bare(text: &str) -> Result<Entry, LineError> {
    // What is no result, or is written by another version, is read as it is.
    if !text.starts_with(BEGIN) {
        return read(text);
    }
    let Ok(line) = serde_json::from_str::<ResultLine>(text) else { return read(text) };
    let Message { content: [Block { is_error }] } = line.message;
    let result = CallResult {
        call: line.call,
        tool: line.tool,
        content: Vec::new(),
        is_error,
        cause: line.cause,
        detail: line.detail.0,
        effects: line.effects,
    };
    Ok(Entry {
        seq: line.seq,
        id: line.uuid,
        parent: line.parent_uuid,
        at: line.timestamp,
        agent: line.agent_id,
        body: Body::Result(result),
    })
}

/// A value without its long texts, which are not even copied.
#[derive(Default)]
struct Sketch(Value);

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Sketching).map(Self)
    }
}

struct Sketching;

impl<'de> Visitor<'de> for Sketching {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(if text.len() > LONGEST { Value::Null } else { text.into() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Sketch(value)) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key()? {
            let Sketch(value) = fields.next_value()?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}
