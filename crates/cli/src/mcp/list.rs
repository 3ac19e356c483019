//! Which servers there are, and whether they work.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tiller_config::{McpDefinition, McpReach, config_dir};
use tiller_engine::McpChoice;
use tiller_mcp::{
    Elicited, Principal, Sampled, SamplingRequest, Servers, Surroundings, TokenStore, not_started,
};
use tiller_protocol::entry::Notice;
use tiller_protocol::env::Env;
use tiller_protocol::mcp::{ElicitationAsk, McpServer, McpState};
use tiller_tools::Vault;

use super::{Known, UNTRUSTED};
use crate::complain;
use crate::exit::Exit;
use crate::text::{hanging, print};

/// Prints the servers.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Start each server to see whether it works; those of a project only if you trust it
    #[arg(long)]
    check: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints one server.
#[derive(Debug, clap::Args)]
pub(super) struct Get {
    /// Its name
    name: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let known = Known::here(env)?;
        let definitions = &known.definitions;
        let startable: Vec<_> = definitions.iter().filter_map(|one| known.startable(one).cloned()).collect();
        let states = if self.check { states(&startable, env)? } else { BTreeMap::new() };
        if self.json {
            let rows: Vec<_> = definitions
                .iter()
                .map(|one| {
                    let state = states.get(&one.name).map(|server| &server.state);
                    json!({"name": one.name, "scope": one.scope, "transport": one.reach.transport(),
                        "address": one.shown, "origin": one.origin.to_string(), "state": state,
                        "trusted": known.startable(one).is_some()})
                })
                .collect();
            print(&serde_json::to_string_pretty(&rows)?)?;
            return Ok(Exit::Success);
        }
        if definitions.is_empty() {
            print("There are no MCP servers here; `tiller mcp add` adds one.")?;
        }
        let width = definitions.iter().map(|one| one.name.len()).max().unwrap_or(0);
        for one in definitions {
            let state = match states.get(&one.name) {
                Some(server) => format!("\n{}", server.state.describe()),
                None if self.check => format!("\n{UNTRUSTED}"),
                None => String::new(),
            };
            let text = format!("{}\n{}{state}", one.shown, one.origin);
            print(&hanging(&format!("{:width$}  {:12}  ", one.name, one.scope.to_string()), &text))?;
        }
        Ok(Exit::Success)
    }
}

impl Get {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let known = Known::here(env)?;
        let definition = known.find(&self.name)?;
        let server = match known.startable(definition) {
            Some(definition) => states(std::slice::from_ref(definition), env)?.remove(&self.name),
            None => {
                complain(&format!("{}: {UNTRUSTED}", self.name));
                Some(not_started(definition))
            }
        };
        let server = server.context("the server was not seen")?;
        if self.json {
            print(&serde_json::to_string_pretty(&server)?)?;
        } else {
            print(&to_text(&server, definition))?;
        }
        Ok(if server.state == McpState::Ready { Exit::Success } else { Exit::Failure })
    }
}

fn to_text(server: &McpServer, definition: &McpDefinition) -> String {
    let mut lines = vec![
        format!("{}: {}", server.name, server.state.describe()),
        format!("  scope    {} ({})", server.scope, definition.origin),
        format!("  reached  {}", server.address),
    ];
    if let McpReach::Http { headers, .. } = &definition.reach
        && !headers.is_empty()
    {
        let names: Vec<&str> = headers.keys().map(String::as_str).collect();
        lines.push(format!("  headers  {}", names.join(", ")));
    }
    if let Some(identity) = &server.identity {
        lines.push(format!("  is       {} {}", identity.name, identity.version));
    }
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    for tool in &server.tools {
        let hint = if tool.read_only { " (read-only)" } else { "" };
        lines.push(hanging(&format!("  tool     {}{hint}  ", tool.name), &first_line(&tool.description)));
    }
    for prompt in &server.prompts {
        lines.push(hanging(&format!("  prompt   /{}  ", prompt.name), &first_line(&prompt.description)));
    }
    if !server.resources.is_empty() {
        lines.push(format!("  {} resources", server.resources.len()));
    }
    lines.join("\n")
}

/// Starts servers, and says where they stand then.
fn states(definitions: &[McpDefinition], env: &Env) -> anyhow::Result<BTreeMap<String, McpServer>> {
    crate::runtime()?.block_on(async {
        let choice = McpChoice::new(definitions.to_vec(), env);
        let surroundings = Surroundings {
            env: env.clone(),
            offline: env.flag("TILLER_OFFLINE"),
            secrets: Arc::new(Vault::new(env)),
            tokens: TokenStore::below(&config_dir(env)),
            principal: Arc::new(Nobody { cwd: env.cwd.clone() }),
            patience: choice.patience,
        };
        let servers = Servers::start(choice.definitions, surroundings);
        servers.settled(choice.patience.start).await;
        let shown = servers.shown().into_iter().map(|server| (server.name.clone(), server)).collect();
        servers.end().await;
        Ok(shown)
    })
}

/// Servers that are only looked at get nothing.
struct Nobody {
    cwd: PathBuf,
}

impl Principal for Nobody {
    fn roots(&self) -> Vec<PathBuf> {
        vec![self.cwd.clone()]
    }

    fn elicit(&self, _: ElicitationAsk) -> BoxFuture<'static, Elicited> {
        async { Elicited::Declined }.boxed()
    }

    fn sample(&self, _: SamplingRequest) -> BoxFuture<'static, Result<Sampled, String>> {
        async { Err("nobody is there to allow it".to_owned()) }.boxed()
    }

    fn sampling_model(&self) -> String {
        String::new()
    }

    fn relay(&self, _: &str, _: Value) -> BoxFuture<'static, Result<Value, String>> {
        async { Err("there is no host here".to_owned()) }.boxed()
    }

    fn changed(&self, _: McpServer) {}

    fn tell(&self, notice: Notice) {
        complain(&notice.content);
    }
}
