//! `tiller mcp`: which MCP servers there are, and how they are reached.

mod add;
mod list;
mod login;
mod serve;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand, ValueEnum};
use tiller_config::{
    CommandLine, McpDefinition, McpReach, McpRequest, McpScope, McpServers, Places, Plugin, ProjectTrust,
    Resolved, Sources,
};
use tiller_engine::McpChoice;
use tiller_mcp::is_tool_of;
use tiller_protocol::env::Env;

use crate::args::{self, Args, InputFormat};
use crate::exit::Exit;
use crate::{complain, extensions, settings, trust};

const AFTER_HELP: &str = "\
Servers are stored in ~/.tiller/mcp.json (scopes user and local) and in .mcp.json of the project \
(scope project).

Exit codes:
  0 success
  1 no such server, or another error";

/// Manage MCP (Model Context Protocol) servers.
#[derive(Debug, Parser)]
#[command(name = "tiller mcp", bin_name = "tiller mcp", disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Mcp {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a server: a program with its arguments after --, or the address of a service
    Add(add::Add),
    /// Add a server from JSON, as in .mcp.json
    AddJson(add::AddJson),
    /// List the servers in effect here
    List(list::List),
    /// Show one server; starts it to see whether it works, unless its project is not trusted
    Get(list::Get),
    /// Remove a server
    Remove(add::Remove),
    /// Sign in to a service
    Login(login::Login),
    /// Sign out of a service
    Logout(login::Logout),
    /// Serve Tiller's tools to another program over standard input and output
    Serve(serve::Serve),
}

/// Where a server is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// For you, in this project
    Local,
    /// For you, everywhere
    User,
    /// For everyone, in this project
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
    let definitions = told(servers).definitions;
    let of_host = definitions.iter().find(|one| one.reach == McpReach::Host);
    if let Some(server) = of_host.filter(|_| args.input_format != InputFormat::StreamJson) {
        bail!(
            "--mcp-config: {} is part of the program that starts tiller (type sdk), which can be spoken to only with \
             --input-format stream-json",
            server.name
        );
    }
    let permission_tool = permission_tool(args, &definitions)?;
    Ok(McpChoice { permission_tool, ..McpChoice::new(definitions, &env) })
}

/// The tool that answers questions about permission, if one of these servers is to.
fn permission_tool(args: &Args, servers: &[McpDefinition]) -> anyhow::Result<Option<String>> {
    let Some(tool) = args.permission_prompt_tool.as_deref().filter(|tool| *tool != "stdio") else {
        return Ok(None);
    };
    if !servers.iter().any(|server| is_tool_of(tool, &server.name)) {
        bail!(
            "--permission-prompt-tool: {tool} is neither stdio nor the tool of a configured MCP server, mcp__server__tool; name \
             the server with --mcp-config"
        );
    }
    Ok(Some(tool.to_owned()))
}

/// The servers that a headless run would have.
pub(crate) fn configured(settings: &Resolved, sources: Sources, env: &Env) -> anyhow::Result<McpServers> {
    Ok(told(under(ProjectTrust::Full, settings, sources, env)?))
}

/// The servers of a project that is followed so far.
fn under(
    trust: ProjectTrust,
    settings: &Resolved,
    sources: Sources,
    env: &Env,
) -> anyhow::Result<McpServers> {
    let plugins = extensions::found_under(trust, sources, env).plugins.all;
    let env = settings::variables(settings, env);
    let request =
        McpRequest { sources, disabled: &disabled(settings), plugins: &plugins, ..McpRequest::default() };
    Ok(McpServers::load(&Places::of(&env), &request, &env, trust)?)
}

/// The servers of a directory, for commands beside sessions.
struct Known {
    definitions: Vec<McpDefinition>,
    /// Those that may be started or contacted. Whoever only looks around in a directory has not chosen it for a run: what
    /// its files name has to be trusted first.
    startable: Vec<McpDefinition>,
}

impl Known {
    fn here(env: &Env) -> anyhow::Result<Self> {
        let request = CommandLine::default();
        let load = |trust| {
            let settings = Resolved::load(&Places::of(env), &request, env, trust)?;
            under(trust, &settings, request.sources, env)
        };
        let definitions = told(load(ProjectTrust::Full)?).definitions;
        let startable = match trust::question(&env.cwd, &request, env)? {
            None => definitions.clone(),
            Some(_) => load(ProjectTrust::Restricted)?.definitions,
        };
        Ok(Self { definitions, startable })
    }

    /// The server of this name.
    fn find(&self, name: &str) -> anyhow::Result<&McpDefinition> {
        let found = self.definitions.iter().find(|one| one.name == name);
        found.with_context(|| {
            format!("there is no server named {name} here; `tiller mcp list` lists the servers")
        })
    }

    /// The same server as it is started; none if that needs the user's trust.
    fn startable(&self, one: &McpDefinition) -> Option<&McpDefinition> {
        self.startable.iter().find(|other| other.name == one.name && other.origin == one.origin)
    }
}

/// What is said of a server that needs the user's trust.
const UNTRUSTED: &str = "not started: this project is not trusted; `tiller trust --show` says what it would run, `tiller trust` trusts it";

fn disabled(settings: &Resolved) -> Vec<String> {
    settings.disabled_mcpjson_servers.iter().map(|name| name.value.clone()).collect()
}

fn told(servers: McpServers) -> McpServers {
    for problem in &servers.problems {
        complain(&format!("warning: {problem}"));
    }
    servers
}
