//! How commands are confined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const DEFAULT_ENABLED: bool = true;

/// How commands are confined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Sandbox {
    /// Whether commands are confined to the working directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_ENABLED, "x-trust" = [true, false]))]
    pub enabled: Option<bool>,
    /// Whether commands may use the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Network::default(), "x-trust" = ["deny", "ask", "allow"]))]
    pub network: Option<Network>,
    /// Directories outside the working directories that commands may write to, such as build caches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub writable_caches: Vec<String>,
    /// Variables that commands get although their names look like credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub keep_variables: Vec<String>,
    /// Commands that run unconfined once a rule or the user allows them, such as `docker:*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub excluded_commands: Vec<String>,
}

/// Whether commands may use the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Network {
    /// They may: running them is asked for already.
    #[default]
    Allow,
    /// Each is asked for.
    Ask,
    /// They may not.
    Deny,
}
