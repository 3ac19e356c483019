//! Servers of the Model Context Protocol: which there are, and how each is reached.

mod decode;
mod expand;
mod file;
mod oauth;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tiller_protocol::env::Env;
use tiller_protocol::mcp::McpTransport;

use crate::dirs::Places;
use crate::error::{Problem, SettingsError};
use crate::origin::{Layer, Origin};
use crate::plugin::Plugin;
use crate::request::{ProjectTrust, Sources};
use crate::row::Row;

pub use file::{add_mcp_server, remove_mcp_server};
pub use oauth::{McpGrant, McpIdentityProvider, McpOAuth, McpSecret};

/// The file of a project's servers, shared by everybody who works on it.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";
/// The user's own file: servers for all projects, and for single ones.
pub(crate) const USER_FILE: &str = "mcp.json";

/// A server, as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct McpDefinition {
    /// Its name.
    pub name: String,
    /// Where it is configured.
    pub scope: McpScope,
    /// How it is reached.
    pub reach: McpReach,
    /// How long a call may take without a sign of life.
    pub timeout: Option<Duration>,
    /// Whether its tools are always told to the model, however many there are.
    pub always_load: bool,
    /// The command or address as it stands in the file, without what variables hold.
    pub shown: String,
    /// The file it stands in.
    pub origin: Origin,
}

impl McpDefinition {
    /// A server that is part of the host, of which nothing but its name is known.
    ///
    /// # Errors
    /// When it cannot have that name.
    pub fn of_host(name: &str) -> Result<Self, String> {
        if !decode::is_name(name) {
            return Err(format!("the MCP server {name:?} cannot be used: {}", decode::NAMES));
        }
        Ok(Self {
            name: name.to_owned(),
            scope: McpScope::CommandLine,
            reach: McpReach::Host,
            timeout: None,
            always_load: false,
            shown: decode::IN_HOST.to_owned(),
            origin: Origin::layer(Layer::CommandLine),
        })
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpReach {
    /// A program that is started and spoken to over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What its environment has besides.
        env: BTreeMap<String, String>,
    },
    /// A service.
    Http {
        /// Its address.
        url: String,
        /// What every request carries.
        headers: BTreeMap<String, String>,
        /// How it lets Tiller in, as far as that is not found out.
        oauth: Box<McpOAuth>,
        /// How it is spoken to.
        dialect: McpDialect,
    },
    /// A part of the program that has started Tiller, spoken to over the session's front end.
    Host,
}

/// How a service is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpDialect {
    /// Every message is a request; its answer may be a stream.
    Streamable,
    /// One stream brings everything that the service says, as it was before 2025.
    Events,
}

impl McpReach {
    /// The kind of connection.
    #[must_use]
    pub fn transport(&self) -> McpTransport {
        match self {
            Self::Stdio { .. } => McpTransport::Stdio,
            Self::Http { dialect: McpDialect::Streamable, .. } => McpTransport::Http,
            Self::Http { dialect: McpDialect::Events, .. } => McpTransport::Sse,
            Self::Host => McpTransport::Host,
        }
    }
}

/// Where a server is configured. Later ones win over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpScope {
    /// In a plugin.
    Plugin,
    /// By the user, for all projects.
    User,
    /// By the project, for everybody.
    Project,
    /// By the user, for this project.
    Local,
    /// On the command line.
    CommandLine,
}

impl fmt::Display for McpScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugin => "plugin",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::CommandLine => "command line",
        })
    }
}

/// All servers of a run, and what could not be understood.
#[derive(Clone, Debug, Default)]
pub struct McpServers {
    /// By name, in order of their names.
    pub definitions: Vec<McpDefinition>,
    /// What was left out, and why.
    pub problems: Vec<Problem>,
}

/// Which servers are wanted.
#[derive(Clone, Debug, Default)]
pub struct McpRequest<'a> {
    /// `--mcp-config`: files, or objects.
    pub given: &'a [String],
    /// `--strict-mcp-config`: only what was given.
    pub strict: bool,
    /// Which files count.
    pub sources: Sources,
    /// Names of project servers that are switched off.
    pub disabled: &'a [String],
    /// Plugins, which bring servers.
    pub plugins: &'a [Plugin],
}

