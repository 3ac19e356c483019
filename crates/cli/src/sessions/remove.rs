//! `tiller sessions rm`.

use anyhow::bail;
use serde_json::json;
use tiller_engine::store;
use tiller_engine::undo::{Outline, collect_snapshots};
use tiller_protocol::env::Env;
use tiller_protocol::state::State;

use crate::exit::Exit;
use crate::inspect::{find, size};
use crate::text::print;

/// Characters of an id that have to be given at least.
const LEAST: usize = 8;

#[derive(Debug, clap::Args)]
pub(super) struct Remove {
    /// The sessions
    #[arg(required = true)]
    sessions: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Remove {
    pub(super) fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        let config_dir = tiller_config::config_dir(env);
        // All names are understood before anything is removed.
        let logs =
            self.sessions.iter().map(|name| to_remove(name, env)).collect::<anyhow::Result<Vec<_>>>()?;
        let mut freed = 0;
        for log in &logs {
            let mut state = State::default();
            store::load_bare(&log.path, |entry| state.apply(&entry))?;
            let had_snapshots = Outline::read(&log.path)?.snapshots().next().is_some();
            freed += store::remove(&config_dir, &log.path, log.id)?;
            if had_snapshots {
                freed += tidy(&config_dir, &state, env);
            }
        }
        let ids: Vec<String> = logs.iter().map(|log| log.id.to_string()).collect();
        match self.json {
            true => print(&json!({"removed": ids, "bytes": freed}).to_string())?,
            false => {
                ids.iter().try_for_each(|id| print(&format!("removed {id}")))?;
                print(&format!("{} freed", size(freed)))?;
            }
        }
        Ok(Exit::Success)
    }
}

/// What is removed is gone for good, so a few letters that happen to fit are not enough.
fn to_remove(name: &str, env: &Env) -> anyhow::Result<find::Log> {
    if name != "latest" && name.len() < LEAST && !name.is_empty() {
        bail!("\"{name}\" is too short to remove a session: give at least {LEAST} characters of its id");
    }
    find::find(name, env)
}

/// Snapshots that cannot be let go of now are let go of with the next session that is removed.
fn tidy(config_dir: &std::path::Path, state: &State, env: &Env) -> u64 {
    let project = fs_err::canonicalize(&state.start_dir).unwrap_or_else(|_| state.start_dir.clone());
    collect_snapshots(config_dir, &project, env).unwrap_or_else(|error| {
        crate::complain(&format!("snapshots of the session are still there: {error}"));
        0
    })
}
