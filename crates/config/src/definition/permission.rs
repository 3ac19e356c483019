//! Rules, and the mode to start in.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::Behavior;

/// What needs a question and what is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Permissions {
    /// Rules for what needs no question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub allow: Vec<String>,
    /// Rules for what is asked in every mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Rules for what is refused in every mode; a bare tool name also takes the tool away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The mode of a new session.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "named_mode")]
    #[schemars(extend("default" = Mode::Default, "x-trust" = Mode::STRICTEST_FIRST))]
    pub default_mode: Option<Mode>,
    /// Further working directories; `~/` is the home directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub additional_directories: Vec<String>,
    /// Whether the mode `bypassPermissions` is refused; the word `disable` also means yes.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "yes_no_or_disable")]
    #[schemars(extend("default" = false, "x-trust" = [true, false]))]
    pub disable_bypass_permissions_mode: Option<bool>,
    /// Examples of what the rules are meant to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<RuleTest>,
}

/// An example of what the rules are meant to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct RuleTest {
    /// The tool that is called.
    pub tool: String,
    /// What it is called with.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// The mode at that moment; the mode of a new session if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What has to come out.
    pub expect: Behavior,
}

/// Not every mode can be named.
fn named_mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Mode>, D::Error> {
    let name = Option::<String>::deserialize(from)?;
    name.map(|name| name.parse().map_err(serde::de::Error::custom)).transpose()
}

/// Policies written for other agents say `"disable"`.
fn yes_no_or_disable<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::Bool(disabled) => Ok(Some(disabled)),
        Value::String(word) if word == "disable" => Ok(Some(true)),
        other => Err(serde::de::Error::custom(format!("{other} is neither true nor false nor \"disable\""))),
    }
}
