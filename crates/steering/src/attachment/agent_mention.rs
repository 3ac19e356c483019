//! `agent_mention`: an agent that the user asks for.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("agent_mention.md");

/// An agent that the user mentioned.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentMention {
    /// Its type.
    pub agent_type: String,
}

impl Kind for AgentMention {
    const NAME: &'static str = "agent_mention";

    fn render(&self) -> Rendered {
        Rendered::reminder(&fill(TEXT, &[("agent", &self.agent_type)]))
    }
}
