//! Settings, directories and switches, resolved once.
//!
//! What a user may have said in several places (command line, environment, settings files, defaults) becomes one value
//! here, and the value knows where it comes from; nobody else looks.

mod agent;
mod change;
mod decode;
mod definition;
mod dirs;
mod document;
mod error;
mod exclude;
mod extension;
mod front_matter;
mod key;
mod load;
mod mcp;
mod origin;
mod plugin;
mod recent;
mod recipe;
mod reference;
mod request;
mod resolve;
mod row;
mod style;
mod trust;
mod write;

pub use agent::{AgentDefinition, Agents, Isolation, agents};
pub use change::{set, write_updates};
pub use definition::{
    DEFAULT_MODEL, Hook, HookEvent, HookGroup, LanguageServer, ModelProvider, Network, OnFailure,
    Permissions, RuleTest, Sandbox, Secrets, Settings, Steering, Terminal, TerminalTheme, Web,
};
pub use dirs::{Places, Target, config_dir};
pub use error::{Problem, SettingsError};
pub use extension::Extensions;
pub use key::{Key, keys, schema};
pub use mcp::{
    McpDefinition, McpDialect, McpGrant, McpIdentityProvider, McpOAuth, McpReach, McpRequest, McpScope,
    McpSecret, McpServers, add_mcp_server, remove_mcp_server,
};
pub use origin::{Layer, Origin, Place, Sourced};
pub use plugin::{Occupied, Plugin, Plugins, add_plugin, remove_plugin};
pub use recent::{Feature, note_use};
pub use recipe::{Meaning, Recipe, Recipes, find_recipe};
pub use reference::reference;
pub use request::{CommandLine, ProjectTrust, Sources};
pub use resolve::{
    Resolved, ResolvedPermissions, ResolvedSandbox, ResolvedSecrets, ResolvedSteering, ResolvedTerminal,
    ResolvedWeb,
};
pub use row::Row;
pub use style::{OutputStyle, OutputStyles};
pub use trust::{
    Concern, Danger, TrustQuestion, distrust, is_trusted, trust, trusted_directories, untrusted,
};
pub use write::{Editor, update};

use tiller_protocol::env::Env;

/// Calls that run at once unless the environment says otherwise.
const DEFAULT_CONCURRENCY: usize = 10;

/// How many calls may run at once: a positive whole number from the environment, or ten.
#[must_use]
pub fn tool_concurrency(env: &Env) -> usize {
    let value = env.var_or_alias("TILLER_MAX_TOOL_USE_CONCURRENCY", "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY");
    value.and_then(|text| text.parse().ok()).filter(|&limit| limit > 0).unwrap_or(DEFAULT_CONCURRENCY)
}
