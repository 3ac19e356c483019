//! `tiller config`: look at settings and change them.

use clap::{Args as Options, Parser, Subcommand};
use serde_json::Value;
use tiller_config::{CommandLine, Places, ProjectTrust, Resolved, Row, Target};
use tiller_protocol::env::Env;

use crate::exit::Exit;
use crate::text::print;
use crate::{args, complain, scope};

/// Show and change settings.
#[derive(Debug, Parser)]
#[command(name = "tiller config", bin_name = "tiller config", disable_help_subcommand = true)]
struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the effective value of a setting
    Get {
        /// The setting, for example model or permissions.deny
        key: String,
    },
    /// Write a setting to a file
    Set {
        /// The setting, for example model or permissions.deny
        key: String,
        /// Text, or JSON for anything else; null removes the setting
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        file: File,
    },
    /// Print all settings
    List {
        /// Show where each value comes from
        #[arg(long)]
        provenance: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of a settings file
    Schema,
}

#[derive(Debug, Options)]
#[group(multiple = false)]
struct File {
    /// In your settings, for all projects (the default)
    #[arg(long)]
    user: bool,
    /// In the project's settings, for everyone
    #[arg(long)]
    project: bool,
    /// In your settings for this project
    #[arg(long)]
    local: bool,
}

impl File {
    fn target(&self) -> Target {
        match (self.project, self.local) {
            (true, _) => Target::Project,
            (_, true) => Target::Local,
            _ => Target::User,
        }
    }
}

/// Runs `tiller config`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let config = match Config::try_parse_from(words) {
        Ok(config) => config,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    match config.action {
        Action::Get { key } => print(&shown(&load(env)?.get(&key)?))?,
        Action::Set { key, value, file } => set(env, &key, &value, file.target())?,
        Action::List { provenance, json } => print(&list(&load(env)?, provenance, json)?)?,
        Action::Schema => print(&serde_json::to_string_pretty(tiller_config::schema())?)?,
    }
    Ok(Exit::Success)
}

/// The settings of a session that was started with these arguments, or one of them.
pub(crate) fn of_session(key: Option<&str>, typed: &args::Args, env: &Env) -> anyhow::Result<String> {
    let settings = scope::of_session(typed, env)?;
    match key {
        Some(key) => Ok(shown(&settings.get(key)?)),
        None => list(&settings, true, false),
    }
}

fn load(env: &Env) -> anyhow::Result<Resolved> {
    let settings = Resolved::load(&Places::of(env), &CommandLine::default(), env, ProjectTrust::Full)?;
    for warning in &settings.warnings {
        complain(&format!("warning: {warning}"));
    }
    Ok(settings)
}

fn set(env: &Env, key: &str, value: &str, target: Target) -> anyhow::Result<()> {
    let places = Places::of(env);
    tiller_config::set(&places, env, target, key, value)?;
    let file = places.target(target);
    let rows = load(env)?.rows();
    let winner = rows.iter().rfind(|row| row.key == key).filter(|row| row.origin.layer > layer(target));
    if let Some(Row { value, origin, .. }) = winner.filter(|row| !row.value.is_null()) {
        complain(&format!(
            "warning: {key} is overridden: {origin} sets it to {value} and takes precedence over {}",
            file.display()
        ));
    }
    Ok(())
}

fn layer(target: Target) -> tiller_config::Layer {
    match target {
        Target::User => tiller_config::Layer::User,
        Target::Project => tiller_config::Layer::Project,
        Target::Local => tiller_config::Layer::Local,
    }
}

fn list(settings: &Resolved, provenance: bool, json: bool) -> anyhow::Result<String> {
    match (json, provenance) {
        (true, true) => Ok(serde_json::to_string_pretty(&settings.rows())?),
        (true, false) => Ok(serde_json::to_string_pretty(&settings.values())?),
        (false, _) => {
            let lines = settings.rows().into_iter().filter(|row| !row.value.is_null()).map(|row| {
                let Row { key, value, origin } = row;
                match (provenance, &origin.file) {
                    (false, _) => format!("{key} = {value}"),
                    (true, None) => format!("{key} = {value}  ({})", origin.layer),
                    (true, Some(file)) => format!("{key} = {value}  ({}: {})", origin.layer, file.display()),
                }
            });
            Ok(lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Text as it is, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}
