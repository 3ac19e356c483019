//! The host's first request: how it wants the session set up.

use serde_json::{Value, json};
use tiller_config::{AgentDefinition, Agents, McpDefinition};
use tiller_engine::matcher_problem;
use tiller_protocol::command::Command;
use tiller_protocol::hook::HostHooks;
use tiller_tools::StructuredOutput;

use super::compact;
use super::control::Terms;
use super::tally::Tally;
use crate::args::PROTOCOL_LEVEL;
use crate::extensions::OfferedRecipe;

/// What a host may ask for and Tiller does not have. Leaving it out would change what the session does, so it is refused.
const UNAVAILABLE: [&str; 4] = ["plugins", "sdkMcpServerConfigs", "toolAliases", "planModeInstructions"];

/// What the request leads to: the answer and a change of the system prompt, or why it is refused.
pub(super) fn initialize(
    request: &Value,
    tally: &Tally,
    terms: &mut Terms,
) -> Result<(Value, Vec<Command>), String> {
    let unavailable: Vec<&str> = UNAVAILABLE.into_iter().filter(|name| is_given(&request[*name])).collect();
    if !unavailable.is_empty() {
        return Err(format!(
            "initialize asks for {}, which this version of tiller does not support; leave it out",
            unavailable.join(", ")
        ));
    }
    let prompt = prompt(request)?;
    if prompt.is_some() && tally.turns > 0 {
        return Err("the system prompt can be set only before the first message".to_owned());
    }
    let hooks = hooks(&request["hooks"])?;
    let given = agents(&request["agents"])?;
    if !given.is_empty() && tally.turns > 0 {
        return Err("agents can be added only before the first message".to_owned());
    }
    let servers = servers(&request["sdkMcpServers"], tally)?;
    let skills = skills(&request["skills"], tally)?;
    let form = form(&request["jsonSchema"], tally)?;
    let on_offer = &mut terms.agents;
    on_offer.retain(|(name, _)| given.iter().all(|agent| agent.name != *name));
    let agents = (!given.is_empty()).then(|| Command::AddAgents(request["agents"].clone()));
    on_offer.extend(given.into_iter().map(|agent| (agent.name, agent.when_to_use)));
    let hooks = (!hooks.is_empty()).then_some(Command::AddHooks(hooks));
    let commands = [prompt, agents, servers, skills, form, hooks];
    Ok((answer(tally, terms), commands.into_iter().flatten().collect()))
}

/// The MCP servers that are part of the host, by their names.
fn servers(given: &Value, tally: &Tally) -> Result<Option<Command>, String> {
    if !is_given(given) {
        return Ok(None);
    }
    let names = given.as_array().and_then(|names| names.iter().map(|name| name.as_str()).collect());
    let names: Vec<&str> = names.ok_or("sdkMcpServers has to be a list of names")?;
    for name in &names {
        McpDefinition::of_host(name).map_err(|problem| format!("sdkMcpServers: {problem}"))?;
    }
    if tally.turns > 0 {
        return Err("sdkMcpServers can be added only before the first message".to_owned());
    }
    let mut once: Vec<String> = Vec::new();
    for name in names {
        if !once.iter().any(|known| known == name) {
            once.push(name.to_owned());
        }
    }
    Ok(Some(Command::AddServers(once)))
}

/// The form that results have to have.
fn form(given: &Value, tally: &Tally) -> Result<Option<Command>, String> {
    if !is_given(given) {
        return Ok(None);
    }
    if let Err(problem) = StructuredOutput::new(given.clone()) {
        return Err(format!("jsonSchema is not a valid JSON schema: {problem}"));
    }
    if tally.turns > 0 {
        return Err("jsonSchema can be set only before the first message".to_owned());
    }
    Ok(Some(Command::SetResultForm(given.clone())))
}

