//! `agent_mentions`: agents that the user names with `@agent-type`.

use super::mention::mentions;
use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{AgentMention, attach};

const PREFIX: &str = "agent-";

pub(super) struct AgentMentions;

impl Source for AgentMentions {
    const LABEL: &'static str = "agent_mentions";
    const GROUP: Group = Group::Mention;
    const KINDS: &'static [&'static str] = &["agent_mention"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let Some(prompt) = &cx.facts.prompt else { return Ok(Observation::nothing()) };
        let mut named: Vec<String> = Vec::new();
        for mention in mentions(&prompt.text) {
            let types = mention.readings().into_iter().filter_map(|reading| reading.strip_prefix(PREFIX));
            let known = types.into_iter().find(|wanted| cx.facts.agents.iter().any(|agent| agent == wanted));
            named.extend(known.map(str::to_owned).filter(|agent| !named.contains(agent)));
        }
        let told = named.into_iter().map(|agent_type| {
            let why = format!("the prompt mentions @{PREFIX}{agent_type}");
            attach(&AgentMention { agent_type }, Self::LABEL, why)
        });
        Ok(told.collect::<Vec<_>>().into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::trial::{Trial, observed};
    use super::*;

    // STEER-36
    #[tokio::test]
    async fn agents_that_exist_can_be_mentioned() {
        let agents = vec!["reviewer".to_owned(), "Explore".to_owned()];
        let prompted =
            Trial::default().prompted("ask @agent-reviewer, @agent-reviewer or @agent-nobody; @Explore");
        let observation = observed(&AgentMentions, &Facts { agents, ..prompted }).await;
        let types: Vec<_> =
            observation.attachments.iter().map(|one| one.attachment["agentType"].clone()).collect();
        assert_eq!(types, ["reviewer"]);
    }
}
