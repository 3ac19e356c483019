//! What a settings file may say. Schema, documentation, checks and the list of keys are derived from these types.
//!
//! A default is named once: the schema shows the constant that resolving uses.

mod hook;
mod language;
mod model;
mod permission;
mod sandbox;
mod terminal;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use hook::{Hook, HookEvent, HookGroup, OnFailure};
pub use language::LanguageServer;
pub(crate) use language::{DEFAULT_DIAGNOSTICS, DEFAULT_START_WAIT_MS, DEFAULT_WAIT_MS};
pub use model::ModelProvider;
pub use permission::{Permissions, RuleTest};
pub(crate) use sandbox::DEFAULT_ENABLED as DEFAULT_SANDBOX;
pub use sandbox::{Network, Sandbox};
pub(crate) use terminal::DEFAULT_VIM;
pub use terminal::{Terminal, TerminalTheme};

/// The model when nobody chose one.
pub const DEFAULT_MODEL: &str = "sonnet";
pub(crate) const DEFAULT_STREAMING: bool = true;
pub(crate) const DEFAULT_AUTO_COMPACT: bool = true;
pub(crate) const DEFAULT_AUTO_COMPACT_PCT: u64 = 85;
pub(crate) const DEFAULT_MASK: bool = true;
pub(crate) const DEFAULT_STYLE: &str = "default";
pub(crate) const DEFAULT_MEMORY: bool = false;
pub(crate) const DEFAULT_SUGGESTIONS: bool = false;

/// What one settings file says. Absent means not said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Settings {
    /// The address of the schema, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The model, as a short name or an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_MODEL))]
    pub model: Option<String>,
    /// The model to switch to when the chosen one is overloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    /// Where the models are hosted; requests go to `ANTHROPIC_BASE_URL` all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = ModelProvider::default()))]
    pub provider: Option<ModelProvider>,
    /// Facts about models, by id: `contextWindow`, `maxOutput`, `prices` and the other fields of the shipped table.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub models: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// Whether calls start while the model is still writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_STREAMING))]
    pub streaming_tool_execution: Option<bool>,
    /// Whether a conversation that fills the context is folded into a summary by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_AUTO_COMPACT))]
    pub auto_compact_enabled: Option<bool>,
    /// Context use, in percent, at which that happens, between 50 and 95.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_AUTO_COMPACT_PCT))]
    pub auto_compact_threshold_pct: Option<u64>,
    /// Variables that every command gets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub env: BTreeMap<String, String>,
    /// What needs a question and what is refused.
    pub permissions: Permissions,
    /// What runs at certain moments, by event.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "hook::by_event")]
    #[schemars(extend("x-trust" = true, "propertyNames" = serde_json::json!({"enum": HookEvent::ALL})))]
    pub hooks: BTreeMap<HookEvent, Vec<HookGroup>>,
    /// How commands are confined.
    pub sandbox: Sandbox,
    /// What happens to credentials.
    pub secrets: Secrets,
    /// What the web tools may reach.
    pub web: Web,
    /// How answers should be: `default`, `concise`, `explanatory`, `learning`, or the name of a file of yours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_STYLE))]
    pub output_style: Option<String>,
    /// A file whose text is repeated to the model every few answers; `~/` is the home directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-trust" = true))]
    pub ultra_memory_file: Option<String>,
    /// Whether the model is told how earlier sessions in the project began and ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_MEMORY))]
    pub session_memory: Option<bool>,
    /// Whether what you may want to say next is proposed after a turn; the small model is asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_SUGGESTIONS))]
    pub prompt_suggestions: Option<bool>,
    /// What the model is told beside the prompt.
    pub steering: Steering,
    /// Whether the model is told of problems that language servers find in files it has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_DIAGNOSTICS, "x-trust" = [false, true]))]
    pub diagnostics: Option<bool>,
    /// How long after an edit a request waits for what a language server says of it, in milliseconds; 60000 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_WAIT_MS))]
    pub diagnostics_wait_ms: Option<u64>,
    /// The same limit for a server that has just started and not yet reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_START_WAIT_MS))]
    pub diagnostics_start_wait_ms: Option<u64>,
    /// Language servers by language, beside those that are found by themselves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub language_servers: BTreeMap<String, LanguageServer>,
    /// Servers of the project's `.mcp.json` that are not started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_mcpjson_servers: Vec<String>,
    /// Tiller at a terminal.
    pub terminal: Terminal,
    /// In the managed file: keys for which no other layer counts. Deny and ask rules of other layers count all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locked: Vec<String>,
}

/// What happens to credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Secrets {
    /// Whether credentials in the output of tools are masked before the model sees them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_MASK, "x-trust" = [true, false]))]
    pub mask: Option<bool>,
}

/// What the model is told beside the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Steering {
    /// Kinds of attachments to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mute: Vec<String>,
}

/// What the web tools may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Web {
    /// Hosts that need no question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub allowed_domains: Vec<String>,
}
