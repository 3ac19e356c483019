//! Adding and removing servers.

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use tiller_config::{CommandLine, McpScope, Places, SettingsError, add_mcp_server, remove_mcp_server};
use tiller_protocol::env::Env;

use super::Scope;
use crate::exit::Exit;
use crate::text::print;
use crate::trust;

/// A server to add.
#[derive(Debug, clap::Args)]
pub(super) struct Add {
    /// Its name
    name: String,

    /// The address of a service, or a program; its arguments follow after --
    #[arg(value_name = "URL-OR-COMMAND")]
    target: String,

    /// Arguments for the program
    #[arg(last = true)]
    args: Vec<String>,

    /// Where to store it
    #[arg(short, long, value_enum, default_value_t = Scope::Local)]
    scope: Scope,

    /// stdio, http or sse; an address means http by default
    #[arg(short, long, value_name = "KIND")]
    transport: Option<String>,

    /// Environment variable for the program; may be repeated
    #[arg(short, long, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// Header for requests to the service; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    header: Vec<String>,
}

/// A server to add, as it would stand in a file.
#[derive(Debug, clap::Args)]
pub(super) struct AddJson {
    /// Its name
    name: String,

    /// For example '{"command": "npx", "args": ["-y", "some-server"]}'
    json: String,

    /// Where to store it
    #[arg(short, long, value_enum, default_value_t = Scope::Local)]
    scope: Scope,
}

/// A server to take out.
#[derive(Debug, clap::Args)]
pub(super) struct Remove {
    /// Its name
    name: String,

    /// Where it is stored [default: the narrowest scope that has it]
    #[arg(short, long, value_enum)]
    scope: Option<Scope>,
}

impl Add {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let is_address = self.target.starts_with("http://") || self.target.starts_with("https://");
        let kind = self.transport.as_deref().unwrap_or(if is_address { "http" } else { "stdio" });
        let server = match kind {
            "http" | "streamable-http" | "sse" => {
                if !self.args.is_empty() || !self.env.is_empty() {
                    bail!("a service takes no arguments or variables; use --header to set headers");
                }
                let kind = if kind == "sse" { "sse" } else { "http" };
                json!({"type": kind, "url": self.target, "headers": pairs(&self.header, ":")?})
            }
            "stdio" => {
                if !self.header.is_empty() {
                    bail!("a program takes no headers; use --env to set variables");
                }
                json!({"type": "stdio", "command": self.target, "args": self.args, "env": pairs(&self.env, "=")?})
            }
            other => bail!("--transport: {other} is not one of stdio, http, sse"),
        };
        written(env, self.scope, &self.name, &server)
    }
}

impl AddJson {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let server: Value = serde_json::from_str(&self.json).context("the server is not JSON")?;
        if !server.is_object() {
            bail!("the server has to be an object");
        }
        written(env, self.scope, &self.name, &server)
    }
}

impl Remove {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let places = Places::of(env);
        let everywhere = [McpScope::Local, McpScope::Project, McpScope::User];
        let scopes = self.scope.map_or(everywhere.to_vec(), |scope| vec![scope.into()]);
        for scope in scopes {
            if let Some(file) = trusting(env, || remove_mcp_server(&places, scope, &self.name))? {
                print(&format!("removed {} from {}", self.name, file.display()))?;
                return Ok(Exit::Success);
            }
        }
        bail!("there is no server named {} here; `tiller mcp list` lists the servers", self.name)
    }
}

fn written(env: &Env, scope: Scope, name: &str, server: &Value) -> anyhow::Result<Exit> {
    let file = trusting(env, || add_mcp_server(&Places::of(env), scope.into(), name, server))?;
    print(&format!("added {name} to {}", file.display()))?;
    Ok(Exit::Success)
}

/// Changes files as the user wants it: a project of which everything was trusted stays so.
fn trusting<T>(env: &Env, change: impl FnOnce() -> Result<T, SettingsError>) -> anyhow::Result<T> {
    let request = CommandLine::default();
    // Settings that cannot be read are a matter of their own.
    let was_trusted = matches!(trust::question(&env.cwd, &request, env), Ok(None));
    let done = change()?;
    if was_trusted {
        trust::record(&request, env)?;
    }
    Ok(done)
}

fn pairs(texts: &[String], separator: &str) -> anyhow::Result<Map<String, Value>> {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once(separator).with_context(|| format!("{text} has no {separator}"))?;
        Ok((name.trim().to_owned(), json!(value.trim())))
    };
    texts.iter().map(pair).collect()
}
