//! `tiller agents`: which agents work can be delegated to.

use clap::{Parser, Subcommand};
use serde::Serialize;
use tiller_config::AgentDefinition;
use tiller_protocol::env::Env;

use crate::args;
use crate::complain;
use crate::exit::Exit;
use crate::extensions;
use crate::scope::Scope;
use crate::text::{hanging, print};

/// List the agents that work can be delegated to.
#[derive(Debug, Parser)]
#[command(name = "tiller agents", bin_name = "tiller agents", disable_help_subcommand = true)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the agents, with the file each comes from
    List {
        /// Print JSON, prompts included
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        scope: Scope,
    },
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing<'a> {
    agents: &'a [AgentDefinition],
    problems: Vec<String>,
}

/// Runs `tiller agents`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let command = match Command::try_parse_from(words) {
        Ok(command) => command,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let Action::List { json, scope } = command.action;
    let extensions = extensions::found(scope.request().sources, env);
    let agents = &extensions.agents;
    if json {
        let problems = agents.problems.iter().map(ToString::to_string).collect();
        print(&serde_json::to_string_pretty(&Listing { agents: &agents.definitions, problems })?)?;
    } else {
        agents.problems.iter().for_each(|problem| complain(&format!("warning: {problem}")));
        print(&listed(&agents.definitions, |line| hanging("  ", line)))?;
    }
    Ok(Exit::Success)
}

/// The agents of a session that was started with these arguments: those of its files, options and plugins.
pub(crate) fn of_session(typed: &args::Args, env: &Env) -> anyhow::Result<String> {
    let agents = extensions::of_session(typed, env)?.agents.definitions;
    // The page breaks lines where it has to.
    Ok(listed(&agents, |line| format!("  {line}")))
}

fn listed(agents: &[AgentDefinition], below: impl Fn(&str) -> String) -> String {
    let described = |agent: &AgentDefinition| {
        let lines = described(agent);
        let lines = lines.iter().flat_map(|text| text.lines()).map(&below);
        std::iter::once(agent.name.clone()).chain(lines).collect::<Vec<_>>().join("\n")
    };
    agents.iter().map(described).collect::<Vec<_>>().join("\n")
}

fn described(agent: &AgentDefinition) -> Vec<String> {
    let mut lines = vec![agent.when_to_use.clone()];
    let tools = match &agent.tools {
        None => "all".to_owned(),
        Some(tools) if tools.is_empty() => "none".to_owned(),
        Some(tools) => tools.join(", "),
    };
    let without = match agent.disallowed_tools.as_slice() {
        [] => String::new(),
        tools => format!(" without {}", tools.join(", ")),
    };
    lines.push(format!("model: {}; tools: {tools}{without}", agent.model.as_deref().unwrap_or("sonnet")));
    if !agent.is_built_in() {
        lines.push(format!("from: {}", agent.origin));
    }
    lines
}
