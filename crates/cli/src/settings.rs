//! What the command line says in the words of settings, and what the resolved settings mean for a session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use tiller_config::{
    CommandLine, Layer, Origin, Permissions, Places, ProjectTrust, Resolved, Settings, Sourced,
};
use tiller_engine::{HookSettings, SandboxChoice, list_hooks};
use tiller_model::name::{Names, chosen, wire_id};
use tiller_policy::{Rule, Rules, Source, split_list};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;
use tiller_tools::{Skill, Task, TaskOutput, Tool};

use crate::args::Args;
use crate::{complain, trust};

/// The settings of this run. The caller of a headless run has chosen the directory, so its files count.
pub(crate) fn load(args: &Args, env: &Env) -> anyhow::Result<Resolved> {
    let request = request(args)?;
    let trust = args.at_terminal.unwrap_or(ProjectTrust::Full);
    let settings = Resolved::load(&Places::of(env), &request, env, trust)?;
    for warning in &settings.warnings {
        complain(&format!("warning: {warning}"));
    }
    if args.trust {
        trust::record(&request, env)?;
    }
    overruled("--model", request.flags.model.as_ref(), &settings.model);
    overruled(
        "--permission-mode",
        request.flags.permissions.default_mode.as_ref(),
        &settings.permissions.default_mode,
    );
    Ok(settings)
}

/// What the command line says about settings.
pub(crate) fn request(args: &Args) -> anyhow::Result<CommandLine> {
    let sources = args.setting_sources.unwrap_or_default();
    Ok(CommandLine {
        flags: flags(args)?,
        settings: args.settings.clone(),
        sources: if args.no_project_settings { sources.without_project() } else { sources },
    })
}

/// The variables that commands see: those of this process, and those that settings add.
pub(crate) fn variables(settings: &Resolved, env: &Env) -> Env {
    let mut vars = BTreeMap::clone(&env.vars);
    vars.extend(settings.env.iter().map(|(name, value)| (name.clone(), value.value.clone())));
    Env { vars: Arc::new(vars), ..env.clone() }
}

/// Options in the words of settings.
fn flags(args: &Args) -> anyhow::Result<Settings> {
    let rules = |lists: &[String]| lists.iter().flat_map(|list| split_list(list)).collect();
    Ok(Settings {
        model: args.model.as_deref().and_then(chosen).map(str::to_owned),
        fallback_model: args.fallback_model.as_deref().and_then(chosen).map(str::to_owned),
        permissions: Permissions {
            allow: rules(&args.allowed_tools),
            deny: rules(&args.disallowed_tools),
            default_mode: named_mode(args)?,
            additional_directories: args
                .add_dir
                .iter()
                .map(|dir| dir.to_string_lossy().into_owned())
                .collect(),
            ..Permissions::default()
        },
        ..Settings::default()
    })
}

fn named_mode(args: &Args) -> anyhow::Result<Option<Mode>> {
    match (args.permission_mode, args.dangerously_skip_permissions) {
        (Some(mode), true) if mode != Mode::BypassPermissions => {
            bail!("--dangerously-skip-permissions contradicts --permission-mode {mode}; use one of them")
        }
        (_, true) => Ok(Some(Mode::BypassPermissions)),
        (mode, false) => Ok(mode),
    }
}

fn overruled<T: PartialEq + std::fmt::Display>(option: &str, flag: Option<&T>, settled: &Sourced<T>) {
    if let Some(flag) = flag.filter(|flag| **flag != settled.value) {
        complain(&format!("warning: {option} {flag} is overridden by {}: {}", settled.origin, settled.value));
    }
}

/// Whether an option said it.
fn is_option(origin: &Origin) -> bool {
    origin.layer == Layer::CommandLine && origin.file.is_none()
}

pub(crate) fn fallback_model(
    settings: &Resolved,
    names: &Names,
    main_model: &str,
) -> anyhow::Result<Option<String>> {
    let Sourced { value, origin } = &settings.fallback_model;
    let value = value.as_deref().and_then(chosen);
    if value.is_some_and(|fallback| wire_id(&names.resolve(fallback)) == wire_id(main_model)) {
        match is_option(origin) {
            true => bail!("--fallback-model must differ from the main model ({main_model})"),
            false => bail!("{origin}: fallbackModel must differ from the main model ({main_model})"),
        }
    }
    Ok(value.map(str::to_owned))
}

/// The hooks of all layers. One whose matcher is not understood is an error: it may be a guard.
pub(crate) fn hooks(settings: &Resolved) -> anyhow::Result<HookSettings> {
    for hook in list_hooks(&settings.hooks) {
        if let Some(problem) = hook.problem {
            bail!("{}: hooks.{}: {problem}", hook.source, hook.event.name());
        }
    }
    Ok(settings.hooks.clone())
}

/// How commands are confined.
pub(crate) fn sandbox(settings: &Resolved) -> SandboxChoice {
    let sandbox = &settings.sandbox;
    let texts = |list: &[Sourced<String>]| list.iter().map(|text| text.value.clone()).collect();
    SandboxChoice {
        enabled: sandbox.enabled.value,
        network: sandbox.network.value,
        writable: sandbox.writable_caches.iter().map(|dir| dir.value.clone()).collect(),
        kept_variables: texts(&sandbox.keep_variables),
        excluded_commands: texts(&sandbox.excluded_commands),
        ..SandboxChoice::default()
    }
}

/// The rules of all layers. What is strange about them is said on standard error.
pub(crate) fn rules(settings: &Resolved) -> anyhow::Result<Rules> {
    let (rules, doubts) = understood(settings)?;
    for doubt in doubts {
        complain(&format!("warning: {doubt}"));
    }
    Ok(rules)
}

