//! From the fields of a definition to an agent.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tiller_protocol::mode::Mode;

use super::{AgentDefinition, Isolation};
use crate::decode::{Dialect, decode};
use crate::definition::{HookEvent, HookGroup};
use crate::document::Node;
use crate::extension::field::{Decoder, plain, wrong_name};

/// Everything a definition may say, by names that are written in several ways.
#[derive(Clone, Copy)]
enum Field {
    Name,
    Description,
    Prompt,
    Tools,
    DisallowedTools,
    Model,
    ForkContext,
    CriticalReminder,
    Isolation,
    MaxTurns,
    PermissionMode,
    Hooks,
    /// What only matters to how another agent shows it.
    Decoration,
}

impl Field {
    fn named(name: &str) -> Option<Self> {
        Some(match plain(name).as_str() {
            "name" => Self::Name,
            "description" => Self::Description,
            "prompt" => Self::Prompt,
            "tools" => Self::Tools,
            "disallowedtools" => Self::DisallowedTools,
            "model" => Self::Model,
            "forkcontext" => Self::ForkContext,
            "criticalreminder" | "criticalsystemreminder" | "criticalsystemreminderexperimental" => {
                Self::CriticalReminder
            }
            "isolation" => Self::Isolation,
            "maxturns" => Self::MaxTurns,
            "permissionmode" => Self::PermissionMode,
            "hooks" => Self::Hooks,
            "color" => Self::Decoration,
            _ => return None,
        })
    }
}

impl Decoder<'_> {
    /// A definition in a file: the text behind the fields is the prompt.
    pub(super) fn agent(
        &mut self,
        default_name: &str,
        fields: &Map<String, Value>,
        body: &str,
    ) -> Option<AgentDefinition> {
        let empty = self.empty(default_name, body);
        self.complete(fields, empty)
    }

    /// A definition that a host gives: the prompt is a field.
    pub(super) fn given_agent(&mut self, name: &str, definition: &Value) -> Option<AgentDefinition> {
        let Value::Object(fields) = definition else {
            return self
                .unusable("", "is not an object such as {\"description\": \"...\", \"prompt\": \"...\"}");
        };
        let empty = self.empty(name, "");
        self.complete(fields, empty)
    }

    fn empty(&self, name: &str, prompt: &str) -> AgentDefinition {
        AgentDefinition {
            name: name.to_owned(),
            when_to_use: String::new(),
            tools: None,
            disallowed_tools: Vec::new(),
            model: None,
            prompt: prompt.trim().to_owned(),
            fork_context: false,
            critical_reminder: None,
            isolation: None,
            max_turns: None,
            permission_mode: None,
            hooks: BTreeMap::new(),
            origin: self.origin.clone(),
        }
    }

    fn complete(
        &mut self,
        fields: &Map<String, Value>,
        mut agent: AgentDefinition,
    ) -> Option<AgentDefinition> {
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match Field::named(name) {
                Some(field) => self.field(field, name, value, &mut agent)?,
                None => self.problem(name, "is not known here and is left out"),
            }
        }
        if let Some(wrong) = wrong_name(&agent.name) {
            return self.unusable("name", &wrong);
        }
        if agent.when_to_use.is_empty() {
            return self.unusable("description", "is missing: say when to use the agent");
        }
        if agent.prompt.is_empty() {
            return self.unusable("", "has no prompt: say what the agent should do");
        }
        Some(agent)
    }

    /// Takes over one field; nothing comes back if the agent cannot be used without it.
    fn field(&mut self, field: Field, name: &str, value: &Value, agent: &mut AgentDefinition) -> Option<()> {
        match field {
            Field::Name => agent.name = self.text(name, value)?,
            Field::Description => agent.when_to_use = self.text(name, value)?,
            Field::Prompt => agent.prompt = self.text(name, value)?,
            Field::Tools => agent.tools = self.allowed(name, value)?,
            Field::DisallowedTools => agent.disallowed_tools = self.disallowed(name, value)?,
            Field::Model => agent.model = Some(self.text(name, value)?).filter(|model| !model.is_empty()),
            Field::ForkContext => agent.fork_context = self.yes_or_no(name, value)?,
            Field::CriticalReminder => agent.critical_reminder = Some(self.text(name, value)?),
            Field::Isolation => agent.isolation = self.isolation(name, value)?,
            Field::MaxTurns => agent.max_turns = Some(self.turns(name, value)?),
            Field::PermissionMode => agent.permission_mode = Some(self.mode(name, value)?),
            Field::Hooks => agent.hooks = self.hooks(name, value)?,
            Field::Decoration => {}
        }
        Some(())
    }

    fn turns(&mut self, name: &str, value: &Value) -> Option<u32> {
        let turns = value.as_u64().and_then(|turns| u32::try_from(turns).ok()).filter(|&turns| turns > 0);
        turns.or_else(|| self.unusable(name, "is not a whole number above 0"))
    }

    fn mode(&mut self, name: &str, value: &Value) -> Option<Mode> {
        let mode = value.as_str().unwrap_or_default().parse::<Mode>();
        mode.ok().or_else(|| self.unusable(name, "is not a permission mode"))
    }

    /// As in settings. The end of an agent is the end of a sub-agent, whatever its definition calls it.
    fn hooks(&mut self, name: &str, value: &Value) -> Option<BTreeMap<HookEvent, Vec<HookGroup>>> {
        let settings = Node::from(json!({"hooks": value}));
        let mut hooks = match decode(settings, self.origin, Dialect::Foreign, self.problems) {
            Ok(settings) => settings.hooks,
            // A hook may be a guard.
            Err(error) => return self.unusable(name, &error.to_string()),
        };
        let at_the_end = hooks.remove(&HookEvent::Stop).unwrap_or_default();
        if !at_the_end.is_empty() {
            hooks.entry(HookEvent::SubagentStop).or_default().extend(at_the_end);
        }
        Some(hooks)
    }

    fn isolation(&mut self, name: &str, value: &Value) -> Option<Option<Isolation>> {
        match value.as_str() {
            Some("none") => Some(None),
            Some("worktree") => Some(Some(Isolation::Worktree)),
            _ => self.unusable(name, "is neither worktree nor none"),
        }
    }

    /// The tools it may have. A part of a tool cannot be given; whoever means a part does not get the whole.
    fn allowed(&mut self, name: &str, value: &Value) -> Option<Option<Vec<String>>> {
        let mut tools = self.names(name, value)?;
        if tools.iter().any(|tool| tool == "*") {
            return Some(None);
        }
        tools.retain(|tool| {
            let whole = !tool.contains('(');
            if !whole {
                self.problem(name, &format!("{tool} is left out: tools are granted whole or not at all"));
            }
            whole
        });
        Some(Some(tools))
    }

    /// The tools it may not have: a tool of which a part is taken away is taken away.
    fn disallowed(&mut self, name: &str, value: &Value) -> Option<Vec<String>> {
        let tools = self.names(name, value)?.into_iter().map(|tool| match tool.split_once('(') {
            None => tool,
            Some((whole, _)) => {
                self.problem(name, &format!("{tool} removes {whole}: tools are removed whole"));
                whole.trim_end().to_owned()
            }
        });
        Some(tools.collect())
    }
}
