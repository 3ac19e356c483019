//! `tiller sessions show`.

use serde_json::json;
use tiller_engine::store::{self, LogFile};
use tiller_engine::undo::{Outline, Prompt};
use tiller_protocol::env::Env;
use tiller_protocol::state::State;

use super::moment;
use crate::exit::Exit;
use crate::inspect::{find, short, size, visible};
use crate::text::{hanging, print};

#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The session
    session: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        let log = find::find(&self.session, env)?;
        let mut state = State::default();
        store::load_bare(&log.path, |entry| state.apply(&entry))?;
        let outline = Outline::read(&log.path)?;
        let metadata = fs_err::metadata(&log.path)?;
        let file =
            LogFile { id: log.id, modified: metadata.modified()?, length: metadata.len(), log: log.path };
        match self.json {
            true => print(&serde_json::to_string_pretty(&to_json(&file, &state, &outline))?)?,
            false => print(&to_text(&file, &state, &outline))?,
        }
        Ok(Exit::Success)
    }
}

fn to_json(file: &LogFile, state: &State, outline: &Outline) -> serde_json::Value {
    let head = file.head();
    let prompt = |prompt: &Prompt| {
        json!({
            "number": outline.current().position(|one| one.id == prompt.id).map(|at| at + 1),
            "id": prompt.id,
            "at": prompt.at,
            "text": prompt.text,
            "abandoned": prompt.abandoned,
            "filesChangedSince": outline.files_at(prompt).is_some(),
        })
    };
    json!({
        "sessionId": file.id,
        "title": head.title,
        "cwd": state.start_dir,
        "started": head.started,
        "bytes": file.length,
        "entries": outline.loaded.entries,
        "costUsd": if state.spent.unpriced { None } else { Some(state.spent.usd) },
        "mode": state.mode,
        "todos": state.todos,
        "prompts": outline.prompts.iter().map(prompt).collect::<Vec<_>>(),
        "damage": outline.loaded.damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "log": file.log,
    })
}

fn to_text(file: &LogFile, state: &State, outline: &Outline) -> String {
    let head = file.head();
    let cost = if state.spent.unpriced { "unknown".to_owned() } else { format!("${:.4}", state.spent.usd) };
    let mut lines = vec![
        format!("session  {}", file.id),
        hanging("title    ", &visible(&head.title)),
        format!("in       {}", visible(&state.start_dir.display().to_string())),
        format!("log      {} ({})", file.log.display(), size(file.length)),
        format!("begun    {}", head.started.map(moment).unwrap_or_default()),
        format!("cost     {cost}"),
    ];
    lines.extend(outline.loaded.damage.iter().map(|damage| hanging("damage   ", &damage.to_string())));
    lines.push("prompts".to_owned());
    let mut number = 0;
    for prompt in &outline.prompts {
        let name = match prompt.abandoned {
            true => "–".to_owned(),
            false => {
                number += 1;
                number.to_string()
            }
        };
        let head = format!("  {name:>3}  {}  ", moment(prompt.at));
        lines.push(hanging(&head, &visible(&short(&prompt.text))));
    }
    if outline.prompts.iter().any(|prompt| prompt.abandoned) {
        let text = format!(
            "Prompts without a number were left behind by a step back. They stay in the log; `tiller rewind {} --undo` \
             takes the last step back again.",
            file.id
        );
        lines.push(hanging("", &text));
    }
    lines.join("\n")
}
