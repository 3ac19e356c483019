//! `tiller plans`: the plans of sessions, and how they came about.

use std::path::Path;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};
use tiller_engine::plan::{Plans, Slug};
use tiller_engine::store;
use tiller_protocol::effect::{Effect, PlanMoment, PlanVersion};
use tiller_protocol::entry::Body;
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;
use tiller_tools::{plan_file, unified_diff};

use crate::args;
use crate::exit::Exit;
use crate::text::print;

const AFTER_HELP: &str = "\
PLAN is the name of a plan or its beginning, or the beginning of a session id; the default is the \
latest plan of this directory. Versions are counted from 1: one for each time that the plan was \
written, presented, approved or refused.";

/// Show the plans made in this directory and how they changed.
#[derive(Debug, Parser)]
#[command(name = "tiller plans", bin_name = "tiller plans", after_help = AFTER_HELP)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the plans, latest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a plan from its file, or one of its versions
    Show {
        /// The plan
        plan: Option<String>,
        /// The version
        #[arg(long, value_name = "N")]
        version: Option<usize>,
    },
    /// Print what changed between two versions; without numbers, between the last two that differ
    Diff {
        /// The plan
        plan: Option<String>,
        /// The earlier version
        #[arg(long, value_name = "N")]
        from: Option<usize>,
        /// The later version
        #[arg(long, value_name = "N")]
        to: Option<usize>,
    },
}

/// What a session's log tells of its plan.
struct Kept {
    slug: Slug,
    session: SessionId,
    title: String,
    versions: Vec<(Timestamp, PlanVersion)>,
}

/// Runs `tiller plans`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let command = match Command::try_parse_from(words) {
        Ok(command) => command,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let config_dir = tiller_config::config_dir(env);
    let plans = Plans::in_dir(&config_dir);
    let all = kept(&config_dir, &plans, env)?;
    match command.action {
        Action::List { json: true } => {
            let list: Vec<Value> = all.iter().map(|kept| as_json(kept, &plans)).collect();
            print(&serde_json::to_string_pretty(&list)?)?;
        }
        Action::List { json: false } if all.is_empty() => print("there are no plans in this directory yet")?,
        Action::List { json: false } => {
            for kept in &all {
                print(&as_line(kept, &plans))?;
            }
        }
        Action::Show { plan, version } => {
            print(show(wanted(&all, plan.as_deref())?, version, &plans)?.trim_end())?;
        }
        Action::Diff { plan, from, to } => print(diff(wanted(&all, plan.as_deref())?, from, to)?.trim_end())?,
    }
    Ok(Exit::Success)
}

/// The plans of the sessions in this directory, the latest first. A name alone is no plan.
fn kept(config_dir: &Path, plans: &Plans, env: &Env) -> anyhow::Result<Vec<Kept>> {
    let project = fs_err::canonicalize(&env.cwd)?;
    let mut all = Vec::new();
    for session in store::list(config_dir, &project) {
        let (mut slug, mut versions) = (None, Vec::new());
        store::load(&session.log, |entry| match entry.body {
            Body::Effect(Effect::SetPlan { slug: named }) => slug = Slug::parse(&named),
            Body::Effect(Effect::PlanKept(version)) => versions.push((entry.at, version)),
            _ => {}
        })?;
        if let Some(slug) = slug.filter(|slug| !versions.is_empty() || plans.file(slug).exists()) {
            all.push(Kept { slug, session: session.id, title: session.title, versions });
        }
    }
    Ok(all)
}

fn wanted<'a>(all: &'a [Kept], name: Option<&str>) -> anyhow::Result<&'a Kept> {
    let Some(name) = name else {
        return all.first().context("there is no plan in this directory yet");
    };
    let is_meant = |kept: &&Kept| {
        kept.slug.as_str().starts_with(name) || kept.session.to_string().starts_with(&name.to_lowercase())
    };
    let meant: Vec<&Kept> = all.iter().filter(is_meant).collect();
    match meant.as_slice() {
        [only] => Ok(only),
        [] => bail!("no plan in this directory begins with \"{name}\"; `tiller plans list` prints them"),
        many => {
            let names: Vec<&str> = many.iter().map(|kept| kept.slug.as_str()).collect();
            bail!("several plans begin with \"{name}\": {}; give more of the name", names.join(", "))
        }
    }
}

fn show(kept: &Kept, version: Option<usize>, plans: &Plans) -> anyhow::Result<String> {
    if let Some(number) = version {
        return Ok(numbered(kept, number)?.content.clone());
    }
    let in_file = plan_file::read(&plans.file(&kept.slug));
    let last = || kept.versions.last().map(|(_, version)| version.content.clone());
    in_file.or_else(last).with_context(|| format!("{} was never written", kept.slug))
}

fn diff(kept: &Kept, from: Option<usize>, to: Option<usize>) -> anyhow::Result<String> {
    let to = to.unwrap_or(kept.versions.len());
    let later = numbered(kept, to)?;
    let differs = |(_, version): &(usize, &(Timestamp, PlanVersion))| version.1.content != later.content;
    let before =
        || kept.versions.iter().take(to - 1).enumerate().filter(differs).map(|(at, _)| at + 1).next_back();
    let Some(from) = from.or_else(before) else {
        return Ok(format!("there is no version of {} before {to} that differs", kept.slug));
    };
    let earlier = numbered(kept, from)?;
    let name =
        |number: usize, version: &PlanVersion| format!("version {number} ({})", version.moment.words());
    Ok(unified_diff(&earlier.content, &later.content, &name(from, earlier), &name(to, later)))
}

fn numbered(kept: &Kept, number: usize) -> anyhow::Result<&PlanVersion> {
    let version = number.checked_sub(1).and_then(|at| kept.versions.get(at));
    let version = version.map(|(_, version)| version);
    version.with_context(|| match kept.versions.len() {
        0 => format!("{} was never written", kept.slug),
        count => format!("{} has no version {number}; there are {count}", kept.slug),
    })
}

fn as_line(kept: &Kept, plans: &Plans) -> String {
    let state = kept.versions.last().map_or("not written", |(_, version)| version.moment.words());
    let missing = if plans.file(&kept.slug).exists() { "" } else { ", file is gone" };
    let versions = match kept.versions.len() {
        1 => " 1 version".to_owned(),
        count => format!("{count:>2} versions"),
    };
    format!("{:<28}  {versions}, {state}{missing}  {}", kept.slug, kept.title)
}

fn as_json(kept: &Kept, plans: &Plans) -> Value {
    let version = |(at, version): &(Timestamp, PlanVersion)| json!({"at": at, "moment": version.moment, "characters": version.content.chars().count()});
    let approved = kept.versions.iter().any(|(_, version)| version.moment == PlanMoment::Approved);
    let file = plans.file(&kept.slug);
    json!({
        "name": kept.slug.as_str(), "session": kept.session, "title": kept.title, "approved": approved,
        "exists": file.exists(), "file": file, "versions": kept.versions.iter().map(version).collect::<Vec<_>>(),
    })
}
