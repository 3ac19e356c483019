//! Whom servers may turn to: the session on whose behalf they are used.

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde_json::Value;
use tiller_protocol::entry::Notice;
use tiller_protocol::mcp::{ElicitationAsk, McpServer, SamplingAsk};

/// The session as servers see it.
pub trait Principal: Send + Sync {
    /// The directories that are worked in.
    fn roots(&self) -> Vec<PathBuf>;

    /// Puts a question of a server to the user.
    fn elicit(&self, ask: ElicitationAsk) -> BoxFuture<'static, Elicited>;

    /// Asks the model on behalf of a server, if the user lets it. The error is a text for the server.
    fn sample(&self, request: SamplingRequest) -> BoxFuture<'static, Result<Sampled, String>>;

    /// The model that a server's question would go to.
    fn sampling_model(&self) -> String;

    /// Has the host hand a message over to a server that is part of it, at once. What comes back is the host's receipt; to
    /// a request it has the answer in `mcp_response`. The error says why there is none.
    fn relay(&self, server: &str, message: Value) -> BoxFuture<'static, Result<Value, String>>;

    /// Something about a server has changed.
    fn changed(&self, server: McpServer);

    /// The user should know something.
    fn tell(&self, notice: Notice);
}

/// What the user says to a server's question.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited {
    /// This.
    Given(Option<Value>),
    /// No.
    Declined,
    /// Nothing: the question was closed.
    Cancelled,
}

/// A server's question to the model.
#[derive(Clone, Debug)]
pub struct SamplingRequest {
    /// What the user is shown.
    pub ask: SamplingAsk,
    /// The messages for the provider, as `{role, content}`.
    pub messages: Vec<Value>,
}

/// What the model answered.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The text.
    pub text: String,
    /// The model.
    pub model: String,
    /// Whether the answer was cut off.
    pub cut_off: bool,
}
