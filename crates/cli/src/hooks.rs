//! `tiller hooks`: which hooks there are, and what they would do.

use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use serde_json::{Map, Value};
use tiller_config::HookEvent;
use tiller_engine::{HookTrial, ListedHook, TrialReport, TriedHook, TriedRun, list_hooks};
use tiller_model::name::{Names, Provider};
use tiller_model::{Catalog, Model, anthropic};
use tiller_protocol::env::Env;

use crate::exit::Exit;
use crate::scope::{self, Scope};
use crate::text::{hanging, print};
use crate::{args, extensions, settings};

const NONE: &str =
    "there are no hooks; \"hooks\" in .tiller/settings.json, or in your own settings, adds some";

const AFTER_HELP: &str = "\
Exit codes of `tiller hooks test`:
  0 every hook ran correctly (blocking counts as correct)
  1 a bad value, or settings that cannot be read
  4 a hook failed, or its matcher is invalid";

/// List hooks and try them out.
#[derive(Debug, Parser)]
#[command(
    name = "tiller hooks",
    bin_name = "tiller hooks",
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
struct Hooks {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the hooks in effect, with the file each comes from
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        scope: Scope,
    },
    /// Really run the hooks of an event on a made-up case, and say what they would do
    Test(Test),
}

#[derive(Debug, clap::Args)]
struct Test {
    /// The event, for example PreToolUse
    #[arg(value_parser = event)]
    event: HookEvent,

    /// The value that matchers are compared with: a tool, a source, an agent type...
    #[arg(long, value_name = "VALUE")]
    matcher_value: Option<String>,

    /// Fields of the hooks' input, for example '{"tool_input": {"command": "rm x"}}'
    #[arg(long, value_name = "JSON")]
    input: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    scope: Scope,
}

fn event(name: &str) -> Result<HookEvent, String> {
    let names = HookEvent::ALL.map(HookEvent::name).join(", ");
    let named = HookEvent::ALL.into_iter().find(|event| event.name() == name);
    named.ok_or_else(|| format!("no such event; choose from {names}"))
}

/// Runs `tiller hooks`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let hooks = match Hooks::try_parse_from(words) {
        Ok(hooks) => hooks,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    match hooks.action {
        Action::List { json, scope } => {
            let hooks = list_hooks(&scope.load(env)?.hooks);
            print(&if json { serde_json::to_string_pretty(&hooks)? } else { listed(&hooks) })?;
            Ok(Exit::Success)
        }
        Action::Test(test) => crate::runtime()?.block_on(test.run(env)),
    }
}

/// The hooks that count in a session that was started with these arguments: those of its files, options and plugins.
pub(crate) fn of_session(typed: &args::Args, env: &Env) -> anyhow::Result<String> {
    let mut settings = scope::of_session(typed, env)?;
    settings.add_hooks_of(&extensions::of_run(typed, env).plugins.all);
    Ok(listed(&list_hooks(&settings.hooks)))
}

fn listed(hooks: &[ListedHook]) -> String {
    match hooks {
        [] => NONE.to_owned(),
        hooks => hooks.iter().map(described).collect::<Vec<_>>().join("\n"),
    }
}

impl Test {
    async fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let input = self.input.as_deref().map_or_else(|| Ok(Map::new()), fields)?;
        let settings = self.scope.load(env)?;
        let asks =
            list_hooks(&settings.hooks).iter().any(|hook| hook.event == self.event && hook.kind == "prompt");
        let model = if asks { Some(small_model(env)?) } else { None };
        let trial = HookTrial {
            settings: &settings.hooks,
            event: self.event,
            subject: self.matcher_value,
            input,
            env: &settings::variables(&settings, env),
            model,
        };
        let report = trial.run().await;
        match self.json {
            true => print(&serde_json::to_string_pretty(&report)?)?,
            false => print(&told(&report))?,
        }
        let behaved =
            |hook: &TriedHook| hook.hook.problem.is_none() && hook.run.as_ref().is_none_or(|run| run.behaved);
        Ok(if report.hooks.iter().all(behaved) { Exit::Success } else { Exit::HookFailed })
    }
}

fn fields(text: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(text).context("--input is not JSON")? {
        Value::Object(fields) => Ok(fields),
        _ => {
            bail!("--input has to be an object, for example '{{\"tool_input\": {{\"command\": \"rm x\"}}}}'")
        }
    }
}

/// Prompt hooks ask the model that a session would ask.
fn small_model(env: &Env) -> anyhow::Result<(Arc<dyn Model>, String)> {
    let client =
        anthropic::Anthropic::new(anthropic::Config::from_env(env)?, Catalog::shipped()?, env.clone())?;
    Ok((Arc::new(client), Names::new(Provider::FirstParty, env).small_fast))
}

fn described(hook: &ListedHook) -> String {
    let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
    let mut text = format!("{} {matcher}: {}\n({}, {}", hook.event.name(), hook.hook, hook.kind, hook.source);
    if hook.detached {
        text.push_str(", async");
    }
    if hook.on_failure == tiller_config::OnFailure::Block {
        text.push_str(", blocks on failure");
    }
    text.push_str(&format!(", at most {} s)", hook.timeout));
    if let Some(problem) = &hook.problem {
        text.push_str(&format!("\nnever runs: {problem}"));
    }
    hanging("", &text).replace('\n', "\n  ")
}

/// A trial for people.
fn told(report: &TrialReport) -> String {
    if report.hooks.is_empty() {
        return format!("there are no hooks for {}", report.event.name());
    }
    let tried = |TriedHook { hook, matched, run }: &TriedHook| {
        let came = match (matched, run) {
            (false, _) => "  does not match".to_owned(),
            (true, None) => "  the same as one above; it runs once".to_owned(),
            (true, Some(run)) => of_run(run),
        };
        format!("{}\n{came}", described(hook))
    };
    report.hooks.iter().map(tried).collect::<Vec<_>>().join("\n\n")
}

fn of_run(run: &TriedRun) -> String {
    let code = run.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let mut lines = vec![format!("  {}{code}, {} ms", run.end, run.duration_ms)];
    for (name, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        if !text.trim().is_empty() {
            lines.push(hanging(&format!("  {name}: "), text.trim_end()));
        }
    }
    lines.extend(run.meaning.iter().map(|meaning| hanging("  -> ", meaning)));
    lines.join("\n")
}
