//! `tiller sessions search`.

use anyhow::bail;
use serde_json::json;
use tiller_engine::store::{self, Hit, LogFile};
use tiller_protocol::env::Env;

use super::moment;
use crate::exit::Exit;
use crate::inspect::visible;
use crate::text::print;

#[derive(Debug, clap::Args)]
pub(super) struct Search {
    /// The text to search for
    text: String,

    /// Search the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Search {
    pub(super) fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        if self.text.trim().is_empty() {
            bail!("give a text to search for");
        }
        let config_dir = tiller_config::config_dir(env);
        let files = match self.all {
            true => store::everywhere(&config_dir),
            false => store::here(&config_dir, &fs_err::canonicalize(&env.cwd)?).collect(),
        };
        let mut found = Vec::new();
        for file in files {
            let hits = store::search(&file.log, &self.text)?;
            match self.json {
                true => found.extend(hits.iter().map(|hit| to_json(&file, hit))),
                false => show(&file, &hits)?,
            }
        }
        if self.json {
            print(&serde_json::to_string_pretty(&found)?)?;
        }
        Ok(Exit::Success)
    }
}

fn show(file: &LogFile, hits: &[Hit]) -> anyhow::Result<()> {
    if hits.is_empty() {
        return Ok(());
    }
    print(&format!("{}  {}", file.id, visible(&file.head().title)))?;
    for hit in hits {
        print(&format!("  {}  {:<9}  {}", moment(hit.at), hit.role, visible(&hit.excerpt)))?;
    }
    Ok(())
}

fn to_json(file: &LogFile, hit: &Hit) -> serde_json::Value {
    json!({
        "sessionId": file.id,
        "entry": hit.entry,
        "at": hit.at,
        "role": hit.role,
        "excerpt": hit.excerpt,
    })
}