impl McpServers {
    /// Reads all places.
    ///
    /// # Errors
    /// When `--mcp-config` names no file, or what it gives is not JSON. What is wrong in other files is left out.
    pub fn load(
        places: &Places,
        request: &McpRequest<'_>,
        env: &Env,
        trust: ProjectTrust,
    ) -> Result<Self, SettingsError> {
        let mut collected = Collected { env, servers: BTreeMap::new(), problems: Vec::new() };
        if !request.strict {
            collected.files(places, request, trust);
        }
        for given in request.given {
            let (value, origin) = file::given(given, env)?;
            collected.servers(&value["mcpServers"], McpScope::CommandLine, &origin);
        }
        Ok(Self { definitions: collected.servers.into_values().collect(), problems: collected.problems })
    }
}

/// The servers that come with the project, as they are written.
pub(crate) fn rows_of_project(places: &Places) -> Vec<Row> {
    let path = places.project.join(PROJECT_FILE);
    let origin = Origin::file(Layer::Project, path.clone());
    let value = file::read(&path, &origin).ok().flatten().unwrap_or_default();
    let servers = value["mcpServers"].as_object().into_iter().flatten();
    let row = |(name, value): (&String, &Value)| Row {
        key: format!("mcpServers.{name}"),
        value: value.clone(),
        origin: origin.clone(),
    };
    servers.map(row).collect()
}

/// Servers found so far.
struct Collected<'a> {
    env: &'a Env,
    servers: BTreeMap<String, McpDefinition>,
    problems: Vec<Problem>,
}

impl Collected<'_> {
    fn files(&mut self, places: &Places, request: &McpRequest<'_>, trust: ProjectTrust) {
        for plugin in request.plugins {
            let servers = plugin.mcp_servers.iter().map(|(name, server)| (name.clone(), server.clone()));
            self.servers(&Value::Object(servers.collect()), McpScope::Plugin, &plugin.origin);
        }
        let user_files = [places.foreign_servers(), places.config_dir.join(USER_FILE)];
        if request.sources.user {
            for path in &user_files {
                self.file(path, Layer::User, |collected, value, origin| {
                    collected.servers(&value["mcpServers"], McpScope::User, origin);
                });
            }
        }
        if request.sources.project && trust == ProjectTrust::Full {
            self.file(&places.project.join(PROJECT_FILE), Layer::Project, |collected, value, origin| {
                collected.servers(&value["mcpServers"], McpScope::Project, origin);
            });
            let is_off =
                |one: &McpDefinition| one.scope == McpScope::Project && request.disabled.contains(&one.name);
            self.servers.retain(|_, one| !is_off(one));
        }
        if request.sources.local {
            let project = places.project.to_string_lossy();
            for path in &user_files {
                self.file(path, Layer::User, |collected, value, origin| {
                    let servers = &value["projects"][project.as_ref()]["mcpServers"];
                    collected.servers(servers, McpScope::Local, origin);
                });
            }
        }
    }

    /// Looks into a file. One that is not there says nothing; one that is no JSON is told and left out.
    fn file(&mut self, path: &Path, layer: Layer, take: impl FnOnce(&mut Self, &Value, &Origin)) {
        let origin = Origin::file(layer, path.to_owned());
        match file::read(path, &origin) {
            Ok(Some(value)) => take(self, &value, &origin),
            Ok(None) => {}
            Err(problem) => self.problems.push(problem),
        }
    }

    fn servers(&mut self, servers: &Value, scope: McpScope, origin: &Origin) {
        for (name, value) in servers.as_object().into_iter().flatten() {
            let mut problems = Vec::new();
            let decoded = decode::definition(name, value, scope, origin, self.env, &mut problems);
            self.problems.extend(problems.into_iter().map(|text| Problem {
                origin: origin.clone(),
                place: None,
                key: format!("mcpServers.{name}"),
                text,
            }));
            if let Some(definition) = decoded {
                self.servers.insert(name.clone(), definition);
            }
        }
    }
}
