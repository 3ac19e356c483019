//! `tiller sessions diff`: what a session changed in files.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tiller_engine::store;
use tiller_engine::undo::{Outline, RewindError, open_snapshots};
use tiller_protocol::env::Env;
use tiller_protocol::state::State;
use tiller_snapshot::{Kind, Node, Store, Summary};
use tiller_tools::unified_diff;

use crate::exit::Exit;
use crate::inspect::{find, visible};
use crate::text::print;

/// Bytes of a file up to which its lines are compared.
const COMPARED: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Diff {
    /// The session
    session: String,

    /// Show changes since this prompt: its number in `tiller sessions show`, or the beginning of its id
    #[arg(long, value_name = "PROMPT")]
    from: Option<String>,

    /// Print only the names of the files
    #[arg(long)]
    names: bool,

    /// Print JSON
    #[arg(long, conflicts_with = "names")]
    json: bool,
}

impl Diff {
    pub(super) fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        let log = find::find(&self.session, env)?;
        let outline = Outline::read(&log.path)?;
        let since = match &self.from {
            Some(wanted) => {
                let prompt = outline.find(wanted).with_context(|| {
                    format!("there is no prompt \"{wanted}\"; `tiller sessions show {}` lists them", log.id)
                })?;
                prompt.seq
            }
            None => 0,
        };
        let from = match outline.files_from(since) {
            Err(RewindError::NotKept) => {
                bail!("nothing was kept of what the session may have changed, so there is nothing to compare")
            }
            from => from?,
        };
        let mut store = snapshots_of(&log.path, env)?;
        let ends = (store.join(&from)?, store.join(&outline.files_since(since))?);
        let (Some(from), Some(to)) = ends else {
            print(if self.json { "[]" } else { "the session changed no files" })?;
            return Ok(Exit::Success);
        };
        let diff = store.diff(&from, &to)?;
        let summary = diff.summary();
        let mut unknown: Vec<(PathBuf, String)> =
            diff.unknown.iter().map(|one| (one.path.clone(), one.why.as_str().to_owned())).collect();
        for missing in [outline.missing_from(since), outline.missing_since(since)].into_iter().flatten() {
            let why = format!("calls may have changed files in it while nothing was kept, {missing}");
            unknown.extend(store.directories(&from)?.into_iter().map(|dir| (dir, why.clone())));
        }
        if self.json {
            let mut rows = to_json(&summary);
            let row =
                |(path, why): &(PathBuf, String)| json!({"path": path, "change": "unknown", "why": why});
            rows.extend(unknown.iter().map(row));
            print(&serde_json::to_string_pretty(&rows)?)?;
            return Ok(Exit::Success);
        }
        print_changes(&mut store, &summary, self.names)?;
        unknown.iter().try_for_each(|(path, why)| print(&line("unknown", path, why)))?;
        Ok(Exit::Success)
    }
}

/// The snapshots of the project that a session was started in.
pub(crate) fn snapshots_of(log: &Path, env: &Env) -> anyhow::Result<Store> {
    let mut state = State::default();
    store::load_bare(log, |entry| state.apply(&entry))?;
    let project = fs_err::canonicalize(&state.start_dir).unwrap_or(state.start_dir);
    let mut store = open_snapshots(&tiller_config::config_dir(env), &project, env)?;
    state.snapshot.iter().for_each(|last| store.follow(last));
    Ok(store)
}

/// A path about which there is something to say beside what differs.
pub(crate) fn line(what: &str, path: &Path, why: &str) -> String {
    format!("{what:<9} {}  ({why})", visible(&path.display().to_string()))
}

/// Changes as JSON.
pub(crate) fn to_json(changes: &[Summary]) -> Vec<Value> {
    let one = |change: &Summary| {
        let (kind, from) = match &change.kind {
            Kind::Added => ("added", None),
            Kind::Removed => ("removed", None),
            Kind::Modified => ("modified", None),
            Kind::Mode => ("mode", None),
            Kind::Renamed { from } => ("renamed", Some(from)),
        };
        json!({"path": change.path, "change": kind, "from": from})
    };
    changes.iter().map(one).collect()
}

/// Prints changes: names, and between them what differs.
pub(crate) fn print_changes(store: &mut Store, changes: &[Summary], names: bool) -> anyhow::Result<()> {
    if changes.is_empty() {
        print("no file differs")?;
    }
    for change in changes {
        print(&headline(change))?;
        if !names && let Some(diff) = lines_of(store, change) {
            print(diff.trim_end())?;
        }
    }
    Ok(())
}

fn headline(change: &Summary) -> String {
    let path = change.path.display().to_string();
    let path = visible(&path);
    match &change.kind {
        Kind::Added => format!("added     {path}"),
        Kind::Removed => format!("removed   {path}"),
        Kind::Modified => format!("modified  {path}"),
        Kind::Mode => format!("mode      {path}  ({} → {})", mode(&change.before), mode(&change.after)),
        Kind::Renamed { from } => format!("renamed   {} → {path}", visible(&from.display().to_string())),
    }
}

fn mode(node: &Option<Node>) -> String {
    match node {
        Some(Node::File { mode, .. } | Node::Directory { mode, .. }) => format!("{mode:o}"),
        _ => "–".to_owned(),
    }
}

/// The lines that differ, where both sides are text or nothing.
fn lines_of(store: &mut Store, change: &Summary) -> Option<String> {
    if matches!(change.kind, Kind::Mode | Kind::Renamed { .. }) {
        return None;
    }
    let old = store.text(change.before.as_ref(), COMPARED)?;
    let new = store.text(change.after.as_ref(), COMPARED)?;
    let name = visible(&change.path.display().to_string()).into_owned();
    let (before, after) = (format!("a{name}"), format!("b{name}"));
    Some(visible(&unified_diff(&old, &new, &before, &after)).into_owned())
}
