//! What extends Tiller in a run: agents, slash commands, skills, output styles, plugins.

use std::path::PathBuf;

use anyhow::Context;
use tiller_config::{AgentDefinition, Extensions, Places, ProjectTrust, Recipe, Resolved, Sources};
use tiller_engine::list_hooks;
use tiller_policy::Rule;
use tiller_protocol::env::Env;
use tiller_steering::source::all_styles;

use crate::args::Args;
use crate::complain;

/// What front ends tell of all this.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offered {
    /// Skills and slash commands.
    pub(crate) recipes: Vec<OfferedRecipe>,
    /// Plugins, by name and place.
    pub(crate) plugins: Vec<(String, PathBuf)>,
    /// The output style in use.
    pub(crate) style: String,
    /// Those that can be chosen.
    pub(crate) styles: Vec<String>,
}

/// A skill or slash command that can be called for.
#[derive(Clone, Debug)]
pub(crate) struct OfferedRecipe {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) argument_hint: String,
    /// What it is and who brings it, for people.
    pub(crate) source: String,
    pub(crate) is_skill: bool,
    pub(crate) for_user: bool,
    pub(crate) for_model: bool,
}

impl Offered {
    pub(crate) fn new(extensions: &Extensions, recipes: &[Recipe], style: Option<&str>) -> Self {
        let recipe = |recipe: &Recipe| OfferedRecipe {
            name: recipe.name.clone(),
            description: recipe.description.clone(),
            argument_hint: recipe.argument_hint.clone().unwrap_or_default(),
            source: format!("{} of {}", recipe.kind(), recipe.origin.layer),
            is_skill: recipe.is_skill(),
            for_user: recipe.for_user,
            for_model: recipe.for_model,
        };
        let plugins = extensions.plugins.all.iter().map(|plugin| (plugin.name.clone(), plugin.dir.clone()));
        Self {
            recipes: recipes.iter().map(recipe).collect(),
            plugins: plugins.collect(),
            style: style.unwrap_or("default").to_owned(),
            styles: all_styles(&extensions.styles.all).into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// What the user can call for with a slash.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &OfferedRecipe> {
        self.recipes.iter().filter(|recipe| recipe.for_user)
    }

    /// The skills that the model can open.
    pub(crate) fn skills(&self) -> impl Iterator<Item = &OfferedRecipe> {
        self.recipes.iter().filter(|recipe| recipe.is_skill && recipe.for_model)
    }
}

/// What extends a run, with the agents of `--agents` and the plugins of `--plugin-dir`. What is wrong is said.
pub(crate) fn load(args: &Args, env: &Env) -> anyhow::Result<Extensions> {
    let extensions = of_session(args, env)?;
    tell(&extensions);
    Ok(extensions)
}

/// The same, if what is wrong was said before.
pub(crate) fn of_session(args: &Args, env: &Env) -> anyhow::Result<Extensions> {
    let mut extensions = of_run(args, env);
    if let Some(given) = &args.agents {
        extensions.agents.add_given(&serde_json::from_str(given).context("--agents is not JSON")?);
        extensions.agents.leave_out_broken(broken_hook);
    }
    Ok(extensions)
}

/// What the files say that count for a run.
pub(crate) fn of_run(args: &Args, env: &Env) -> Extensions {
    let sources = args.setting_sources.unwrap_or_default();
    let sources = if args.no_project_settings { sources.without_project() } else { sources };
    // As with settings, whoever starts a headless run has chosen the directory.
    let trust = args.at_terminal.unwrap_or(ProjectTrust::Full);
    let given: Vec<_> = args.plugin_dir.iter().map(|dir| env.cwd.join(dir)).collect();
    usable(Extensions::load(&Places::of(env), sources, trust, &given))
}

/// What would extend a headless run that these files count for.
pub(crate) fn found(sources: Sources, env: &Env) -> Extensions {
    found_under(ProjectTrust::Full, sources, env)
}

/// The same, if files of the project are followed so far.
pub(crate) fn found_under(trust: ProjectTrust, sources: Sources, env: &Env) -> Extensions {
    usable(Extensions::load(&Places::of(env), sources, trust, &[]))
}

/// Adds the hooks of plugins to those of settings; what is wrong with that is said. Where a policy keeps hooks to itself,
/// agents have none.
pub(crate) fn add_hooks(settings: &mut Resolved, extensions: &mut Extensions) {
    let before = settings.warnings.len();
    settings.add_hooks_of(&extensions.plugins.all);
    settings.warnings[before..].iter().for_each(|warning| complain(&format!("warning: {warning}")));
    let with_hooks = extensions.agents.definitions.iter_mut().filter(|agent| !agent.hooks.is_empty());
    for agent in with_hooks.filter(|_| settings.hooks_are_locked) {
        agent.hooks.clear();
        let text = "the managed settings lock hooks; those of the agent do not run";
        complain(&format!("warning: {}: hooks: {text}", agent.origin));
    }
}

fn broken_hook(agent: &AgentDefinition) -> Option<String> {
    list_hooks(&agent.sourced_hooks()).into_iter().find_map(|hook| hook.problem)
}

/// Folders outside of the project with files that skills and commands refer to.
pub(crate) fn readable(extensions: &Extensions) -> Vec<PathBuf> {
    let skills = extensions.recipes.all.iter().filter_map(|recipe| recipe.folder.clone());
    skills.chain(extensions.plugins.all.iter().map(|plugin| plugin.dir.clone())).collect()
}

/// Says what could not be used.
pub(crate) fn tell(extensions: &Extensions) {
    for problem in extensions.problems() {
        complain(&format!("warning: {problem}"));
    }
}

/// Without what only shows to be unusable when it is looked at by those who use it.
fn usable(mut extensions: Extensions) -> Extensions {
    let problem = |plugin: &tiller_config::Plugin| {
        let hook = list_hooks(&plugin.hooks).into_iter().find_map(|hook| hook.problem);
        hook.map(|problem| (plugin.name.clone(), problem))
    };
    let broken: Vec<(String, String)> = extensions.plugins.all.iter().filter_map(problem).collect();
    for (name, problem) in broken {
        extensions.leave_out_plugin(&name, &format!("hooks: {problem}"));
    }
    extensions.agents.leave_out_broken(broken_hook);
    let recipes = &mut extensions.recipes;
    let all = std::mem::take(&mut recipes.all);
    recipes.all = all.into_iter().filter_map(|recipe| with_rules(recipe, &mut recipes.problems)).collect();
    extensions
}

/// A recipe with rules that are understood: one that allows can be left out, one that refuses cannot.
fn with_rules(mut recipe: Recipe, problems: &mut Vec<tiller_config::Problem>) -> Option<Recipe> {
    let mut tell = |key: &str, text: String| {
        let (origin, key) = (recipe.origin.clone(), key.to_owned());
        problems.push(tiller_config::Problem { origin, place: None, key, text });
    };
    let wrong = |rule: &String| rule.parse::<Rule>().err().map(|error| error.to_string());
    if let Some(wrong) = recipe.disallowed_tools.iter().find_map(wrong) {
        tell("disallowed-tools", format!("{wrong}; the {} is left out", recipe.kind()));
        return None;
    }
    for wrong in recipe.allowed_tools.iter().filter_map(wrong) {
        tell("allowed-tools", format!("{wrong}; it is left out"));
    }
    recipe.allowed_tools.retain(|rule| rule.parse::<Rule>().is_ok());
    Some(recipe)
}
