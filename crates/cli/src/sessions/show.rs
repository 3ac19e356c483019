//! `tiller sessions show`.

use serde_json::json;
use tiller_engine::store::{self, LogFile};
use tiller_engine::undo::{Branch, Outline, Prompt};
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
            "filesChangedSince": outline.files_at(prompt).map_or(true, |files| !files.is_empty()),
        })
    };
    let branch = |branch: &Branch<'_>| {
        let prompts: Vec<_> = branch.prompts.iter().map(|prompt| prompt.id).collect();
        json!({"left": branch.step.at, "prompts": prompts})
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
        "branches": outline.branches().iter().map(branch).collect::<Vec<_>>(),
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
    lines.extend(branches(file, outline));
    lines.join("\n")
}

/// Conversations that were left behind, and how to get there.
fn branches(file: &LogFile, outline: &Outline) -> Vec<String> {
    let branches = outline.branches();
    if branches.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["branches".to_owned()];
    for (at, branch) in branches.iter().enumerate() {
        let last = branch.prompts.last().map(|prompt| short(&prompt.text)).unwrap_or_default();
        let head = format!("  {:>3}  {}  ", at + 1, moment(branch.step.at));
        let count = branch.prompts.len();
        let of = if count == 1 { "1 prompt".to_owned() } else { format!("{count} prompts, the last one") };
        lines.push(hanging(&head, &format!("{of}: {}", visible(&last))));
    }
    let text = format!(
        "Prompts without a number were left behind by rewinding. They stay in the log: `tiller rewind {} --branch \
         NUMBER` continues a branch, `--undo` undoes the last rewind.",
        file.id
    );
    lines.push(hanging("", &text));
    lines
}
