//! MCP servers in the course of a session: what the model is told of them, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use serde_json::Value;
use tiller_config::McpDefinition;
use tiller_mcp::{SEARCH_TOOL, Seen};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::mcp::{McpOrder, McpState, PREFIX, ServerMessage};
use tiller_steering::attachment::{McpTools, ServerNews, attach};
use tiller_steering::prompt::ServerLine;

use super::invoke::Called;
use super::{Role, Task};
use crate::mcp::{McpChoice, with_servers};
use crate::store::StoreError;

/// What the model knows of servers: by name, which tools each has. One that is not ready has none.
pub(super) type KnownServers = BTreeMap<String, Option<BTreeSet<String>>>;

/// What a server is to the model.
fn known(seen: &Seen) -> Option<BTreeSet<String>> {
    let tools = seen.offer.tools.iter().map(|tool| tool.name.clone());
    (seen.state == McpState::Ready).then(|| tools.collect())
}

impl Task {
    /// Gives servers a moment before the first request, while commands are still heard.
    pub(super) async fn await_servers(&mut self) -> Result<(), StoreError> {
        let Some(servers) = self.services.mcp.clone().filter(|_| matches!(self.role, Role::Main { .. }))
        else {
            return Ok(());
        };
        let token = self.turn.token.clone();
        let mut waiting = pin!(servers.settled(self.fixed.servers_wait));
        loop {
            tokio::select! {
                biased;
                () = &mut waiting => return Ok(()),
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                () = token.cancelled() => return Ok(()),
            }
        }
    }

    /// Servers as the system prompt names them.
    pub(super) fn server_lines(&self) -> Vec<ServerLine> {
        let line = |seen: Seen| {
            let tools = seen.offer.tools.len();
            let note = match seen.state {
                McpState::Ready if tools == 1 => "1 tool".to_owned(),
                McpState::Ready => format!("{tools} tools"),
                McpState::Configured | McpState::Starting => "still starting".to_owned(),
                McpState::NeedsSignIn | McpState::SigningIn { .. } => {
                    "the user has to sign in first".to_owned()
                }
                McpState::Failed { .. } | McpState::Stopped => "cannot be used".to_owned(),
            };
            ServerLine { name: seen.name, note, instructions: seen.offer.instructions.clone() }
        };
        self.services.servers_seen().into_iter().map(line).collect()
    }

    /// The same, as far as it does not change by itself.
    pub(super) fn stable_server_lines(&self) -> Vec<ServerLine> {
        let name = |line: ServerLine| ServerLine { name: line.name, ..ServerLine::default() };
        self.server_lines().into_iter().map(name).collect()
    }

    /// What there is to be known of servers now.
    pub(super) fn servers_now(&self) -> KnownServers {
        let seen = self.services.servers_seen();
        seen.iter().map(|seen| (seen.name.clone(), known(seen))).collect()
    }

    /// Notes what the epoch of an earlier run has told: tools with definitions of their own.
    pub(super) fn note_servers_of_before(&mut self) {
        let Some(epoch) = &self.epoch else { return };
        let tools: Vec<Value> = serde_json::from_str(epoch.tools.get()).unwrap_or_default();
        let names: BTreeSet<String> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .filter(|name| name.starts_with(PREFIX))
            .map(str::to_owned)
            .collect();
        let seen = self.services.servers_seen();
        let mut told = KnownServers::new();
        for one in seen {
            let own = known(&one).unwrap_or_default();
            let before: BTreeSet<String> = own.intersection(&names).cloned().collect();
            told.insert(one.name, (!before.is_empty()).then_some(before));
        }
        self.known_servers = told;
    }

    /// Tells the model what has changed about servers: `tools` stays what it is, so this stands at the end.
    pub(super) fn tell_of_servers(&mut self) -> Result<(), StoreError> {
        let is_main = matches!(self.role, Role::Main { .. });
        if !is_main || self.epoch.is_none() {
            return Ok(());
        }
        // Without the tool that finds others, none of this would be of use.
        if !self.services.registry.names().contains(&SEARCH_TOOL) {
            return Ok(());
        }
        let seen = self.services.servers_seen();
        let news: Vec<ServerNews> =
            seen.iter().filter_map(|seen| news(seen, self.known_servers.get(&seen.name))).collect();
        if news.is_empty() {
            return Ok(());
        }
        self.known_servers = self.servers_now();
        let attachment = attach(&McpTools { servers: news }, "mcp_servers", "MCP servers have changed");
        self.attach(vec![attachment])
    }

