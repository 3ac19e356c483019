//! `tiller sessions verify`: whether logs are as they were written.

use std::path::PathBuf;

use serde_json::{Value, json};
use tiller_engine::store::{self, Damage, Loaded};
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;

use crate::exit::Exit;
use crate::inspect::{find, told};
use crate::text::print;

#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// The session [default: all of this directory]
    session: Option<String>,

    /// Check the sessions of all directories
    #[arg(long, conflicts_with = "session")]
    all: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        let mut sound = true;
        let mut documents = Vec::new();
        for (id, log) in self.logs(env)? {
            // A session that is running may be in the middle of a line.
            let loaded = store::load_bare(&log, |_| {});
            sound &= loaded.as_ref().is_ok_and(|loaded| loaded.damage.is_empty());
            match (&loaded, self.json) {
                (Ok(loaded), true) => documents.push(to_json(id, loaded)),
                (Ok(loaded), false) => print(&to_text(id, loaded))?,
                // One that cannot be read is no reason to leave out the others.
                (Err(error), true) => {
                    documents.push(json!({"sessionId": id, "sound": false, "error": error.to_string()}));
                }
                (Err(error), false) => print(&format!("{id}  unreadable: {error}"))?,
            }
        }
        if self.json {
            print(&serde_json::to_string_pretty(&documents)?)?;
        }
        Ok(if sound { Exit::Success } else { Exit::Failure })
    }

    fn logs(&self, env: &Env) -> anyhow::Result<Vec<(SessionId, PathBuf)>> {
        if let Some(session) = &self.session {
            let log = find::find(session, env)?;
            return Ok(vec![(log.id, log.path)]);
        }
        let config_dir = tiller_config::config_dir(env);
        let files = match self.all {
            true => store::everywhere(&config_dir),
            false => store::here(&config_dir, &fs_err::canonicalize(&env.cwd)?).collect(),
        };
        Ok(files.into_iter().map(|file| (file.id, file.log)).collect())
    }
}

fn to_text(id: SessionId, loaded: &Loaded) -> String {
    let mut text = match (loaded.damage.as_slice(), loaded.unhashed) {
        ([], 0) => format!("{id}  sound: {} records, each proven by its hash", loaded.proven),
        ([], unhashed) => format!(
            "{id}  sound: {} records proven by their hash, {unhashed} of an older version without one",
            loaded.proven
        ),
        (damage, _) => format!("{id}  damaged: {} of {} records are proven", loaded.proven, {
            let lost = damage.iter().filter(|damage| loses_something(damage)).count() as u64;
            loaded.entries + lost
        }),
    };
    for damage in &loaded.damage {
        text.push_str(&format!("\n  {}", told(damage)));
    }
    text
}

fn loses_something(damage: &Damage) -> bool {
    !matches!(damage, Damage::Repeated { .. } | Damage::BrokenChain { .. })
}

fn to_json(id: SessionId, loaded: &Loaded) -> Value {
    json!({
        "sessionId": id,
        "sound": loaded.damage.is_empty(),
        "records": loaded.entries,
        "proven": loaded.proven,
        "withoutHash": loaded.unhashed,
        "ofOtherPrograms": loaded.foreign,
        "damage": loaded.damage.iter().map(told).collect::<Vec<_>>(),
    })
}
