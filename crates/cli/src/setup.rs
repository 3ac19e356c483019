//! From arguments, environment and settings to a session's set-up. All errors in them are reported here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value, json};
use tiller_config::{
    AgentDefinition, ModelProvider, Recipe, Resolved, Sourced, config_dir, tool_concurrency,
};
use tiller_engine::{AgentLimits, CompactionChoice, Limits, PromptChoice, Setup, Start, skill_lines, store};
use tiller_model::name::{Names, Provider, asks_for_long_context};
use tiller_model::{Catalog, Model, Thinking, anthropic};
use tiller_policy::{Rules, split_list};
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;
use tiller_protocol::state::State;
use tiller_protocol::tool::canonical;
use tiller_steering::compaction::Percent;
use tiller_tools::{AgentLine, ONLY_WITH_USER, Registry, Skill as SkillTool, SkillLine, Tool};

use crate::args::{Args, InputFormat, ThinkingArg};
use crate::extensions::Offered;
use crate::headless::{ContextTerms, SessionFacts, Terms};
use crate::inspect::find::find;
use crate::{extensions, settings, steering};

/// What a headless run is made of.
pub(crate) struct Parts {
    pub(crate) setup: Setup,
    pub(crate) facts: SessionFacts,
    pub(crate) terms: Terms,
}

/// What the suffix `[1m]` asks for.
const LONG_WINDOW: u64 = 1_000_000;

const AGENTS_CEILING_MS: u64 = 600_000;

/// Builds a set-up in which no model is asked, and none has to be reachable.
pub(crate) fn build_without_model(args: &Args, env: &Env) -> anyhow::Result<Setup> {
    let mut vars = std::collections::BTreeMap::clone(&env.vars);
    vars.entry("ANTHROPIC_API_KEY".to_owned()).or_insert_with(|| "none".to_owned());
    let env = Env { vars: Arc::new(vars), ..env.clone() };
    Ok(build(args, &env)?.setup)
}

/// Builds a session's set-up from what the user said.
pub(crate) fn build(args: &Args, env: &Env) -> anyhow::Result<Parts> {
    let prompt = prompt_choice(args, env)?;
    let config_dir = config_dir(env);
    let mut settings = settings::load(args, env)?;
    let mut extensions = extensions::load(args, env)?;
    extensions::add_hooks(&mut settings, &mut extensions);
    let names = Names::new(provider(settings.provider.value), env);
    let model_setting = Some(settings.model.value.clone());
    let main_model = names.main_model(model_setting.as_deref());
    let fallback_model = settings::fallback_model(&settings, &names, &main_model)?;
    let rules = settings::rules(&settings)?;
    let limits = limits(args, env);
    let readable = extensions::readable(&extensions);
    let steering = steering::choice(args, &settings, &extensions.styles.all);
    let recipes = permitted(extensions.recipes.all.clone(), &rules);
    let style = steering.style.as_ref().map(|style| style.name.as_str());
    let offered = Arc::new(Offered::new(&extensions, &recipes, style));
    let agents = extensions.agents.definitions;
    let interactive = interactive(args)?;
    let registry = tools(args, &rules, agent_lines(&agents, &limits), skill_lines(&recipes))?;
    // What nobody can answer is not offered.
    let registry = registry.filtered(|name| interactive || !ONLY_WITH_USER.contains(&name));
    let registry = match &args.json_schema {
        Some(form) => registry.with(form.clone()),
        None => registry,
    };
    let catalog = catalog(&settings)?;
    let window = catalog.info(&main_model).context_window;
    if asks_for_long_context(&main_model) && window < LONG_WINDOW {
        crate::complain(&format!(
            "warning: {main_model} has a window of {window} tokens; [1m] has no effect on it"
        ));
    }
    let offline = args.offline || env.flag("TILLER_OFFLINE");
    let config = anthropic::Config::from_env(env)?;
    let config = if offline { config.offline()? } else { config };
    let client = anthropic::Anthropic::new(config, catalog.clone(), env.clone())?;
    let facts = SessionFacts {
        cwd: env.cwd.clone(),
        model: main_model.clone(),
        names: names.clone(),
        model_setting: model_setting.clone(),
        tools: registry.names().into_iter().map(str::to_owned).collect(),
        agents: agents.iter().map(|agent| agent.name.clone()).collect(),
        offered: Arc::clone(&offered),
        api_key_source: if env.var("ANTHROPIC_API_KEY").is_some() { "ANTHROPIC_API_KEY" } else { "none" },
        betas: args.betas.clone(),
        catalog: catalog.clone(),
        fresh: {
            let env = env.clone();
            Box::new(move || env.fresh())
        },
    };
    let (mode, default_mode) = settings::modes(&settings)?;
    let terms = Terms {
        asks: interactive,
        bypass: settings::bypass_is_available(args, &settings),
        names: names.clone(),
        model_setting: model_setting.clone(),
        env: env.clone(),
        offered,
        agents: agents.iter().map(|agent| (agent.name.clone(), agent.when_to_use.clone())).collect(),
        context: ContextTerms { catalog, model: main_model, folds: settings.auto_compact_enabled.value },
    };
    let setup = Setup {
        start: start(args, env, &config_dir)?,
        additional_dirs: settings::additional_dirs(&settings)?,
        persist: !args.no_session_persistence,
        model: Arc::new(client) as Arc<dyn Model>,
        names,
        model_setting,
        fallback_model,
        registry,
        rules,
        sandbox: settings::sandbox(&settings),
        hooks: settings::hooks(&settings)?,
        mode,
        default_mode,
        bypass_available: terms.bypass,
        interactive,
        mask_secrets: settings.secrets.mask.value,
        offline,
        prompt,
        user_context: true,
        limits,
        agents,
        recipes,
        readable,
        streaming_tools: settings.streaming_tool_execution.value,
        stream_events: args.include_partial_messages || args.at_terminal.is_some(),
        thinking: thinking(args, env)?,
        effort: args.effort.map(Into::into),
        betas: args.betas.clone(),
        steering,
        compaction: CompactionChoice {
            automatic: settings.auto_compact_enabled.value,
            threshold: Percent::new(settings.auto_compact_threshold_pct.value),
        },
        mcp: crate::mcp::choice(args, &settings, &extensions.plugins.all, env)?,
        env: settings::variables(&settings, env),
        config_dir,
    };
    Ok(Parts { setup, facts, terms })
}

