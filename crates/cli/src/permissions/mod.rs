//! `tiller permissions`: what would be decided, why, and whether that is what was meant.

mod batch;
mod examples;
mod explain;
mod input;
mod judge;
mod list;
mod told;

use clap::{Parser, Subcommand};
use tiller_protocol::env::Env;

use crate::args;
use crate::exit::Exit;

pub(crate) use list::of_session;

/// Ask what would be allowed and why; test your rules.
#[derive(Debug, Parser)]
#[command(name = "tiller permissions", bin_name = "tiller permissions", disable_help_subcommand = true)]
struct Permissions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show what would be decided about a call, and why
    Explain(explain::Explain),
    /// Check the examples in the settings (permissions.tests)
    Test(examples::Test),
    /// List the rules in effect, with the file each comes from
    List(list::List),
}

/// Runs `tiller permissions`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let permissions = match Permissions::try_parse_from(words) {
        Ok(permissions) => permissions,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    match permissions.action {
        Action::Explain(explain) => explain.run(env),
        Action::Test(test) => test.run(env),
        Action::List(list) => list.run(env),
    }
}