/// Which skills the host lets the model open: `"all"`, or a list of names.
fn skills(given: &Value, tally: &Tally) -> Result<Option<Command>, String> {
    let named = match given {
        Value::Null => return Ok(None),
        Value::String(all) if all == "all" => return Ok(None),
        Value::Array(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let named: Vec<String> = named.ok_or("skills has to be \"all\" or a list of names")?;
    if tally.turns > 0 {
        return Err("skills can be chosen only before the first message".to_owned());
    }
    Ok(Some(Command::LimitSkills(named)))
}

/// The host's agents by name. One that cannot be used is an error: the host relies on it.
fn agents(given: &Value) -> Result<Vec<AgentDefinition>, String> {
    if !is_given(given) {
        return Ok(Vec::new());
    }
    let mut agents = Agents::default();
    agents.add_given(given);
    let left_out = given.as_object().is_none_or(|named| named.len() != agents.definitions.len());
    match agents.problems.first() {
        Some(problem) if left_out => Err(problem.to_string()),
        _ => Ok(agents.definitions),
    }
}

/// Whether a field says anything: empty lists and objects do not.
fn is_given(field: &Value) -> bool {
    match field {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

/// The host's hooks by event: `{Event: [{matcher, hookCallbackIds, timeout, onFailure}]}`.
fn hooks(given: &Value) -> Result<Vec<HostHooks>, String> {
    let events = match given {
        Value::Null => return Ok(Vec::new()),
        Value::Object(events) => events,
        _ => return Err("hooks has to be an object with a list for each event".to_owned()),
    };
    let mut hooks = Vec::new();
    for (event, groups) in events {
        let groups = groups.as_array().ok_or_else(|| format!("hooks.{event} has to be a list"))?;
        for group in groups {
            if let Some(problem) = group["matcher"].as_str().and_then(matcher_problem) {
                return Err(format!("hooks.{event}: {problem}"));
            }
            let names = group["hookCallbackIds"].as_array().into_iter().flatten();
            let callbacks: Option<Vec<String>> = names.map(|name| Some(name.as_str()?.to_owned())).collect();
            hooks.push(HostHooks {
                event: event.clone(),
                matcher: group["matcher"].as_str().unwrap_or_default().to_owned(),
                callbacks: callbacks.ok_or_else(|| format!("hooks.{event}: a callback id is not a text"))?,
                timeout: group["timeout"].as_f64().map(whole_seconds),
                failure_blocks: group["onFailure"] == "block",
            });
        }
    }
    Ok(hooks)
}

/// Seconds, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole_seconds(seconds: f64) -> u64 {
    seconds.ceil().clamp(1.0, 86_400.0) as u64
}

fn prompt(request: &Value) -> Result<Option<Command>, String> {
    let replace = match &request["systemPrompt"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        parts => Some(joined(parts).ok_or("systemPrompt has to be a text or a list of texts")?),
    };
    let append = match &request["appendSystemPrompt"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        _ => return Err("appendSystemPrompt has to be a text".to_owned()),
    };
    let given = replace.is_some() || append.is_some();
    Ok(given.then_some(Command::SetPrompt { replace, append }))
}

fn joined(parts: &Value) -> Option<String> {
    let parts: Option<Vec<&str>> = parts.as_array()?.iter().map(Value::as_str).collect();
    Some(parts?.join("\n\n"))
}

fn answer(tally: &Tally, terms: &Terms) -> Value {
    let Terms { agents, offered, .. } = terms;
    let agents: Vec<Value> =
        agents.iter().map(|(name, description)| json!({"name": name, "description": description})).collect();
    let own = json!({
        "name": compact::OFFER.name, "description": compact::OFFER.description,
        "argumentHint": compact::OFFER.argument_hint,
    });
    let command = |command: &OfferedRecipe| {
        let OfferedRecipe { name, description, argument_hint, source, .. } = command;
        json!({"name": name, "description": description, "argumentHint": argument_hint, "source": source})
    };
    let commands: Vec<Value> = std::iter::once(own).chain(offered.commands().map(command)).collect();
    json!({
        "commands": commands, "agents": agents, "output_style": offered.style,
        "available_output_styles": offered.styles,
        "models": [{"value": "default", "displayName": "Default", "description": "The configured model"}],
        "account": {}, "claude_code_version": PROTOCOL_LEVEL, "pid": std::process::id(),
        "current_permission_mode": tally.state.mode, "hooks_applied": true, "hook_on_failure_supported": true,
    })
}
