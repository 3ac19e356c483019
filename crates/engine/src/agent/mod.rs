//! Sub-agents: who can be called upon, who was, and what became of them. An agent is a session task like the main one,
//! with a log of its own; what concerns the whole session (questions, permissions, spending) goes to the session.

mod book;
mod delegate;
mod worktree;

use std::path::Path;
use std::sync::Arc;

use tiller_config::AgentDefinition;
use tiller_tools::AgentLine;
use tokio::sync::Semaphore;

pub(crate) use book::{Book, Known};
pub(crate) use delegate::Delegation;
pub(crate) use worktree::Worktree;
use worktree::sweep;

use crate::policy::resolved;
use crate::services::Services;
use crate::session::Template;

/// How many agents there may be, and how deep.
#[derive(Clone, Copy, Debug)]
pub struct AgentLimits {
    /// Levels below the main agent.
    pub depth: u32,
    /// Agents of one level at work at once.
    pub at_once: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { depth: 1, at_once: 10 }
    }
}

/// The sub-agents of a session.
pub(crate) struct Agents {
    definitions: Vec<AgentDefinition>,
    limits: AgentLimits,
    /// One for each agent that may be at work, level by level: who waits for an agent below takes nothing from it.
    slots: Vec<Arc<Semaphore>>,
    pub(crate) book: Book,
    template: Template,
}

/// What the model is told of agents that it can call upon.
#[must_use]
pub fn agent_lines(agents: &[AgentDefinition]) -> Vec<AgentLine> {
    let line = |agent: &AgentDefinition| AgentLine {
        name: agent.name.clone(),
        when_to_use: agent.when_to_use.clone(),
        knows_conversation: agent.fork_context,
        tools: agent.tools.clone(),
        without: agent.disallowed_tools.clone(),
    };
    agents.iter().map(line).collect()
}

impl Agents {
    pub(crate) fn new(definitions: Vec<AgentDefinition>, limits: AgentLimits, template: Template) -> Self {
        let at_once = limits.at_once.clamp(1, Semaphore::MAX_PERMITS);
        let slots = (0..limits.depth).map(|_| Arc::new(Semaphore::new(at_once))).collect();
        Self { definitions, limits, slots, book: Book::default(), template }
    }

    /// The same with other definitions, before any of them was called upon.
    pub(crate) fn redefined(&self, definitions: Vec<AgentDefinition>) -> Self {
        Self::new(definitions, self.limits, self.template.clone())
    }

    /// What they are.
    pub(crate) fn definitions(&self) -> &[AgentDefinition] {
        &self.definitions
    }

    /// The names by which they are called upon.
    pub(crate) fn names(&self) -> Vec<String> {
        self.definitions.iter().map(|definition| definition.name.clone()).collect()
    }

    /// Removes what sessions that were killed have left behind, beside everything else.
    pub(crate) fn tidy_up(&self, services: &Services) {
        let own = self.template.worktrees();
        let Some(all) = own.parent().filter(|all| all.is_dir()).map(Path::to_path_buf) else { return };
        let (repository, ended) = (resolved(&services.env.cwd), services.session_ended.clone());
        services.tasks.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = sweep(&repository, &all, &own) => {}
            }
        });
    }

    fn find(&self, name: &str) -> Result<&AgentDefinition, String> {
        let found = self.definitions.iter().find(|definition| definition.name == name);
        found.ok_or_else(|| {
            format!("There is no agent of type {name}. Available types: {}.", self.names().join(", "))
        })
    }
}
