//! `Task`: hands work to a sub-agent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tiller_policy::Access;

use crate::cx::{AgentOrder, Delegated, ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};

const PROMPT: &str = include_str!("prompt.md");
const ADVICE: &str = include_str!("advice.md");

/// What the model is told of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentLine {
    /// Its type.
    pub name: String,
    /// When to use it.
    pub when_to_use: String,
    /// Whether it knows the conversation.
    pub knows_conversation: bool,
    /// The tools it has; none means all.
    pub tools: Option<Vec<String>>,
    /// Tools it does not have.
    pub without: Vec<String>,
}

impl AgentLine {
    fn render(&self) -> String {
        let tools = match &self.tools {
            None if self.without.is_empty() => "all tools".to_owned(),
            None => format!("all tools but {}", self.without.join(", ")),
            Some(tools) => format!("tools: {}", tools.join(", ")),
        };
        let knows = if self.knows_conversation { "knows this conversation; " } else { "" };
        format!("- {}: {} ({knows}{tools})\n", self.name, self.when_to_use.trim())
    }
}

/// Hands work to a sub-agent.
#[derive(Clone, Debug)]
pub struct Task {
    agents: Vec<AgentLine>,
}

impl Task {
    /// With these agents on offer.
    #[must_use]
    pub fn new(agents: Vec<AgentLine>) -> Self {
        Self { agents }
    }
}

/// What `Task` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// What it is about, in 3 to 5 words.
    description: String,
    /// The task.
    prompt: String,
    /// The agent to use.
    subagent_type: String,
    /// A model for this agent instead of its own: haiku, sonnet or opus.
    #[serde(default)]
    model: Option<ModelChoice>,
    /// The id of an earlier agent to continue.
    #[serde(default)]
    resume: Option<String>,
    /// Do not wait for it.
    #[serde(default)]
    run_in_background: Value,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ModelChoice {
    Haiku,
    Sonnet,
    Opus,
}

impl ModelChoice {
    fn name(self) -> &'static str {
        match self {
            Self::Haiku => "haiku",
            Self::Sonnet => "sonnet",
            Self::Opus => "opus",
        }
    }
}

impl Tool for Task {
    const NAME: &'static str = "Task";
    type Input = TaskInput;

    fn describe(&self) -> Description {
        let agents: String = self.agents.iter().map(AgentLine::render).collect();
        Description::new("Hands work to a sub-agent", PROMPT).offering(agents, ADVICE)
    }

    fn parallel(&self, _input: &TaskInput) -> bool {
        true
    }

    /// The agent's own calls are judged one by one.
    fn read_only(&self, _input: &TaskInput) -> bool {
        true
    }

    fn validate(&self, input: &TaskInput, _view: &View) -> Result<(), String> {
        if input.prompt.trim().is_empty() {
            return Err("The prompt is empty; say what the agent should do.".to_owned());
        }
        Ok(())
    }

    fn access(&self, _input: &TaskInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: TaskInput, cx: ToolCx) -> Result<Done, ToolError> {
        let order = AgentOrder {
            kind: input.subagent_type,
            description: input.description,
            prompt: input.prompt,
            model: input.model.map(|model| model.name().to_owned()),
            resume: input.resume.filter(|id| !id.is_empty()),
            // Nothing but a plain yes lets an agent go on unattended.
            background: input.run_in_background == Value::Bool(true),
        };
        let delegated = cx.host.delegate(order, cx.cancel.clone()).await.map_err(ToolError::Model)?;
        match delegated {
            Delegated::Finished(_) if cx.cancel.is_cancelled() => Err(ToolError::Cancelled),
            Delegated::Finished(report) => {
                let text = format!("{}\n\nagentId: {} (for resume)", report.text, report.id);
                let done = Done::text(&text).with_detail(report.detail);
                if report.failed { Err(ToolError::Failed(done)) } else { Ok(done) }
            }
            Delegated::Started(id) => {
                let text = format!(
                    "The agent {id} works in the background. You are told when it ends; TaskOutput gives its answer."
                );
                Ok(Done::text(&text).with_detail(json!({"status": "async_launched", "agentId": id})))
            }
            Delegated::Moved(id) => {
                let text = format!(
                    "The user has moved the agent {id} to the background while it was working. It goes on; you are told \
                     when it ends. TaskOutput with task_id {id} gives its answer, KillShell stops it."
                );
                let detail = json!({"status": "async_launched", "agentId": id, "backgroundedByUser": true});
                Ok(Done::text(&text).with_detail(detail))
            }
        }
    }
}
