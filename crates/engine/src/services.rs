//! What running calls share: everything here is cheap to clone and never changes during a session.

use std::sync::Arc;

use tiller_config::Recipe;
use tiller_language::Languages;
use tiller_mcp::Servers;
use tiller_model::Model;
use tiller_protocol::ask::Asker;
use tiller_protocol::command::Event;
use tiller_protocol::env::Env;
use tiller_tools::{Registry, Shells, Vault};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::Agents;
use crate::archive::Archive;
use crate::beside::Beside;
use crate::budget::Budget;
use crate::confinement::Confiner;
use crate::executor::{Asked, Classifier};
use crate::guarded::Guarded;
use crate::hook::{Agent, Hooks};
use crate::ide::Editors;
use crate::policy::Standpoint;
use crate::replay::Tape;
use crate::session::{Aside, Lead};
use crate::undo::Keeper;

/// Handles that calls need.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) env: Env,
    /// The sub-agent whose calls these are; absent for the main agent.
    pub(crate) agent: Option<Agent>,
    /// Those that can be called upon, and those that were. There are none before the session is open.
    pub(crate) agents: Option<Arc<Agents>>,
    /// What the session may consume.
    pub(crate) budget: Arc<Budget>,
    /// What sub-agents take over from this one.
    pub(crate) lead: watch::Receiver<Lead>,
    /// All that this agent has ever said and done.
    pub(crate) archive: Archive,
    /// Levels above this agent.
    pub(crate) depth: u32,
    pub(crate) registry: Registry,
    /// Skills and slash commands.
    pub(crate) recipes: Arc<[Recipe]>,
    pub(crate) shells: Arc<Shells>,
    pub(crate) confiner: Arc<Confiner>,
    /// Finds what commands change that decides what is allowed or run later.
    pub(crate) guarded: Arc<Guarded>,
    /// Takes snapshots; `None` if the session is not persisted.
    pub(crate) keeper: Option<Arc<Keeper>>,
    pub(crate) secrets: Arc<Vault>,
    /// Mode and rules as they are at this moment.
    pub(crate) policy: Standpoint,
    /// Compares commands with rules in words.
    pub(crate) classifier: Arc<Classifier>,
    /// Calls that needed a decision so far; suggestions use them.
    pub(crate) asked: Arc<Asked>,
    /// One question about plan mode at a time.
    pub(crate) plan_talk: Arc<Semaphore>,
    /// The tool of an MCP server that answers questions about permission.
    pub(crate) permission_tool: Option<Arc<str>>,
    /// Whether somebody can answer a question.
    pub(crate) interactive: bool,
    pub(crate) model: Arc<dyn Model>,
    /// The model for digests.
    pub(crate) small_model: String,
    pub(crate) hooks: Hooks,
    /// Language servers, if there shall be any.
    pub(crate) languages: Option<Arc<Languages>>,
    /// MCP servers, if there are any.
    pub(crate) mcp: Option<Arc<Servers>>,
    /// Editors, if they are listened to.
    pub(crate) editors: Option<Editors>,
    /// Messages to the session task other than commands and news of calls.
    pub(crate) asides: mpsc::UnboundedSender<Aside>,
    /// Every task of the session, so that its end can wait for them.
    pub(crate) tasks: TaskTracker,
    /// Fires when this agent has to end: the session, or a sub-agent before it.
    pub(crate) ended: CancellationToken,
    /// Fires when the session ends.
    pub(crate) session_ended: CancellationToken,
    /// What came from outside when the session is replayed: then nothing else comes from there.
    pub(crate) tape: Option<Arc<Tape>>,
    /// The way to the front end.
    pub(crate) events: mpsc::UnboundedSender<Event>,
}

impl Services {
    /// Tells the front end something that leaves no trace.
    pub(crate) fn tell(&self, event: Event) {
        // A front end that went away no longer needs to be told.
        let _ = self.events.send(event);
    }

    /// The way to a model beside the conversation.
    pub(crate) fn beside(&self) -> Beside {
        Beside { model: Arc::clone(&self.model), budget: Arc::clone(&self.budget) }
    }

    /// Who asks, if it is not the main agent.
    pub(crate) fn asker(&self) -> Option<Asker> {
        self.agent.as_ref().map(|agent| Asker {
            id: agent.id.clone(),
            kind: agent.kind.clone(),
            description: agent.description.clone(),
        })
    }
}
