//! Agents that the host brings.

use std::sync::Arc;

use serde_json::Value;
use tiller_config::Agents as Definitions;
use tiller_protocol::command::Event;
use tiller_protocol::entry::Level;
use tiller_tools::{Task as TaskTool, Tool};

use super::Task;
use crate::agent::agent_lines;
use crate::store::StoreError;

impl Task {
    /// Adds agents, before the model was told which there are.
    pub(super) fn add_agents(&mut self, given: &Value) -> Result<(), StoreError> {
        if self.epoch_checked {
            let problem = "agents can be added only before the first message";
            self.journal.tell(Event::Rejected(problem.to_owned()));
            return Ok(());
        }
        let Some(agents) = self.services.agents.clone() else { return Ok(()) };
        let mut all = Definitions { definitions: agents.definitions().to_vec(), problems: Vec::new() };
        all.add_given(given);
        for problem in &all.problems {
            self.notice("agents", Level::Warning, problem.to_string())?;
        }
        // Where nothing can be delegated, more agents change nothing.
        if self.services.registry.names().contains(&TaskTool::NAME) {
            let registry = std::mem::take(&mut self.services.registry);
            self.services.registry = registry.replacing(TaskTool::new(agent_lines(&all.definitions)));
        }
        self.services.agents = Some(Arc::new(agents.redefined(all.definitions)));
        Ok(())
    }
}
