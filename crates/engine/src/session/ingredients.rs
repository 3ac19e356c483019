//! What requests depend on beside the log, noted with each epoch, and taken up again when a session is replayed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tiller_config::{AgentDefinition, Agents};
use tiller_protocol::env::Env;
use tiller_protocol::ingredients::{Ingredients, Noted};
use tiller_steering::attachment::catalog::find;
use tiller_steering::prompt::Environment;
use tiller_steering::source::Style;
use tiller_steering::user_context::git::root;

use super::{PromptChoice, Task};

/// Variables that shape what the model is told. None of them holds a credential.
const SHAPING: [&str; 8] = [
    "TILLER_DISABLE_ATTACHMENTS",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS",
    "TILLER_VERIFY_PLAN",
    "CLAUDE_CODE_VERIFY_PLAN",
    "TILLER_PLAN_V2_AGENT_COUNT",
    "CLAUDE_CODE_PLAN_V2_AGENT_COUNT",
    "TILLER_PLAN_V2_EXPLORE_AGENT_COUNT",
    "CLAUDE_CODE_PLAN_V2_EXPLORE_AGENT_COUNT",
];
/// What hands out work.
const DELEGATES: &str = "Task";

impl Task {
    /// What the next requests depend on, as it is now.
    pub(super) fn ingredients(&self) -> Ingredients {
        let (env, prompt, steering) = (&self.fixed.env, &self.fixed.prompt, &self.fixed.steering);
        let delegates = self.services.registry.names().contains(&DELEGATES);
        let agents = self.services.agents.iter().filter(|_| delegates);
        Ingredients {
            git_repository: root(&env.cwd).is_some(),
            platform: std::env::consts::OS.to_owned(),
            os_version: os_version(),
            date: env.now().to_zoned(jiff::tz::TimeZone::system()).date(),
            model: self.lead.borrow().main_model.clone(),
            interactive: self.services.interactive,
            replace: prompt.replace.clone(),
            append: prompt.append.clone(),
            persona: self.fixed.persona.as_ref().map(|agent| noted(agent, &agent.prompt)),
            // What an agent is told of itself is no part of what others are told of it.
            agents: agents.flat_map(|agents| agents.definitions()).map(|agent| noted(agent, "-")).collect(),
            mute: steering.mute.iter().map(|&kind| kind.to_owned()).collect(),
            style: steering.style.clone().map(|style| (style.name, style.guidelines)),
            critical_reminder: steering.critical_reminder.clone(),
            vars: shaping(env),
            streaming_tools: self.fixed.streaming_tools,
            servers: self.server_lines(),
        }
    }

    /// The surroundings as the prompt tells them.
    pub(super) fn environment_of(&self, ingredients: &Ingredients) -> Environment {
        Environment {
            working_directory: self.fixed.env.cwd.clone(),
            additional_directories: self.journal.state.additional_dirs.clone(),
            git_repository: ingredients.git_repository,
            platform: ingredients.platform.clone(),
            os_version: ingredients.os_version.clone(),
            date: ingredients.date,
            model: ingredients.model.clone(),
        }
    }

    /// Becomes a task for which requests depend on this.
    pub(super) fn take_up(&mut self, ingredients: &Ingredients) {
        let prompt =
            PromptChoice { replace: ingredients.replace.clone(), append: ingredients.append.clone() };
        self.fixed.prompt = prompt;
        self.fixed.persona = ingredients.persona.as_ref().and_then(|noted| definitions([noted]).pop());
        self.fixed.streaming_tools = ingredients.streaming_tools;
        let steering = &mut self.fixed.steering;
        steering.mute = ingredients.mute.iter().filter_map(|kind| find(kind)).map(|row| row.kind).collect();
        steering.style = ingredients.style.clone().map(|(name, guidelines)| Style { name, guidelines });
        steering.critical_reminder.clone_from(&ingredients.critical_reminder);
        self.services.interactive = ingredients.interactive;
        self.fixed.env.vars = Arc::new(ingredients.vars.clone());
        self.pipeline = Arc::new(self.fixed.steering.pipeline(&self.fixed.env));
    }
}

fn shaping(env: &Env) -> BTreeMap<String, String> {
    let said = |name: &str| env.var(name).map(|value| (name.to_owned(), value.to_owned()));
    SHAPING.into_iter().filter_map(said).collect()
}

fn noted(agent: &AgentDefinition, prompt: &str) -> Noted {
    if agent.is_built_in() {
        return Noted::BuiltIn(agent.name.clone());
    }
    let mut fields = json!({"description": agent.when_to_use, "prompt": prompt});
    if let Some(tools) = &agent.tools {
        fields["tools"] = json!(tools);
    }
    if !agent.disallowed_tools.is_empty() {
        fields["disallowedTools"] = json!(agent.disallowed_tools);
    }
    if agent.fork_context {
        fields["forkContext"] = json!(true);
    }
    let mut definition = serde_json::Map::new();
    definition.insert(agent.name.clone(), fields);
    Noted::Defined(Value::Object(definition))
}

/// The agents that were noted. One that no longer comes with Tiller is left out.
pub(super) fn definitions<'a>(noted: impl IntoIterator<Item = &'a Noted>) -> Vec<AgentDefinition> {
    let built_in = Agents::built_in();
    let define = |noted: &Noted| match noted {
        Noted::BuiltIn(name) => built_in.get(name).cloned(),
        Noted::Defined(given) => {
            let mut agents = Agents::default();
            agents.add_given(given);
            agents.definitions.pop()
        }
    };
    noted.into_iter().filter_map(define).collect()
}

fn os_version() -> String {
    let uname = rustix::system::uname();
    format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy())
}