/// What is known of models: what is shipped, and what settings say.
fn catalog(settings: &Resolved) -> anyhow::Result<Catalog> {
    let row = |(id, said): (&String, &Sourced<Map<String, Value>>)| {
        let mut row = said.value.clone();
        row.insert("id".to_owned(), id.as_str().into());
        Value::Object(row)
    };
    let rows: Vec<Value> = settings.models.iter().map(row).collect();
    Catalog::with_overrides(&json!({"models": rows}).to_string()).context("the setting `models`")
}

fn provider(said: ModelProvider) -> Provider {
    match said {
        ModelProvider::FirstParty => Provider::FirstParty,
        ModelProvider::Foundry => Provider::Foundry,
        ModelProvider::Bedrock => Provider::Bedrock,
        ModelProvider::Vertex => Provider::Vertex,
    }
}

/// How the model should think. What the command line says outranks a variable, and a number of tokens says more than a
/// word, unless one of them says not at all.
fn thinking(args: &Args, env: &Env) -> anyhow::Result<Thinking> {
    let tokens = match (args.max_thinking_tokens, args.thinking) {
        (None, None) => thinking_tokens(env)?,
        (tokens, _) => tokens,
    };
    Ok(match (args.thinking, tokens) {
        (Some(ThinkingArg::Disabled), _) | (_, Some(0)) => Thinking::Off,
        (_, Some(tokens)) => Thinking::Budget(tokens),
        (Some(ThinkingArg::Adaptive), None) => Thinking::Adaptive,
        (None, None) => Thinking::ModelDefault,
    })
}

fn thinking_tokens(env: &Env) -> anyhow::Result<Option<u32>> {
    let names = ["TILLER_MAX_THINKING_TOKENS", "MAX_THINKING_TOKENS"];
    let Some((name, text)) = names.iter().find_map(|name| Some((name, env.var(name)?))) else {
        return Ok(None);
    };
    let tokens = text.trim().parse();
    tokens.map(Some).map_err(|_| anyhow!("{name} is \"{text}\", which is not a whole number; correct it"))
}

fn prompt_choice(args: &Args, env: &Env) -> anyhow::Result<PromptChoice> {
    let both = |text: &str| format!("--{text} and --{text}-file cannot be used together; use one of them");
    if args.append_system_prompt.is_some() && args.append_system_prompt_file.is_some() {
        bail!(both("append-system-prompt"));
    }
    if args.system_prompt.is_some() && args.system_prompt_file.is_some() {
        bail!(both("system-prompt"));
    }
    let from_file = |file: &Option<PathBuf>| file.as_ref().map(|file| read_prompt(env, file)).transpose();
    Ok(PromptChoice {
        replace: args.system_prompt.clone().or(from_file(&args.system_prompt_file)?),
        append: args.append_system_prompt.clone().or(from_file(&args.append_system_prompt_file)?),
    })
}

