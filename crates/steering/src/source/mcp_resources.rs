//! `mcp_resources`: resources of connected servers that the user names with `@server:uri`.

use super::mention::mentions;
use super::{Cx, Group, Observation, Prompt, Resource, Source, SourceError, Unseen};
use crate::attachment::{McpResource, attach};

pub(super) struct McpResources;

impl Source for McpResources {
    const LABEL: &'static str = "mcp_resources";
    const GROUP: Group = Group::Mention;
    const KINDS: &'static [&'static str] = &["mcp_resource"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let Some(prompt) = &cx.facts.prompt else { return Ok(Observation::nothing()) };
        let mut observation = Observation::nothing();
        for mention in mentions(&prompt.text) {
            for reading in mention.readings() {
                if look(cx, prompt, reading, &mut observation).await {
                    break;
                }
            }
        }
        Ok(observation)
    }
}

/// Looks at one reading of a mention. Says whether there was something.
async fn look(cx: &Cx<'_>, prompt: &Prompt, reading: &str, observation: &mut Observation) -> bool {
    let Some((server, uri)) = reading.split_once(':').filter(|(_, uri)| !uri.is_empty()) else {
        return false;
    };
    if !cx.facts.servers.iter().any(|known| known == server) {
        return false;
    }
    let looked = tokio::select! {
        biased;
        resource = fetch(cx, prompt, reading, (server, uri)) => resource,
        () = cx.budget.cancelled() => Err(Unseen::Unreadable("it took too long".to_owned())),
    };
    match looked {
        Ok(Resource { name, content }) => {
            let resource = McpResource { server: server.to_owned(), uri: uri.to_owned(), name, content };
            let why = format!("the prompt mentions @{reading}");
            observation.attachments.push(attach(&resource, McpResources::LABEL, why));
        }
        Err(Unseen::Missing) => return false,
        Err(unseen) => observation.notices.push(format!("@{reading} was not attached: {unseen}")),
    }
    true
}

/// Fetches what is mentioned, as far as whoever mentions it may have it fetched.
async fn fetch(
    cx: &Cx<'_>,
    prompt: &Prompt,
    reading: &str,
    (server, uri): (&str, &str),
) -> Result<Resource, Unseen> {
    if !prompt.is_named_by_user(reading) {
        cx.sight.is_free_resource(server, uri)?;
    }
    cx.sight.resource(server, uri).await
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::trial::{Trial, observe};
    use super::*;

    // STEER-37
    #[tokio::test]
    async fn resources_of_connected_servers_can_be_mentioned() {
        let trial =
            Trial::default().resource("github:issue://7", "It leaks.").resource("github:issue://8", "");
        let prompted = trial.prompted("see @github:issue://7, @github:issue://8 and @other:issue://7");
        let facts = Facts { servers: vec!["github".to_owned()], ..prompted };
        let observation = observe(&McpResources, &facts, &trial).await;
        let texts: Vec<String> =
            observation.attachments.iter().map(|one| one.rendered[0].as_text().unwrap()).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("It leaks.") && texts[1].contains("is empty"), "{texts:?}");
    }
}
