//! `tiller agents`: which agents work can be delegated to.

use anyhow::Context;
use clap::{Parser, Subcommand};
use serde::Serialize;
use tiller_config::{AgentDefinition, Agents, Places, ProjectTrust, Sources};
use tiller_protocol::env::Env;

use crate::args::{self, Args};
use crate::complain;
use crate::exit::Exit;
use crate::scope::Scope;
use crate::text::{hanging, print};

/// See which agents there are.
#[derive(Debug, Parser)]
#[command(name = "tiller agents", bin_name = "tiller agents", disable_help_subcommand = true)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the agents that work can be delegated to, with the file each comes from
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
    let agents = found(scope.request().sources, ProjectTrust::Full, env);
    if json {
        let problems = agents.problems.iter().map(ToString::to_string).collect();
        print(&serde_json::to_string_pretty(&Listing { agents: &agents.definitions, problems })?)?;
    } else {
        told(&agents);
        agents.definitions.iter().try_for_each(|agent| print(&described(agent)))?;
    }
    Ok(Exit::Success)
}

/// The agents of a run: those of the files that count, and those of `--agents`.
pub(crate) fn load(args: &Args, env: &Env) -> anyhow::Result<Vec<AgentDefinition>> {
    let sources = args.setting_sources.unwrap_or_default();
    let sources = if args.no_project_settings { sources.without_project() } else { sources };
    // As with settings, whoever starts a headless run has chosen the directory.
    let mut agents = found(sources, args.at_terminal.unwrap_or(ProjectTrust::Full), env);
    if let Some(given) = &args.agents {
        agents.add_given(&serde_json::from_str(given).context("--agents is not JSON")?);
    }
    told(&agents);
    Ok(agents.definitions)
}

fn found(sources: Sources, trust: ProjectTrust, env: &Env) -> Agents {
    tiller_config::agents(&Places::of(env), sources, trust)
}

fn told(agents: &Agents) {
    for problem in &agents.problems {
        complain(&format!("warning: {problem}"));
    }
}

fn described(agent: &AgentDefinition) -> String {
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
    hanging("", &format!("{}\n{}", agent.name, lines.join("\n"))).replace('\n', "\n  ")
}