fn read_prompt(env: &Env, file: &Path) -> anyhow::Result<String> {
    let path = env.cwd.join(file);
    if !path.exists() {
        bail!("the prompt file was not found: {}", path.display());
    }
    let text = fs_err::read_to_string(&path).context("the prompt file could not be read")?;
    // Some editors put a mark in front that is no part of the text.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

fn limits(args: &Args, env: &Env) -> Limits {
    let usual = Limits::default();
    Limits {
        max_turns: args.max_turns,
        max_budget_usd: args.max_budget_usd,
        max_tokens: args.max_tokens,
        max_time: args.max_time.map(Duration::from_secs),
        concurrency: tool_concurrency(env),
        agents: AgentLimits {
            depth: args.agent_depth.unwrap_or(usual.agents.depth),
            at_once: args.max_agents.map_or(usual.agents.at_once, |agents| agents as usize),
        },
        agents_ceiling: agents_ceiling(env),
    }
}

/// How long the end of a run waits for agents in the background.
fn agents_ceiling(env: &Env) -> Option<Duration> {
    let said = env.var("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").and_then(|ms| ms.trim().parse().ok());
    match said {
        Some(0) => None,
        said => Some(Duration::from_millis(said.unwrap_or(AGENTS_CEILING_MS))),
    }
}

/// What the model is told of the agents that it can call upon.
fn agent_lines(agents: &[AgentDefinition], limits: &Limits) -> Vec<AgentLine> {
    if limits.agents.depth == 0 {
        return Vec::new();
    }
    tiller_engine::agent_lines(agents)
}

/// The recipes, of which the model cannot open those that a rule such as `Skill(name)` denies.
fn permitted(mut recipes: Vec<Recipe>, rules: &Rules) -> Vec<Recipe> {
    for recipe in &mut recipes {
        recipe.for_model &= !rules.denies_named(SkillTool::NAME, &recipe.name);
    }
    recipes
}

/// The tools on offer: those asked for, without those taken away.
fn tools(
    args: &Args,
    rules: &Rules,
    agents: Vec<AgentLine>,
    skills: Vec<SkillLine>,
) -> anyhow::Result<Registry> {
    let all = tiller_tools::agent_tools(tiller_tools::built_in(), agents);
    let all = tiller_tools::skill_tools(all, skills);
    let known = all.names();
    let wanted: Vec<String> = match args.tools.as_deref() {
        None | Some("default") => known.iter().map(|&name| name.to_owned()).collect(),
        Some(list) => split_list(list).iter().map(|name| canonical(name).to_owned()).collect(),
    };
    let unknown = wanted.iter().find(|name| !known.contains(&name.as_str()));
    if let (Some(unknown), InputFormat::StreamJson) = (unknown, args.input_format) {
        // Hosts name the tools of other versions, too.
        crate::complain(&format!("warning: there is no tool named {unknown}; it is left out"));
    } else if let Some(unknown) = unknown {
        bail!("--tools: there is no tool named {unknown}; choose from {}", known.join(", "));
    }
    let denied = |name: &str| rules.deny.iter().any(|rule| rule.tool == name && rule.content.is_none());
    Ok(all.filtered(|name| wanted.iter().any(|wanted| wanted == name) && !denied(name)))
}

/// Whether somebody can answer permission questions.
fn interactive(args: &Args) -> anyhow::Result<bool> {
    match args.permission_prompt_tool.as_deref() {
        None => Ok(args.at_terminal.is_some()),
        Some("stdio") if args.input_format == InputFormat::StreamJson => Ok(true),
        Some("stdio") => bail!("--permission-prompt-tool stdio needs --input-format stream-json"),
        Some(_) if args.at_terminal.is_some() => {
            bail!("--permission-prompt-tool is for runs in which nobody can be asked; use it with -p")
        }
        // That there is such a tool is seen to where the servers are known.
        Some(_) => Ok(false),
    }
}

/// Whether a session is named by the file with its log.
fn is_log(name: &str) -> bool {
    name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
}

/// Says where a session is that is not of this directory.
fn elsewhere(id: SessionId, env: &Env, error: store::StoreError) -> anyhow::Error {
    let Ok(log) = find(&id.to_string(), env) else { return error.into() };
    let mut state = State::default();
    if store::load_bare(&log.path, |entry| state.apply(&entry)).is_err() {
        return error.into();
    }
    anyhow!(
        "session {id} belongs to {}; continue it there, or take it along with `tiller --resume {}`",
        state.start_dir.display(),
        log.path.display()
    )
}

fn start(args: &Args, env: &Env, config_dir: &Path) -> anyhow::Result<Start> {
    let project = fs_err::canonicalize(&env.cwd)?;
    let latest = || {
        let found = store::latest(config_dir, &project).map(|found| found.id);
        found.with_context(|| format!("there is no session to continue in {}", env.cwd.display()))
    };
    if args.session_id.is_some() && !args.fork_session && (args.resume.is_some() || args.continue_latest) {
        bail!("--session-id with --resume or --continue needs --fork-session");
    }
    let existing: Option<SessionId> = match (&args.resume, args.continue_latest) {
        (Some(file), _) if is_log(file) => {
            let copy = || args.session_id.unwrap_or_else(|| SessionId(env.fresh()));
            return Ok(Start::Log { file: env.cwd.join(file), to: args.fork_session.then(copy) });
        }
        (Some(id), _) if !id.is_empty() => {
            let id = id.parse().or_else(|_| find(id, env).map(|log| log.id).context("--resume"))?;
            Some(store::find(config_dir, &project, id).map_err(|error| elsewhere(id, env, error))?.id)
        }
        (Some(_), _) | (None, true) => Some(latest()?),
        (None, false) => None,
    };
    match (existing, args.fork_session) {
        (None, true) => bail!("--fork-session needs --resume or --continue"),
        (None, false) => Ok(Start::New(args.session_id)),
        (Some(from), true) => Ok(Start::Fork { from, to: args.session_id }),
        (Some(id), false) => Ok(Start::Resume(id)),
    }
}
