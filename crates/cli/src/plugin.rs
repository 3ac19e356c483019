//! `tiller plugin`: folders that bring commands, agents, skills, output styles, hooks and MCP servers.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use tiller_config::{Extensions, Occupied, Origin, Plugin, add_plugin, config_dir, remove_plugin};
use tiller_protocol::env::Env;

use crate::exit::Exit;
use crate::scope::Scope;
use crate::text::{hanging, print};
use crate::{args, complain, extensions};

const AFTER_HELP: &str = "\
`add` copies the folder, so later changes to it have no effect. Hooks and MCP servers of a plugin \
run without further questions, so check what `add` prints.";

/// Install, list and remove plugins.
#[derive(Debug, Parser)]
#[command(name = "tiller plugin", bin_name = "tiller plugin", disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Install a plugin
    Add {
        /// The plugin's folder
        path: PathBuf,
        /// Replace an installed plugin of the same name
        #[arg(long)]
        replace: bool,
    },
    /// List plugins and their contents
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        scope: Scope,
    },
    /// Remove one of your plugins
    Remove {
        /// Its name
        name: String,
    },
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing {
    plugins: Vec<Value>,
    problems: Vec<String>,
}

/// Runs `tiller plugin`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let command = match Command::try_parse_from(words) {
        Ok(command) => command,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    match command.action {
        Action::Add { path, replace } => {
            let occupied = if replace { Occupied::Replace } else { Occupied::Refuse };
            let added = add_plugin(&config_dir(env), &env.cwd.join(path), occupied)?;
            let all = extensions::found(tiller_config::Sources::default(), env);
            print(&format!("added {}", described(&added, &all)))?;
            tell_of(&added.dir, &all);
            Ok(Exit::Success)
        }
        Action::List { json, scope } => list(json, &scope, env),
        Action::Remove { name } => match remove_plugin(&config_dir(env), &name)? {
            true => {
                print(&format!("removed {name}"))?;
                Ok(Exit::Success)
            }
            false => {
                anyhow::bail!("you have no plugin named {name}; `tiller plugin list` lists them")
            }
        },
    }
}

fn list(json: bool, scope: &Scope, env: &Env) -> anyhow::Result<Exit> {
    let all = extensions::found(scope.request().sources, env);
    let plugins = &all.plugins.all;
    if json {
        let listing = Listing {
            plugins: plugins.iter().map(|plugin| to_json(plugin, &all)).collect(),
            problems: all.plugins.problems.iter().map(ToString::to_string).collect(),
        };
        print(&serde_json::to_string_pretty(&listing)?)?;
        return Ok(Exit::Success);
    }
    all.plugins.problems.iter().for_each(|problem| complain(&format!("warning: {problem}")));
    if plugins.is_empty() {
        print("there are no plugins")?;
    }
    plugins.iter().try_for_each(|plugin| print(&described(plugin, &all)))?;
    Ok(Exit::Success)
}

/// Says what is wrong with a plugin.
fn tell_of(dir: &std::path::Path, all: &Extensions) {
    let is_its = |origin: &Origin| origin.file.as_ref().is_some_and(|file| file.starts_with(dir));
    for problem in all.problems().filter(|problem| is_its(&problem.origin)) {
        complain(&format!("warning: {problem}"));
    }
}

/// What a plugin brings, by kind.
fn brought(plugin: &Plugin, all: &Extensions) -> [(&'static str, Vec<String>); 6] {
    let is_its = |origin: &Origin| origin.file.as_ref().is_some_and(|file| file.starts_with(&plugin.dir));
    let recipes = |skills: bool| {
        let its =
            all.recipes.all.iter().filter(|recipe| is_its(&recipe.origin) && recipe.is_skill() == skills);
        its.map(|recipe| recipe.name.clone()).collect()
    };
    let agents = all.agents.definitions.iter().filter(|agent| is_its(&agent.origin));
    let styles = all.styles.all.iter().filter(|style| is_its(&style.origin));
    [
        ("commands", recipes(false)),
        ("skills", recipes(true)),
        ("agents", agents.map(|agent| agent.name.clone()).collect()),
        ("output styles", styles.map(|style| style.name.clone()).collect()),
        ("hooks", plugin.hooks.keys().map(|event| event.name().to_owned()).collect()),
        ("MCP servers", plugin.mcp_servers.keys().cloned().collect()),
    ]
}

fn described(plugin: &Plugin, all: &Extensions) -> String {
    let version = plugin.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut lines = vec![format!("{}{version}", plugin.name)];
    lines.extend((!plugin.description.is_empty()).then(|| plugin.description.clone()));
    let brought = brought(plugin, all).into_iter().filter(|(_, names)| !names.is_empty());
    lines.extend(brought.map(|(kind, names)| format!("{kind}: {}", names.join(", "))));
    lines.push(format!("from: {} ({})", plugin.dir.display(), plugin.origin.layer));
    hanging("", &lines.join("\n")).replace('\n', "\n  ")
}

fn to_json(plugin: &Plugin, all: &Extensions) -> Value {
    let brought: serde_json::Map<String, Value> =
        brought(plugin, all).into_iter().map(|(kind, names)| (kind.to_owned(), json!(names))).collect();
    json!({
        "name": plugin.name, "version": plugin.version, "description": plugin.description, "dir": plugin.dir,
        "layer": plugin.origin.layer, "brings": brought, "hooks": plugin.hooks, "mcpServers": plugin.mcp_servers,
    })
}
