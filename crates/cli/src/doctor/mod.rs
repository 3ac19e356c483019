//! `tiller doctor`: what Tiller finds on this machine, and what to do about it. Nothing is contacted and nothing is
//! changed.

pub(crate) mod confinement;
mod finding;
mod model;
mod network;
mod project;
mod surroundings;

use clap::Parser;
use serde_json::json;
use tiller_config::{CommandLine, Places, ProjectTrust, Resolved};
use tiller_protocol::env::Env;

use crate::exit::Exit;
use crate::scope::Scope;
use crate::text::print;
use crate::{args, settings};
use finding::{Finding, Grade};

const AFTER_HELP: &str = "\
Nothing is contacted and nothing is changed. The exit code is 1 if a check fails; warnings do not \
count as failures.";

/// Check Tiller's setup on this machine and in this directory.
#[derive(Debug, Parser)]
#[command(name = "tiller doctor", bin_name = "tiller doctor", after_help = AFTER_HELP)]
struct Doctor {
    /// List what Tiller itself may connect to, and why
    #[arg(long)]
    network: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    scope: Scope,
}

/// Runs `tiller doctor`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let doctor = match Doctor::try_parse_from(words) {
        Ok(doctor) => doctor,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    if doctor.network { doctor.destinations(env) } else { doctor.examine(env) }
}

/// How a session stands that was started with these arguments.
pub(crate) fn of_session(typed: &args::Args, env: &Env) -> anyhow::Result<String> {
    let trust = typed.at_terminal.unwrap_or(ProjectTrust::Full);
    Ok(finding::to_text(&findings(&settings::request(typed)?, trust, env)))
}

fn findings(request: &CommandLine, trust: ProjectTrust, env: &Env) -> Vec<Finding> {
    let settings = Resolved::load(&Places::of(env), request, env, trust);
    let mut findings = confinement::examine();
    findings.extend(project::examine(env, request, settings.as_ref()));
    findings.extend(model::examine(env, settings.as_ref().ok()));
    findings.extend(surroundings::examine(env));
    findings
}

impl Doctor {
    fn examine(&self, env: &Env) -> anyhow::Result<Exit> {
        let findings = findings(&self.scope.request(), ProjectTrust::Full, env);
        let failed = findings.iter().any(|finding| finding.grade == Grade::Fail);
        if self.json {
            print(&json!({"confinement": confinement::facts(), "findings": findings}).to_string())?;
        } else {
            print(&finding::to_text(&findings))?;
        }
        Ok(if failed { Exit::Failure } else { Exit::Success })
    }

    fn destinations(&self, env: &Env) -> anyhow::Result<Exit> {
        let settings = self.scope.load(env)?;
        let servers = crate::mcp::configured(&settings, self.scope.request().sources, env)?;
        let destinations = network::destinations(env, &settings, &servers.definitions)?;
        print(&match self.json {
            true => json!({"destinations": destinations}).to_string(),
            false => network::to_text(&destinations),
        })?;
        Ok(Exit::Success)
    }
}
