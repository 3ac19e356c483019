//! What requests depend on beside the log, noted with each epoch, and taken up again when a session is replayed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tiller_config::{AgentDefinition, Agents};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::Body;
use tiller_protocol::env::Env;
use tiller_protocol::ingredients::{Ingredients, Noted, NotedStyle, Shaping};
use tiller_steering::attachment::catalog::find;
use tiller_steering::prompt::Environment;
use tiller_steering::source::{Style, Surroundings, find_style};
use tiller_steering::user_context::git::root;
use tiller_tools::{Skill, Tool};

use super::{PromptChoice, Task};
use crate::recipe::skill_lines;
use crate::store::StoreError;

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
        let (env, prompt) = (&self.fixed.env, &self.fixed.prompt);
        let delegates = self.services.registry.names().contains(&DELEGATES);
        let agents = self.services.agents.iter().filter(|_| delegates);
        let Surroundings { date, model } = self.surroundings();
        Ingredients {
            git_repository: root(&env.cwd).is_some(),
            platform: std::env::consts::OS.to_owned(),
            os_version: os_version(),
            date,
            model,
            interactive: self.services.interactive,
            replace: prompt.replace.clone(),
            append: prompt.append.clone(),
            persona: self.fixed.persona.as_ref().map(|agent| noted(agent, &agent.prompt)),
            // What an agent is told of itself is no part of what others are told of it.
            agents: agents.flat_map(|agents| agents.definitions()).map(|agent| noted(agent, "-")).collect(),
            skills: self.skills_on_offer(),
            shaping: self.shaping(),
            streaming_tools: self.fixed.streaming_tools,
            servers: self.server_lines(),
        }
    }

    /// What changes by itself, as it is now.
    pub(super) fn surroundings(&self) -> Surroundings {
        Surroundings {
            date: self.fixed.env.now().to_zoned(jiff::tz::TimeZone::system()).date(),
            model: self.lead.borrow().main_model.clone(),
        }
    }

    /// What reminders depend on, as it is now.
    fn shaping(&self) -> Shaping {
        let steering = &self.fixed.steering;
        Shaping {
            mute: steering.mute.iter().map(|&kind| kind.to_owned()).collect(),
            style: steering.style.as_ref().map(noted_style),
            critical_reminder: steering.critical_reminder.clone(),
            vars: shaping_vars(&self.fixed.env),
        }
    }

    /// Notes what reminders depend on, if the log says something else.
    pub(super) fn note_shaping(&mut self) -> Result<(), StoreError> {
        let now = self.shaping();
        if self.services.tape.is_none() && self.journal.state.shaping.as_deref() != Some(&now) {
            self.append(Body::Effect(Effect::Shaped(now)))?;
        }
        Ok(())
    }

    fn skills_on_offer(&self) -> Vec<(String, String)> {
        if !self.services.registry.names().contains(&Skill::NAME) {
            return Vec::new();
        }
        let rules = &self.services.policy.now().rules;
        let lines = skill_lines(&self.services.recipes).into_iter();
        let lines = lines.filter(|skill| !rules.denies_named(Skill::NAME, &skill.name));
        lines.map(|skill| (skill.name, skill.description)).collect()
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
        self.services.interactive = ingredients.interactive;
        self.take_shape(&ingredients.shaping);
    }

    /// Becomes a task whose reminders depend on this.
    pub(super) fn take_shape(&mut self, shaping: &Shaping) {
        let steering = &mut self.fixed.steering;
        steering.mute = shaping.mute.iter().filter_map(|kind| find(kind)).map(|row| row.kind).collect();
        steering.style = shaping.style.as_ref().and_then(style);
        steering.critical_reminder.clone_from(&shaping.critical_reminder);
        self.fixed.env.vars = Arc::new(shaping.vars.clone());
        self.pipeline = Arc::new(self.fixed.steering.pipeline(&self.fixed.env));
    }
}

fn noted_style(style: &Style) -> NotedStyle {
    let own = find_style(&style.name, &[]).ok().flatten();
    let is_own = own.is_some_and(|own| own.guidelines == style.guidelines);
    NotedStyle { name: style.name.clone(), guidelines: (!is_own).then(|| style.guidelines.clone()) }
}

/// The style that was noted, if there still is such a style.
fn style(noted: &NotedStyle) -> Option<Style> {
    match &noted.guidelines {
        Some(guidelines) => Some(Style { name: noted.name.clone(), guidelines: guidelines.clone() }),
        None => find_style(&noted.name, &[]).ok().flatten(),
    }
}

fn shaping_vars(env: &Env) -> BTreeMap<String, String> {
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