/// The rules of all layers, and what is strange about them. One that is not understood is an error, unless it would only
/// have allowed something.
pub(crate) fn understood(settings: &Resolved) -> anyhow::Result<(Rules, Vec<String>)> {
    let permissions = &settings.permissions;
    let mut doubts = Vec::new();
    let rules = Rules {
        allow: [parsed("allow", &permissions.allow, &mut doubts)?, domains(settings, &mut doubts)].concat(),
        ask: parsed("ask", &permissions.ask, &mut doubts)?,
        deny: parsed("deny", &permissions.deny, &mut doubts)?,
    };
    Ok((rules, doubts))
}

fn parsed(list: &str, rules: &[Sourced<String>], doubts: &mut Vec<String>) -> anyhow::Result<Vec<Rule>> {
    let mut tools = tiller_tools::built_in().names();
    // These are there if there is something to delegate to, or to open.
    tools.extend([Task::NAME, TaskOutput::NAME, Skill::NAME]);
    let mut understood = Vec::new();
    for Sourced { value, origin } in rules {
        match value.parse::<Rule>() {
            Ok(rule) => {
                doubts.extend(doubt(&rule, origin, &tools));
                doubts.extend(idle(list, &rule, origin));
                understood.push(rule.from_origin(spoken_by(origin)));
            }
            Err(error) if is_option(origin) => return Err(error.into()),
            Err(error) if list == "allow" => {
                doubts.push(format!("{origin}: permissions.{list}: {error}; it is ignored"));
            }
            Err(error) => bail!("{origin}: permissions.{list}: {error}"),
        }
    }
    Ok(understood)
}

/// What is to be said of a rule against something that does not do what it seems to.
fn idle(list: &str, rule: &Rule, origin: &Origin) -> Option<String> {
    // A skill that is denied by its name is not offered.
    let is_skill = rule.tool == Skill::NAME && list == "deny";
    let doubt = rule.doubt().filter(|_| list != "allow" && !is_skill)?;
    let place = if is_option(origin) { String::new() } else { format!("{origin}: ") };
    Some(format!("{place}permissions.{list}: {doubt}"))
}

/// What `web.allowedDomains` says, as rules.
fn domains(settings: &Resolved, doubts: &mut Vec<String>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for Sourced { value, origin } in &settings.web.allowed_domains {
        let is_domain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '*' | '[' | ']' | ':');
        match value.chars().all(is_domain).then(|| format!("WebFetch(domain:{value})").parse::<Rule>()) {
            Some(Ok(rule)) => rules.push(rule.from_origin(spoken_by(origin))),
            _ => doubts.push(format!(
                "{origin}: web.allowedDomains: \"{value}\" is not a domain such as example.org; it is ignored"
            )),
        }
    }
    rules
}

/// Whom policy names as the one who said it.
fn spoken_by(origin: &Origin) -> tiller_policy::Origin {
    let source = match origin.layer {
        Layer::Default | Layer::Environment | Layer::CommandLine => Source::Flag,
        Layer::User => Source::User,
        Layer::Project => Source::Project,
        Layer::Local => Source::Local,
        Layer::Managed => Source::Managed,
    };
    tiller_policy::Origin { source, file: origin.file.clone() }
}

/// What is strange about a rule. Files of other agents speak of tools of theirs.
pub(crate) fn doubt(rule: &Rule, origin: &Origin, tools: &[&str]) -> Option<String> {
    let is_foreign =
        origin.file.as_ref().is_some_and(|file| file.parent().is_some_and(|dir| dir.ends_with(".claude")));
    if tools.contains(&rule.tool.as_str()) || rule.tool.starts_with("mcp__") || is_foreign {
        return None;
    }
    let place = if is_option(origin) { String::new() } else { format!("{origin}: ") };
    Some(format!("{place}the rule {rule} names no tool; tools are {}", tools.join(", ")))
}

/// The mode that was named for this run, and the mode of sessions for which none was.
pub(crate) fn modes(settings: &Resolved) -> anyhow::Result<(Option<Mode>, Mode)> {
    let mode = mode(settings, None)?;
    let named = settings.permissions.default_mode.origin.layer == Layer::CommandLine;
    Ok((named.then_some(mode), mode))
}

/// The mode that was named, or else that of a new session.
pub(crate) fn mode(settings: &Resolved, named: Option<Mode>) -> anyhow::Result<Mode> {
    let mode = named.unwrap_or(settings.permissions.default_mode.value);
    let disabled = &settings.permissions.disable_bypass_permissions_mode;
    if mode == Mode::BypassPermissions && disabled.value {
        bail!("the mode {mode} is disabled by {}; choose another one", disabled.origin);
    }
    Ok(mode)
}

/// Whether the session may be switched to the mode that asks nothing.
pub(crate) fn bypass_is_available(args: &Args, settings: &Resolved) -> bool {
    let permissions = &settings.permissions;
    let wanted = permissions.default_mode.value == Mode::BypassPermissions
        || args.allow_dangerously_skip_permissions
        || args.dangerously_skip_permissions;
    wanted && !permissions.disable_bypass_permissions_mode.value
}

/// Further working directories. A setting may name one that this machine does not have.
pub(crate) fn additional_dirs(settings: &Resolved) -> anyhow::Result<Vec<PathBuf>> {
    let mut dirs = Vec::new();
    for Sourced { value: dir, origin } in &settings.permissions.additional_directories {
        match (dir.is_dir(), is_option(origin)) {
            (true, _) => dirs.push(dir.clone()),
            (false, true) => bail!("--add-dir: {} is not a directory", dir.display()),
            (false, false) => complain(&format!(
                "warning: {origin}: permissions.additionalDirectories: {} is not a directory; it is ignored",
                dir.display()
            )),
        }
    }
    Ok(dirs)
}
