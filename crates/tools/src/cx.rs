//! What a running call can reach.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tiller_policy::Permit;
use tiller_protocol::effect::Todo;
use tiller_protocol::env::Env;
use tiller_protocol::id::CallId;
use tiller_protocol::state::Files;
use tiller_sandbox::Confinement;
use tokio_util::sync::CancellationToken;

use crate::bash::Refused;
use crate::secret::Vault;
use crate::shells::Shells;

/// The session as a call sees it: a snapshot taken when the call starts.
#[derive(Clone, Debug)]
pub struct View {
    /// Where relative paths and commands start.
    pub cwd: PathBuf,
    /// What `~` stands for.
    pub home: PathBuf,
    /// The working directories, resolved.
    pub roots: Vec<PathBuf>,
    /// What the model has seen of which file.
    pub files: Arc<Files>,
    /// The todo list.
    pub todos: Vec<Todo>,
    /// Where output too long for the conversation is stored.
    pub spill_dir: PathBuf,
    /// The credentials that tools have come across, masked for the model.
    pub secrets: Arc<Vault>,
}

impl View {
    /// The absolute form of a path the model gave, `~` expanded against `home`, nothing resolved yet.
    #[must_use]
    pub fn absolute(&self, path: &str, home: &Path) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => self.cwd.join(path),
        }
    }
}

/// What a running call may use.
#[derive(Clone)]
pub struct ToolCx {
    /// The call's id.
    pub call: CallId,
    /// The session when the call started.
    pub view: View,
    /// Proof of what the call may do.
    pub permit: Permit,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// The way back to the session.
    pub host: Arc<dyn Host>,
    /// Time, ids and variables.
    pub env: Env,
    /// The session's background commands.
    pub shells: Arc<Shells>,
}

/// The few things a tool may ask of the session that runs it.
pub trait Host: Send + Sync {
    /// Reports progress of the call to the front end.
    fn progress(&self, data: Value);

    /// Asks the small fast model one question. The error is a text for the model.
    fn digest(&self, prompt: String) -> BoxFuture<'static, Result<String, String>>;

    /// Lets the provider search the web: `{results: [{title, url, snippet?, pageAge?}], errors: [code], summary}`. The
    /// error is a text for the model.
    fn web_search(&self, search: WebSearchRequest) -> BoxFuture<'static, Result<Value, String>>;

    /// How a permitted command is held if it starts now. The error is a text for the model.
    fn confinement(&self, permit: &Permit) -> BoxFuture<'static, Result<Confinement, String>>;

    /// Asks the user whether a command that failed may run again outside of its confinement, which refused something;
    /// the command said `line`.
    fn leave(&self, permit: &Permit, refused: Refused, line: String) -> BoxFuture<'static, Leave>;
}

/// Whether a command may run outside of its confinement, this once.
#[derive(Clone, Debug)]
pub enum Leave {
    /// The user has allowed it.
    Permitted(Permit),
    /// The user has refused, perhaps with words for the model.
    Refused(Option<String>),
    /// Nobody could be asked, or it is out of the question.
    NotAsked,
}

/// A web search to be made by the provider.
#[derive(Clone, Debug, Default)]
pub struct WebSearchRequest {
    /// What to look for.
    pub query: String,
    /// Only these domains.
    pub allowed_domains: Vec<String>,
    /// None of these domains.
    pub blocked_domains: Vec<String>,
}
