//! Servers of the Model Context Protocol, as front ends see them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::form::FormField;

/// How the names of tools and prompts of servers begin.
pub const PREFIX: &str = "mcp__";

/// A configured server and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// Its name in the configuration.
    pub name: String,
    /// Where it is configured: `user`, `project`, `local`, `plugin`, `command line`.
    pub scope: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// The command or the address, for people; credentials are left out.
    pub address: String,
    /// Where it stands.
    pub state: McpState,
    /// What it calls itself, once it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<McpIdentity>,
    /// What it can do, once it is ready.
    #[serde(default)]
    pub tools: Vec<McpTool>,
    /// Prompts that the user can call up.
    #[serde(default)]
    pub prompts: Vec<McpPrompt>,
    /// What can be mentioned with `@server:uri`.
    #[serde(default)]
    pub resources: Vec<McpResource>,
}

/// One message of the protocol, to or from a server that is part of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerMessage {
    /// The server.
    pub server: String,
    /// The message, as JSON-RPC has it.
    pub message: Value,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// A program that Tiller starts.
    Stdio,
    /// A service over HTTP.
    Http,
    /// A service over HTTP that says everything over one stream of events.
    Sse,
    /// A part of the program that has started Tiller.
    Host,
}

impl McpTransport {
    /// Whether it is a service, which users can sign in to.
    #[must_use]
    pub fn is_service(self) -> bool {
        matches!(self, Self::Http | Self::Sse)
    }
}

/// Where a server stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum McpState {
    /// Known, not started.
    #[default]
    Configured,
    /// Being started or reached.
    Starting,
    /// It can be used.
    Ready,
    /// The user has to sign in first.
    NeedsSignIn,
    /// The user is signing in.
    SigningIn {
        /// Where.
        url: String,
    },
    /// It cannot be used.
    Failed {
        /// Why.
        why: String,
    },
    /// The user has switched it off for this session.
    Stopped,
}

impl McpState {
    /// One word for it, as hosts know it.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self {
            Self::Configured | Self::Starting => "pending",
            Self::Ready => "connected",
            Self::NeedsSignIn | Self::SigningIn { .. } => "needs-auth",
            Self::Failed { .. } => "failed",
            Self::Stopped => "disabled",
        }
    }

    /// The same for people, with the reason.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Configured => "not started".to_owned(),
            Self::Starting => "starting".to_owned(),
            Self::Ready => "ready".to_owned(),
            Self::NeedsSignIn => "needs sign-in".to_owned(),
            Self::SigningIn { url } => format!("signing in at {url}"),
            Self::Failed { why } => format!("failed: {why}"),
            Self::Stopped => "switched off".to_owned(),
        }
    }
}

/// What a server calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpIdentity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// The name that the model and rules use: `mcp__server__tool`.
    pub name: String,
    /// What the server says about it.
    pub description: String,
    /// The server says that it changes nothing.
    pub read_only: bool,
    /// The server says that it may destroy something.
    pub destructive: bool,
}

/// A prompt that the user can call up as `/mcp__server__prompt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpPrompt {
    /// The name without the slash: `mcp__server__prompt`.
    pub name: String,
    /// What the server says about it.
    pub description: String,
    /// What has to be given, in this order.
    pub arguments: Vec<McpArgument>,
}

/// One thing that a prompt needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpArgument {
    /// Its name.
    pub name: String,
    /// What the server says about it.
    pub description: String,
    /// Whether the prompt does not work without it.
    pub required: bool,
}

/// Something of a server that can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpResource {
    /// Its address at the server.
    pub uri: String,
    /// Its title.
    pub name: String,
    /// What the server says about it.
    pub description: String,
    /// Its media type, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// What the user can do with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpOrder {
    /// Start it, or start it anew.
    Reconnect,
    /// Let the user sign in: the address is told with [`McpState::SigningIn`].
    SignIn,
    /// Forget how the user has signed in.
    SignOut,
    /// Do without it in this session.
    Stop,
}

/// A server wants to know something from the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitationAsk {
    /// The server that asks.
    pub server: String,
    /// What it says.
    pub message: String,
    /// What it wants.
    pub wanted: Wanted,
}

/// What a server wants from the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Wanted {
    /// A filled-in form.
    Form {
        /// The fields, in order.
        fields: Vec<FormField>,
        /// The schema as the server sent it, for hosts.
        schema: Value,
    },
    /// A visit to a page, where the user gives what the agent must not see.
    Visit {
        /// The page.
        url: String,
        /// The server's own id for this.
        id: String,
    },
}

/// A server wants to ask the model something, at the user's expense.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingAsk {
    /// The server that asks.
    pub server: String,
    /// The instructions it gives the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// What it says to the model.
    pub messages: Vec<SamplingMessage>,
    /// Tokens that the answer may have.
    pub max_tokens: u32,
    /// The model that would be asked.
    pub model: String,
}

/// One message for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// What it says. Images are only named.
    pub text: String,
}
