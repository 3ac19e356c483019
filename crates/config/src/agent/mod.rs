//! Agents that work is delegated to: those that come with Tiller, those in files, those a host brings.
//!
//! A file that cannot be used is told and left out; it never keeps a session from starting.

mod decode;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use tiller_protocol::mode::Mode;
use tiller_protocol::tool::canonical;

use crate::definition::{HookEvent, HookGroup};
use crate::dirs::Places;
use crate::error::Problem;
use crate::extension::field::Decoder;
use crate::extension::folder::{Folder, Layout, decode_text};
use crate::extension::named::{Named, add_first, add_over};
use crate::origin::{Layer, Origin, Place, Sourced};
use crate::request::{ProjectTrust, Sources};

/// The agents that come with Tiller, as files of the same form as everybody's.
const BUILT_IN: [(&str, &str); 5] = [
    ("general-purpose", include_str!("built_in/general-purpose.md")),
    ("Explore", include_str!("built_in/Explore.md")),
    ("Plan", include_str!("built_in/Plan.md")),
    ("statusline-setup", include_str!("built_in/statusline-setup.md")),
    ("tiller-guide", include_str!("built_in/tiller-guide.md")),
];

const WHAT: &str = "agent";

/// An agent that work can be delegated to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDefinition {
    /// The name by which it is asked for.
    pub name: String,
    /// When to use it: what the delegating agent reads.
    pub when_to_use: String,
    /// The tools it may have; absent for all.
    pub tools: Option<Vec<String>>,
    /// Tools it may not have.
    pub disallowed_tools: Vec<String>,
    /// A model's short name or id, or `inherit`.
    pub model: Option<String>,
    /// What it is told about itself and its work.
    pub prompt: String,
    /// Whether it knows the conversation of the agent that delegates.
    pub fork_context: bool,
    /// A text that is repeated with every request.
    pub critical_reminder: Option<String>,
    /// How it is kept apart from the work of others.
    pub isolation: Option<Isolation>,
    /// The model requests it may make.
    pub max_turns: Option<u32>,
    /// The mode it works in, if that is stricter than the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<Mode>,
    /// Hooks that run in it beside those of the session.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<HookEvent, Vec<HookGroup>>,
    /// Who defined it, and in which file.
    #[serde(flatten)]
    pub origin: Origin,
}

/// How an agent is kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Isolation {
    /// It works in a git worktree of its own.
    Worktree,
}

impl AgentDefinition {
    /// Whether it comes with Tiller.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.origin.layer == Layer::Default
    }

    /// Its hooks as those of settings are.
    #[must_use]
    pub fn sourced_hooks(&self) -> BTreeMap<HookEvent, Vec<Sourced<HookGroup>>> {
        let sourced = |group: &HookGroup| Sourced { value: group.clone(), origin: self.origin.clone() };
        self.hooks.iter().map(|(event, groups)| (*event, groups.iter().map(sourced).collect())).collect()
    }

    /// Whether the definition lets it have a tool.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let names = |names: &[String]| names.iter().any(|name| covers(name, tool));
        self.tools.as_deref().is_none_or(names) && !names(&self.disallowed_tools)
    }
}

/// Whether a name in a definition means a tool. `mcp__server` means all tools of that server.
fn covers(name: &str, tool: &str) -> bool {
    let server = name.strip_suffix("__*").unwrap_or(name);
    let of_server = || {
        server.starts_with("mcp__") && tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
    };
    name == "*" || of_server() || canonical(name) == canonical(tool)
}

/// All agents there are, and what is wrong with those that could not be used as they were meant.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// The agents, each name once. Those that come with Tiller lead.
    pub definitions: Vec<AgentDefinition>,
    /// What was left out, and why.
    pub problems: Vec<Problem>,
}

/// Reads the agents of all places: an agent of the project wins over one of the user, and that over one that comes with
/// Tiller; on the same level `.tiller` wins over `.claude`. Those of a project need trust.
#[must_use]
pub fn agents(places: &Places, sources: Sources, trust: ProjectTrust) -> Agents {
    let mut agents = Agents::built_in();
    for folder in places.folders("agents", sources, trust) {
        agents.add_folder(&folder);
    }
    agents
}

impl Named for AgentDefinition {
    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl Agents {
    /// Only those that come with Tiller.
    #[must_use]
    pub fn built_in() -> Self {
        let mut agents = Self::default();
        let origin = Origin::layer(Layer::Default);
        for (name, text) in BUILT_IN {
            let read = decode_text(text, &origin, WHAT, &mut agents.problems, |decoder, parsed| {
                decoder.agent(name, &parsed.fields, parsed.body)
            });
            agents.definitions.extend(read);
        }
        agents
    }

    /// Leaves agents out whose hooks are found to be no hooks: they may be guards.
    pub fn leave_out_broken(&mut self, problem: impl Fn(&AgentDefinition) -> Option<String>) {
        let all = std::mem::take(&mut self.definitions);
        for agent in all {
            match problem(&agent) {
                None => self.definitions.push(agent),
                Some(text) => self.problems.push(Problem {
                    origin: agent.origin,
                    place: None,
                    key: "hooks".to_owned(),
                    text: format!("{text}; the agent {} is left out", agent.name),
                }),
            }
        }
    }

    /// Adds the agents of a folder; they count more than those before.
    pub(crate) fn add_folder(&mut self, folder: &Folder) {
        let mut found: Vec<AgentDefinition> = Vec::new();
        for file in folder.read(Layout::Files, WHAT, &mut self.problems) {
            let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
            let agent = file.decode(WHAT, &mut self.problems, |decoder, parsed| {
                decoder.agent(&stem, &parsed.fields, parsed.body)
            });
            if let Some(agent) = agent {
                let name = folder.qualified(&agent.name);
                add_first(&mut found, AgentDefinition { name, ..agent }, &mut self.problems);
            }
        }
        found.into_iter().for_each(|definition| add_over(&mut self.definitions, definition));
    }

    /// The agent of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.definitions.iter().find(|definition| definition.name == name)
    }

    /// Adds agents that a host or the command line gives, as an object of `name: {description, prompt, ...}`. They win
    /// over those of the same name.
    pub fn add_given(&mut self, given: &Value) {
        let origin = Origin::layer(Layer::CommandLine);
        let Value::Object(given) = given else {
            let text =
                "is not an object such as {\"reviewer\": {\"description\": \"...\", \"prompt\": \"...\"}}";
            self.problems.push(Problem {
                origin,
                place: None,
                key: "agents".to_owned(),
                text: text.to_owned(),
            });
            return;
        };
        for (name, definition) in given {
            let key = format!("agents.{name}");
            let nowhere = |_: &str| None::<Place>;
            let mut decoder = Decoder {
                origin: &origin,
                what: WHAT,
                key: &key,
                place: &nowhere,
                problems: &mut self.problems,
            };
            if let Some(definition) = decoder.given_agent(name, definition) {
                add_over(&mut self.definitions, definition);
            }
        }
    }
}
