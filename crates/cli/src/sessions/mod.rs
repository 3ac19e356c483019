//! `tiller sessions`: the sessions on this machine, and what they did.

mod diff;
mod export;
mod list;
mod remove;
mod search;
mod show;
mod verify;

use clap::{Parser, Subcommand};
use tiller_protocol::env::Env;

use crate::args;
use crate::exit::Exit;

pub(crate) use diff::{line, print_changes, snapshots_of, to_json as changes_to_json};

const AFTER_HELP: &str = "\
SESSION is the id of a session, the beginning of one, or `latest` for the latest session of this \
directory.

Exit codes: 0 success, 1 failure, a bad value, or (verify) a damaged log.";

/// List, show, search, compare, verify, export and remove sessions.
#[derive(Debug, Parser)]
#[command(
    name = "tiller sessions",
    bin_name = "tiller sessions",
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
struct Sessions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the sessions of this directory, latest first
    List(list::List),
    /// Show a session: its prompts, its cost, conversations left behind
    Show(show::Show),
    /// Check that logs are as they were written
    Verify(verify::Verify),
    /// Print a session as Markdown, or its log as JSON lines
    Export(export::Export),
    /// Show what a session changed in files
    Diff(diff::Diff),
    /// Search prompts and answers, ignoring case
    Search(search::Search),
    /// Remove sessions and everything that belongs to them
    Rm(remove::Remove),
}

/// Runs `tiller sessions`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let sessions = match Sessions::try_parse_from(words) {
        Ok(sessions) => sessions,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    match sessions.action {
        Action::List(list) => list.run(env),
        Action::Show(show) => show.run(env),
        Action::Verify(verify) => verify.run(env),
        Action::Export(export) => export.run(env),
        Action::Diff(diff) => diff.run(env),
        Action::Search(search) => search.run(env),
        Action::Rm(remove) => remove.run(env),
    }
}

/// A point in time as people write it, in UTC.
fn moment(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}