    /// Does what the user wants with a server.
    pub(super) fn order_server(&mut self, server: &str, order: McpOrder) {
        let done = self.services.mcp.as_ref().is_some_and(|servers| servers.order(server, order));
        if !done {
            self.journal.tell(Event::Rejected(format!("there is no MCP server named {server}")));
        }
    }

    /// Adds servers that are part of the host, before the model was told which tools there are.
    pub(super) fn add_servers(&mut self, names: &[String]) {
        if self.epoch_checked {
            let problem = "MCP servers of the host can be added only before the first message";
            return self.journal.tell(Event::Rejected(problem.to_owned()));
        }
        let mut definitions = Vec::new();
        for name in names {
            match McpDefinition::of_host(name) {
                Ok(definition) => definitions.push(definition),
                Err(problem) => self.journal.tell(Event::Rejected(problem)),
            }
        }
        if let Some(servers) = &self.services.mcp {
            return servers.add(definitions);
        }
        let (choice, offline) =
            (McpChoice::new(definitions, &self.fixed.env), self.services.policy.now().offline);
        self.services.mcp = choice.begin(&self.services, &self.fixed.config_dir, offline);
        if let Some(servers) = &self.services.mcp {
            let registry = std::mem::take(&mut self.services.registry);
            self.services.registry = with_servers(registry, servers, self.services.policy.clone());
        }
    }

    /// A server that is part of the host says something.
    pub(super) fn hear_server(&self, said: ServerMessage) {
        let ServerMessage { server, message } = said;
        let heard = self.services.mcp.as_ref().is_some_and(|servers| servers.hear(&server, message));
        if !heard {
            tracing::debug!(server, "a message of a server that nobody knows");
        }
    }

    /// Asks a server what one of its prompts says, while commands are still heard.
    pub(super) async fn ask_for_prompt(&mut self, name: &str, arguments: &str) -> Result<Called, StoreError> {
        let Some(servers) = self.services.mcp.clone() else { return Ok(Called::Nothing) };
        let (words, token) = (split_words(arguments), self.turn.token.clone());
        let mut asked = pin!(servers.prompt(name, &words, &token));
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut asked => break answer,
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
            }
        };
        let said = match answer {
            Ok(said) if said.is_empty() => {
                return Ok(Called::Unknown(format!("the prompt {name} says nothing")));
            }
            Ok(said) => said,
            Err(problem) => return Ok(Called::Unknown(problem)),
        };
        let with = if arguments.is_empty() { String::new() } else { format!(" with: {arguments}") };
        let head = format!("The user has called for the prompt /{name}{with}\nIts server says:");
        let masked = |block: RawBlock| match block.as_text() {
            Some(text) => RawBlock::text(&self.services.secrets.mask(&text)),
            None => block,
        };
        let content = std::iter::once(RawBlock::text(&head)).chain(said).map(masked).collect();
        Ok(Called::Words { name: name.to_owned(), content })
    }
}

/// What is new about a server, if anything is.
fn news(seen: &Seen, told: Option<&Option<BTreeSet<String>>>) -> Option<ServerNews> {
    let now = known(seen);
    let before = told.cloned().flatten();
    if now == before {
        return None;
    }
    let is_new = before.is_none();
    let (now, before) = (now.unwrap_or_default(), before.unwrap_or_default());
    Some(ServerNews {
        name: seen.name.clone(),
        state: seen.state.describe(),
        added: now.difference(&before).cloned().collect(),
        removed: before.difference(&now).cloned().collect(),
        instructions: seen.offer.instructions.clone().filter(|_| is_new),
    })
}

/// Words, of which those in quotation marks stay together.
fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for letter in text.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            letter if letter.is_whitespace() && !quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_quotation_marks_stay_together() {
        assert_eq!(split_words(r#"one "two three" "" four"#), ["one", "two three", "", "four"]);
        assert!(split_words(" ").is_empty());
    }
}
