//! What a running call can reach.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use tiller_policy::{Permit, Script};
use tiller_protocol::effect::{SkillUse, Todo};
use tiller_protocol::env::Env;
use tiller_protocol::id::CallId;
use tiller_protocol::mode::Mode;
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
    /// The permission mode.
    pub mode: Mode,
    /// The agent's own plan file, once the session has planned.
    pub plan_file: Option<PathBuf>,
    /// Whether a sub-agent calls.
    pub sub_agent: bool,
    /// Where output too long for the conversation is stored.
    pub spill_dir: PathBuf,
    /// What was typed into which running command so far.
    pub typed: BTreeMap<String, Script>,
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

    /// Lets a sub-agent do something; `cancel` stops it if it is waited for. The error is a text for the model.
    fn delegate(
        &self,
        order: AgentOrder,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Delegated, String>> {
        let (kind, _) = (order.kind, cancel);
        Box::pin(async move { Err(format!("There is no agent of type {kind} here.")) })
    }

    /// A skill with what it is to be applied to in its places. The error is a text for the model.
    ///
    /// # Errors
    /// When there is no such skill.
    fn open_skill(&self, name: &str, _arguments: &str) -> Result<SkillUse, String> {
        Err(format!("There is no skill named {name} here."))
    }

    /// What has become of a background agent, once it has ended or the time to wait is over.
    fn agent(&self, _id: &str, _wait: Duration) -> BoxFuture<'static, Option<AgentState>> {
        Box::pin(async { None })
    }

    /// All background agents, oldest first.
    fn agents(&self) -> Vec<AgentState> {
        Vec::new()
    }

    /// Looks up what was folded away. The error is a text for the model.
    fn recall(&self, _order: RecallRequest) -> BoxFuture<'static, Result<Recalled, String>> {
        Box::pin(async { Ok(Recalled::default()) })
    }

    /// Stops a background agent. False if there is none of that name at work.
    fn stop_agent(&self, _id: &str) -> bool {
        false
    }
}

/// What is to be looked up of what was folded away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecallRequest {
    /// Passages with these words.
    Search {
        /// The words.
        query: String,
    },
    /// All of one passage.
    Entry {
        /// Its number.
        entry: u64,
        /// The character to begin with.
        offset: usize,
    },
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recalled {
    /// The passages, best first.
    pub passages: Vec<Passage>,
    /// How many more there were.
    pub left_out: usize,
}

/// Something that was said, called or answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its number.
    pub entry: u64,
    /// When it was.
    pub at: String,
    /// Whose it is.
    pub whose: String,
    /// What it says.
    pub text: String,
}

/// Work for a sub-agent.
#[derive(Clone, Debug)]
pub struct AgentOrder {
    /// The type of agent.
    pub kind: String,
    /// What it is about, in a few words.
    pub description: String,
    /// The task.
    pub prompt: String,
    /// A model in place of the agent's own.
    pub model: Option<String>,
    /// The agent to continue.
    pub resume: Option<String>,
    /// Whether nobody waits for it.
    pub background: bool,
}

/// What comes of an order.
#[derive(Clone, Debug)]
pub enum Delegated {
    /// The agent has ended.
    Finished(AgentReport),
    /// It works in the background, under this id.
    Started(String),
    /// The user did not want to wait for it: it goes on in the background, under this id.
    Moved(String),
}

/// How a sub-agent ended.
#[derive(Clone, Debug)]
pub struct AgentReport {
    /// Its id.
    pub id: String,
    /// Its answer, or what went wrong.
    pub text: String,
    /// The same for displays and library users.
    pub detail: Value,
    /// Whether it did not reach its end.
    pub failed: bool,
}

/// Where a background agent stands.
#[derive(Clone, Debug)]
pub struct AgentState {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub description: String,
    /// `running`, `completed`, `failed` or `killed`.
    pub status: &'static str,
    /// Whether it is at work.
    pub running: bool,
    /// Its answer, or what went wrong.
    pub words: String,
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
