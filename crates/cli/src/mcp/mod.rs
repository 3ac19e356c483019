//! `tiller mcp`: which MCP servers there are, and how they are reached.

mod add;
mod list;
mod login;
mod serve;

use clap::{Parser, Subcommand, ValueEnum};
use tiller_config::{McpRequest, McpScope, McpServers, Places, Plugin, ProjectTrust, Resolved, Sources};
use tiller_engine::McpChoice;
use tiller_protocol::env::Env;

use crate::args::{self, Args};
use crate::exit::Exit;
use crate::{complain, extensions, settings};

const AFTER_HELP: &str = "\
Servers stand in ~/.tiller/mcp.json (scopes user and local) and in .mcp.json of the project (scope project).

Exit codes:
  0 done
  1 there is no such server, or something is wrong";

/// Manage servers of the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "tiller mcp", bin_name = "tiller mcp", disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Mcp {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a server: a command behind --, or the address of a service
    Add(add::Add),
    /// Add a server as it would stand in .mcp.json
    AddJson(add::AddJson),
    /// Print the servers that count here
    List(list::List),
    /// Print one server; starts it to see whether it works
    Get(list::Get),
    /// Take a server out
    Remove(add::Remove),
    /// Sign in to a service
    Login(login::Login),
    /// Forget how you have signed in to a service
    Logout(login::Logout),
    /// Be a server: offer Tiller's tools to another program over standard input and output
    Serve(serve::Serve),
}

/// Where a server is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// For you, in this project
    Local,
    /// For you, everywhere
    User,
    /// For everybody, in this project
    Project,
}

impl From<Scope> for McpScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Local => Self::Local,
            Scope::User => Self::User,
            Scope::Project => Self::Project,
        }
    }
}

/// Runs `tiller mcp`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let mcp = match Mcp::try_parse_from(words) {
        Ok(mcp) => mcp,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    match mcp.action {
        Action::Add(add) => add.run(env),
        Action::AddJson(add) => add.run(env),
        Action::Remove(remove) => remove.run(env),
        Action::List(list) => list.run(env),
        Action::Get(get) => get.run(env),
        Action::Login(login) => login.run(env),
        Action::Logout(logout) => logout.run(env),
        Action::Serve(serve) => serve.run(env),
    }
}

/// The servers of a session.
pub(crate) fn choice(
    args: &Args,
    settings: &Resolved,
    plugins: &[Plugin],
    env: &Env,
) -> anyhow::Result<McpChoice> {
    let env = settings::variables(settings, env);
    let request = McpRequest {
        given: &args.mcp_config,
        strict: args.strict_mcp_config,
        sources: settings::request(args)?.sources,
        disabled: &disabled(settings),
        plugins,
    };
    let trust = args.at_terminal.unwrap_or(ProjectTrust::Full);
    let servers = McpServers::load(&Places::of(&env), &request, &env, trust)?;
    Ok(McpChoice::new(told(servers).definitions, &env))
}

/// All servers, for commands beside sessions.
fn all(env: &Env) -> anyhow::Result<McpServers> {
    let settings = Resolved::load(&Places::of(env), &Default::default(), env, ProjectTrust::Full)?;
    configured(&settings, Sources::default(), env)
}

/// The servers that a headless run would have.
pub(crate) fn configured(settings: &Resolved, sources: Sources, env: &Env) -> anyhow::Result<McpServers> {
    let plugins = extensions::found(sources, env).plugins.all;
    let env = settings::variables(settings, env);
    let request =
        McpRequest { sources, disabled: &disabled(settings), plugins: &plugins, ..McpRequest::default() };
    Ok(told(McpServers::load(&Places::of(&env), &request, &env, ProjectTrust::Full)?))
}

fn disabled(settings: &Resolved) -> Vec<String> {
    settings.disabled_mcpjson_servers.iter().map(|name| name.value.clone()).collect()
}

fn told(servers: McpServers) -> McpServers {
    for problem in &servers.problems {
        complain(&format!("warning: {problem}"));
    }
    servers
}
