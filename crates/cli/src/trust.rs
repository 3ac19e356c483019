//! `tiller trust`: which projects may run and loosen what their settings say.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Parser;
use tiller_config::{CommandLine, Danger, Places, TrustQuestion, distrust, trusted_directories};
use tiller_protocol::env::Env;

use crate::args;
use crate::exit::Exit;
use crate::text::{hanging, print};

const AFTER_HELP: &str = "\
Without options, prints what the settings of the project would run or loosen, its agents, skills, \
commands and plugins, and remembers that you trust it. If any of this changes, you have to trust \
it again.";

/// Trust the settings of a project.
#[derive(Debug, Parser)]
#[command(name = "tiller trust", bin_name = "tiller trust", after_help = AFTER_HELP)]
struct Trust {
    /// The project [default: the current directory]
    dir: Option<PathBuf>,

    /// Only print what its settings would run or loosen
    #[arg(long, conflicts_with_all = ["list", "remove"])]
    show: bool,

    /// List the projects that you trust
    #[arg(long, conflicts_with_all = ["dir", "remove"])]
    list: bool,

    /// Stop trusting it
    #[arg(long)]
    remove: bool,
}

/// Runs `tiller trust`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let trust = match Trust::try_parse_from(words) {
        Ok(trust) => trust,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let project = trust.dir.map_or_else(|| env.cwd.clone(), |dir| env.cwd.join(dir));
    let config_dir = tiller_config::config_dir(env);
    if trust.list {
        return list(&config_dir, env);
    }
    if trust.remove {
        let said = if distrust(&config_dir, &project)? { "is no longer trusted" } else { "was not trusted" };
        print(&format!("{} {said}", project.display()))?;
        return Ok(Exit::Success);
    }
    if !project.is_dir() {
        bail!("{} is not a directory", project.display());
    }
    let Some(question) = question(&project, &CommandLine::default(), env)? else {
        print(&format!("{} needs no further trust", project.display()))?;
        return Ok(Exit::Success);
    };
    print(&to_text(&question))?;
    if !trust.show {
        question.confirm(&config_dir)?;
        print(&format!("{} is now trusted", project.display()))?;
    }
    Ok(Exit::Success)
}

/// Remembers that the user trusts the project that a run is started in.
pub(crate) fn record(request: &CommandLine, env: &Env) -> anyhow::Result<()> {
    if let Some(question) = question(&env.cwd, request, env)? {
        question.confirm(&tiller_config::config_dir(env))?;
    }
    Ok(())
}

/// What has to be asked about a project.
pub(crate) fn question(
    project: &Path,
    request: &CommandLine,
    env: &Env,
) -> anyhow::Result<Option<TrustQuestion>> {
    let project = fs_err::canonicalize(project)?;
    let env = Env { cwd: project.clone(), ..env.clone() };
    Ok(TrustQuestion::of(&Places { project, ..Places::of(&env) }, request, &env)?)
}

fn list(config_dir: &Path, env: &Env) -> anyhow::Result<Exit> {
    let trusted = trusted_directories(config_dir)?;
    if trusted.is_empty() {
        print("no directory is trusted yet")?;
    }
    for dir in trusted {
        let changed = question(&dir, &CommandLine::default(), env);
        let remark = match changed {
            _ if !dir.is_dir() => "  (no longer exists)",
            Ok(Some(_)) => "  (its settings have changed since)",
            Ok(None) => "",
            Err(_) => "  (its settings cannot be read)",
        };
        print(&format!("{}{remark}", dir.display()))?;
    }
    Ok(Exit::Success)
}

/// The question for people.
pub(crate) fn to_text(question: &TrustQuestion) -> String {
    let mut lines = vec![format!("The files of {} would", question.project.display())];
    for concern in &question.concerns {
        let danger = match concern.danger {
            Danger::Runs => "  run     ",
            Danger::Loosens => "  loosen  ",
        };
        let said = format!("{} = {}", concern.row.key, concern.row.value);
        lines.push(hanging(danger, &format!("{said}\n{}", concern.row.origin)));
    }
    lines.join("\n")
}
