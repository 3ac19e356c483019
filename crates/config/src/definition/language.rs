//! Language servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) const DEFAULT_DIAGNOSTICS: bool = true;
pub(crate) const DEFAULT_WAIT_MS: u64 = 2_000;
pub(crate) const DEFAULT_START_WAIT_MS: u64 = 10_000;

/// The language server of one language. What is not said is as usual for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct LanguageServer {
    /// Whether there should be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How names of files of this language end, such as `.rs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Whether it runs in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub confined: Option<bool>,
    /// What it is sent when it starts.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub initialization_options: Map<String, Value>,
    /// What it is told when it asks for its configuration.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}
