//! `tiller sessions list`.

use jiff::Timestamp;
use serde_json::json;
use tiller_engine::store::{self, Head, LogFile};
use tiller_protocol::env::Env;

use super::moment;
use crate::exit::Exit;
use crate::inspect::{size, visible};
use crate::text::print;

/// Characters of a session's id that tell it from others in a list.
const SHORT_ID: usize = 13;

#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// List the sessions of all directories
    #[arg(long)]
    all: bool,

    /// Maximum number of sessions; 0 for no limit
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        let config_dir = tiller_config::config_dir(env);
        let files = match self.all {
            true => store::everywhere(&config_dir),
            false => store::here(&config_dir, &fs_err::canonicalize(&env.cwd)?).collect(),
        };
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        // One more than is shown tells whether there are more; the others are not even opened.
        let with_head = |file: LogFile| {
            let head = file.head();
            (file, head)
        };
        let said = files.into_iter().map(with_head).filter(|(_, head)| !head.title.is_empty());
        let mut rows: Vec<(LogFile, Head)> = said.take(limit.saturating_add(1)).collect();
        let more = rows.len() > limit;
        rows.truncate(limit);
        if self.json {
            let rows: Vec<_> = rows.iter().map(to_json).collect();
            print(&serde_json::to_string_pretty(&rows)?)?;
        } else if rows.is_empty() {
            let place = if self.all { "on this machine" } else { "in this directory" };
            print(&format!("there are no sessions {place} yet"))?;
        } else {
            rows.iter().try_for_each(|row| print(&self.line(row)))?;
            if more {
                print(&format!("there are more; --limit {} shows twice as many", self.limit * 2))?;
            }
        }
        Ok(Exit::Success)
    }

    fn line(&self, (file, head): &(LogFile, Head)) -> String {
        let id: String = file.id.to_string().chars().take(SHORT_ID).collect();
        let time = Timestamp::try_from(file.modified).map(moment).unwrap_or_default();
        let title = visible(&head.title);
        let place = match (&head.cwd, self.all) {
            (Some(cwd), true) => format!("  ({})", visible(&cwd.display().to_string())),
            _ => String::new(),
        };
        format!("{id}  {time}  {:>9}  {title}{place}", size(file.length))
    }
}

fn to_json((file, head): &(LogFile, Head)) -> serde_json::Value {
    json!({
        "sessionId": file.id,
        "title": head.title,
        "started": head.started,
        "modified": Timestamp::try_from(file.modified).ok(),
        "bytes": file.length,
        "cwd": head.cwd,
        "gitBranch": head.branch,
        "log": file.log,
    })
}
