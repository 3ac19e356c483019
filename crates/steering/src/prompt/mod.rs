//! The system prompt: a list of parts in a fixed order, each written for the tools the agent really has.
//!
//! Nothing here looks at what the user asks. The texts teach the model to tell kinds of work apart; the program only
//! decides which texts apply.

mod environment;
mod servers;

use tiller_config::AgentDefinition;

use crate::reminder::neutralise;
pub use environment::Environment;
pub use tiller_protocol::ingredients::ServerLine;
use tiller_protocol::template::{self, Facts};

const IDENTITY: &str = include_str!("identity.md");
const NON_INTERACTIVE: &str = include_str!("non_interactive.md");
const TONE: &str = include_str!("tone.md");
const TASK_MANAGEMENT: &str = include_str!("task_management.md");
const DOING_TASKS: &str = include_str!("doing_tasks.md");
const TOOL_POLICY: &str = include_str!("tool_policy.md");
const AGENT: &str = include_str!("agent.md");

/// What the prompt depends on. All of it is settled when an epoch begins.
#[derive(Clone, Debug)]
pub struct PromptInputs<'a> {
    /// The names of the tools the agent has.
    pub tools: &'a [&'a str],
    /// Whether a user is there to answer.
    pub interactive: bool,
    /// MCP servers, if there are any.
    pub servers: &'a [ServerLine],
    /// Where the agent works.
    pub environment: Environment,
    /// A prompt that stands in place of Tiller's own, environment included; the empty text means no prompt at all.
    pub replace: Option<&'a str>,
    /// Who a sub-agent is, in place of all that Tiller says of itself; the environment stays.
    pub persona: Option<&'a AgentDefinition>,
    /// Text added at the end.
    pub append: Option<&'a str>,
    /// Further facts, each a block of its own.
    pub system_context: &'a [(String, String)],
}

/// The parts of the prompt in their order, without empty ones.
///
/// A replaced prompt takes the environment with it: whoever brings a prompt of their own gets exactly that text.
/// Replaced and appended text comes from whoever started Tiller and stays as it is; it ranks above any reminder, so
/// there is nothing to forge.
#[must_use]
pub fn system_prompt(inputs: &PromptInputs<'_>) -> Vec<String> {
    let mut parts = match inputs.replace {
        Some(text) => vec![text.to_owned()],
        None => match inputs.persona {
            Some(agent) => agent_parts(agent, inputs),
            None => default_parts(inputs),
        },
    };
    parts.extend(inputs.append.map(str::to_owned));
    parts.extend(inputs.system_context.iter().map(context_block));
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Who a sub-agent is, and what all of them have to know. Tiller's own texts are written for the tools the agent has;
/// those of others stay as they are.
fn agent_parts(agent: &AgentDefinition, inputs: &PromptInputs<'_>) -> Vec<String> {
    let facts = Facts { tools: inputs.tools, interactive: inputs.interactive };
    let persona = match agent.is_built_in() {
        true => template::render(&agent.prompt, facts),
        false => agent.prompt.clone(),
    };
    let servers = servers::part(inputs.servers, facts).unwrap_or_default();
    vec![persona, template::render(AGENT, facts), servers, inputs.environment.render()]
}

fn default_parts(inputs: &PromptInputs<'_>) -> Vec<String> {
    let facts = Facts { tools: inputs.tools, interactive: inputs.interactive };
    let texts = [
        Some(IDENTITY),
        (!inputs.interactive).then_some(NON_INTERACTIVE),
        Some(TONE),
        facts.has_tool("TodoWrite").then_some(TASK_MANAGEMENT),
        Some(DOING_TASKS),
        Some(TOOL_POLICY),
    ];
    let mut parts: Vec<String> =
        texts.into_iter().flatten().map(|text| template::render(text, facts)).collect();
    parts.extend(servers::part(inputs.servers, facts));
    parts.push(inputs.environment.render());
    parts
}

fn context_block((key, value): &(String, String)) -> String {
    neutralise(&format!("{key}: {value}")).text.into_owned()
}

#[cfg(test)]
mod tests;
