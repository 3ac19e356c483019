//! `tiller replay`: a session run again from its log, offline, and held against what was recorded.

mod copy;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;
use serde_json::json;
use tiller_config::{CommandLine, Places, ProjectTrust, Resolved};
use tiller_engine::replay::{Replay, Report};
use tiller_engine::store;
use tiller_protocol::env::Env;
use tiller_protocol::state::State;

use crate::args;
use crate::exit::Exit;
use crate::inspect::{find, visible};
use crate::text::{hanging, print};
use copy::WorkingCopies;

const AFTER_HELP: &str = "\
SESSION is the id of a session, the beginning of one, `latest`, a log, or a directory made with \
--export. Every turn is run again by the loop of this version, from the recorded state before it. \
The model's answers, the results of calls, hooks and all other outside input are taken from the \
log; prompts, tools, reminders and requests are produced again and compared. Nothing is contacted, \
and neither the session nor the working directory is touched.

Exit codes: 0 no difference, 1 the session could not be replayed, 9 there is a difference.";

/// Run a session again from its log, offline, and report the first difference.
#[derive(Debug, Parser)]
#[command(name = "tiller replay", bin_name = "tiller replay", after_help = AFTER_HELP)]
struct Command {
    /// The session
    session: String,

    /// Stop after this many steps (requests to the model)
    #[arg(long, value_name = "N")]
    until: Option<usize>,

    /// Run file tools and commands for real, confined to a copy of the working directory, and compare their results
    #[arg(long)]
    live_tools: bool,

    /// Write everything that a replay needs to a new directory, without credentials, instead of replaying
    #[arg(long, value_name = "DIR", conflicts_with_all = ["until", "live_tools"])]
    export: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `tiller replay`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let command = match Command::try_parse_from(words) {
        Ok(command) => command,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let replay = find_recording(&command.session, env)?;
    match &command.export {
        Some(dir) => command.export(&replay, &env.cwd.join(dir), env),
        None => command.replay(replay, env),
    }
}

/// What is meant: a directory, a log, or a session by its name.
fn find_recording(wanted: &str, env: &Env) -> anyhow::Result<Replay> {
    let path = env.cwd.join(wanted);
    if path.is_dir() {
        return Replay::exported(&path, env).with_context(|| {
            format!(
                "{} contains no recording; `tiller replay --export DIR SESSION` creates one",
                path.display()
            )
        });
    }
    if path.is_file() {
        return Ok(Replay::of(&path, env));
    }
    Ok(Replay::of(&find::find(wanted, env)?.path, env))
}

/// The variables that settings added to what commands of the session saw. Settings that cannot be read are an error:
/// what they hold could not be masked.
fn variables_of_settings(log: &Path, env: &Env) -> anyhow::Result<BTreeMap<String, String>> {
    let mut state = State::default();
    store::load(log, |entry| state.apply(&entry))?;
    let there = Env { cwd: state.start_dir, ..env.clone() };
    let settings = Resolved::load(&Places::of(&there), &CommandLine::default(), &there, ProjectTrust::Full)?;
    Ok(settings.env.into_iter().map(|(name, value)| (name, value.value)).collect())
}

impl Command {
    fn export(&self, replay: &Replay, dir: &Path, env: &Env) -> anyhow::Result<Exit> {
        let exported = replay.export(dir, &variables_of_settings(&replay.log, env)?)?;
        if self.json {
            let (logs, masked, lost) = (exported.logs, exported.masked, exported.lost);
            let told = json!({"dir": dir, "logs": logs, "maskedLines": masked, "lost": lost});
            print(&told.to_string())?;
            return Ok(Exit::Success);
        }
        for what in &exported.lost {
            print(&hanging("lost: ", what))?;
        }
        let masked = match exported.masked {
            0 => "no credentials were found in it".to_owned(),
            lines => format!("credentials were masked in {lines} lines"),
        };
        let dir = dir.display();
        print(&hanging(
            "",
            &format!(
                "wrote {dir}; {masked}. Look through it before you share it: it contains the \
            whole conversation. `tiller replay {dir}` replays it."
            ),
        ))?;
        Ok(Exit::Success)
    }

    fn replay(&self, mut replay: Replay, env: &Env) -> anyhow::Result<Exit> {
        if self.until == Some(0) {
            bail!("--until counts steps from 1");
        }
        replay.until = self.until;
        // It is removed when the replay is over.
        let copy = self.live_tools.then(|| WorkingCopies::make(&replay.log, env)).transpose()?;
        replay.live = copy.as_ref().map(WorkingCopies::live_tools);
        let report = crate::runtime()?.block_on(replay.run())?;
        if report.steps == 0 && report.difference.is_none() {
            bail!("no request to a model is recorded in {}", replay.log.display());
        }
        match self.json {
            true => print(&to_json(&report).to_string())?,
            false => self.tell(&report)?,
        }
        Ok(if report.difference.is_some() { Exit::Different } else { Exit::Success })
    }

    fn tell(&self, report: &Report) -> anyhow::Result<()> {
        let plural =
            |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let mut done = format!("{} in {}", plural(report.steps, "step"), plural(report.turns, "turn"));
        if report.agents > 0 {
            done.push_str(&format!(", with {}", plural(report.agents, "sub-agent")));
        }
        if self.live_tools {
            done.push_str(&format!(", {} run again", plural(report.calls, "call")));
        }
        for what in &report.unchecked {
            print(&hanging("not compared: ", what))?;
        }
        match &report.difference {
            None => print(&format!("{done}: no difference"))?,
            Some(difference) => {
                print(&format!("{done}: the first difference is at"))?;
                print(&visible(&difference.to_string()))?;
            }
        }
        Ok(())
    }
}

fn to_json(report: &Report) -> serde_json::Value {
    let difference = report.difference.as_ref().map(|difference| {
        json!({
            "agent": difference.agent,
            "step": difference.step,
            "prompt": difference.prompt,
            "part": difference.part,
            "recorded": difference.expected,
            "now": difference.actual,
        })
    });
    json!({
        "steps": report.steps,
        "turns": report.turns,
        "agents": report.agents,
        "calls": report.calls,
        "difference": difference,
        "notCompared": report.unchecked,
    })
}
