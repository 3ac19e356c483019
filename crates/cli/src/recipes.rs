//! `tiller commands` and `tiller skills`: what can be called for.

use clap::{Parser, Subcommand};
use serde::Serialize;
use tiller_config::Recipe;
use tiller_protocol::env::Env;

use crate::exit::Exit;
use crate::scope::Scope;
use crate::text::{hanging, print};
use crate::{args, complain, extensions};

/// List slash commands, including skills that can be invoked as one.
#[derive(Debug, Parser)]
#[command(name = "tiller commands", bin_name = "tiller commands", disable_help_subcommand = true)]
struct Commands {
    #[command(subcommand)]
    action: Action,
}

/// List skills.
#[derive(Debug, Parser)]
#[command(name = "tiller skills", bin_name = "tiller skills", disable_help_subcommand = true)]
struct Skills {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them, with the file each comes from
    List {
        /// Print JSON, texts included
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        scope: Scope,
    },
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing {
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<Vec<Recipe>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<Vec<Recipe>>,
    problems: Vec<String>,
}

/// Which recipes are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Commands,
    Skills,
}

impl Kind {
    fn covers(self, recipe: &Recipe) -> bool {
        match self {
            Self::Commands => recipe.for_user,
            Self::Skills => recipe.is_skill(),
        }
    }
}

/// Runs `tiller commands` or `tiller skills`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let kind = if words.first().is_some_and(|word| word == "skills") { Kind::Skills } else { Kind::Commands };
    let parsed = match kind {
        Kind::Commands => Commands::try_parse_from(words).map(|commands| commands.action),
        Kind::Skills => Skills::try_parse_from(words).map(|skills| skills.action),
    };
    match parsed {
        Ok(Action::List { json, scope }) => list(kind, json, &scope, env),
        Err(error) => {
            error.print()?;
            Ok(args::exit_for(&error))
        }
    }
}

fn list(kind: Kind, json: bool, scope: &Scope, env: &Env) -> anyhow::Result<Exit> {
    let found = extensions::found(scope.request().sources, env).recipes;
    let mut recipes: Vec<Recipe> = found.all.into_iter().filter(|recipe| kind.covers(recipe)).collect();
    recipes.sort_by(|one, other| one.name.cmp(&other.name));
    let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    if json {
        let (commands, skills) = match kind {
            Kind::Commands => (Some(recipes), None),
            Kind::Skills => (None, Some(recipes)),
        };
        print(&serde_json::to_string_pretty(&Listing { commands, skills, problems })?)?;
        return Ok(Exit::Success);
    }
    problems.iter().for_each(|problem| complain(&format!("warning: {problem}")));
    match recipes.as_slice() {
        [] if kind == Kind::Commands => print("there are no commands")?,
        [] => print("there are no skills")?,
        recipes => recipes.iter().try_for_each(|recipe| print(&described(recipe)))?,
    }
    Ok(Exit::Success)
}

fn described(recipe: &Recipe) -> String {
    let sign = if recipe.for_user { "/" } else { "" };
    let hint = recipe.argument_hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
    let mut lines = vec![format!("{sign}{}{hint}", recipe.name), recipe.description.clone()];
    if recipe.is_skill() {
        let whom = match (recipe.for_user, recipe.for_model) {
            (true, true) => "for you and the model",
            (true, false) => "for you only",
            (false, true) => "for the model only",
            (false, false) => "for nobody",
        };
        lines.push(format!("a skill, {whom}"));
    }
    for (words, rules) in [("allows", &recipe.allowed_tools), ("refuses", &recipe.disallowed_tools)] {
        if !rules.is_empty() {
            lines.push(format!("{words}: {}", rules.join(", ")));
        }
    }
    if let Some(model) = &recipe.model {
        lines.push(format!("model: {model}"));
    }
    lines.push(format!("from: {}", recipe.origin));
    hanging("", &lines.join("\n")).replace('\n', "\n  ")
}
