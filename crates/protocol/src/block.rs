//! Content blocks. What the provider returns is kept as raw JSON and sent back untouched: re-typing a
//! block would lose fields that the provider's signatures cover.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::id::CallId;

/// One content block as raw JSON. Cheap to clone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawBlock(Arc<RawValue>);

impl PartialEq for RawBlock {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct TextField {
    text: String,
}

#[derive(Deserialize)]
struct ToolUseFields {
    id: CallId,
    name: String,
    #[serde(default)]
    input: Value,
}

/// A request by the model to run a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The provider's id of the call.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The input; [`Value::Null`] or a string when it was not valid JSON.
    pub input: Value,
}

impl RawBlock {
    /// Takes JSON text as a block.
    ///
    /// # Errors
    /// When the text is not valid JSON.
    pub fn parse(json: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(json).map(|raw| Self(raw.into()))
    }

    /// A block made by Tiller itself.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        match serde_json::value::to_raw_value(value) {
            Ok(raw) => Self(raw.into()),
            Err(_) => Self(RawValue::NULL.to_owned().into()),
        }
    }

    /// A plain text block.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::from_value(&json!({"type": "text", "text": text}))
    }

    /// The exact JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        self.0.get()
    }

    /// The block parsed into a value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.json()).unwrap_or(Value::Null)
    }

    /// The block's `type`, empty when it has none.
    #[must_use]
    pub fn kind(&self) -> String {
        serde_json::from_str::<Kind<'_>>(self.json()).map(|k| k.kind.into_owned()).unwrap_or_default()
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        if self.kind() != "text" {
            return None;
        }
        serde_json::from_str::<TextField>(self.json()).ok().map(|t| t.text)
    }

    /// The call, if this is a `tool_use` block.
    #[must_use]
    pub fn as_tool_use(&self) -> Option<ToolUse> {
        if self.kind() != "tool_use" {
            return None;
        }
        let fields: ToolUseFields = serde_json::from_str(self.json()).ok()?;
        Some(ToolUse { id: fields.id, name: fields.name, input: fields.input })
    }

    /// Whether this is reasoning that only the model that wrote it can use.
    #[must_use]
    pub fn is_thinking(&self) -> bool {
        matches!(self.kind().as_str(), "thinking" | "redacted_thinking")
    }

    /// Whether the provider would refuse the block for being blank text.
    #[must_use]
    pub fn is_blank_text(&self) -> bool {
        self.as_text().is_some_and(|text| text.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_json_survives_to_the_byte() {
        let source =
            r#"{"type":"thinking","thinking":"","signature":"x","n":1.10,"é":12345678901234567890123}"#;
        let block = RawBlock::parse(source.to_owned()).unwrap();
        assert_eq!(block.json(), source);
        assert_eq!(serde_json::to_string(&block).unwrap(), source);
        assert!(block.is_thinking());
    }

    #[test]
    fn tool_use_is_read() {
        let block = RawBlock::from_value(&json!({"type":"tool_use","id":"t1","name":"Read","input":{"a":1}}));
        let call = block.as_tool_use().unwrap();
        assert_eq!((call.id.as_str(), call.name.as_str()), ("t1", "Read"));
        assert!(RawBlock::text("x").as_tool_use().is_none());
    }
}
