//! Finding sessions. The logs themselves are the only truth; there is no index to lose.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;
use tiller_protocol::id::SessionId;

use super::{SessionPaths, StoreError, project_dir};

/// Bytes of a log that are looked at for its title.
const TITLE_WINDOW: u64 = 256 * 1024;
/// Characters of a title.
const TITLE_CHARS: usize = 80;

/// A session that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: SessionId,
    /// Its files.
    pub paths: SessionPaths,
}

/// What a list of sessions shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session.
    pub id: SessionId,
    /// Its log.
    pub log: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// The first prompt, cut; empty when there is none.
    pub title: String,
}

/// The session with this id in a project.
///
/// # Errors
/// When there is none.
pub fn find(config_dir: &Path, project: &Path, id: SessionId) -> Result<Found, StoreError> {
    let paths = SessionPaths::new(config_dir, project, id);
    if paths.log.is_file() {
        return Ok(Found { id, paths });
    }
    Err(StoreError::NotFound { id: id.to_string(), project: project.display().to_string() })
}

/// The session of a project that was written last, and in which something was said.
#[must_use]
pub fn latest(config_dir: &Path, project: &Path) -> Option<Found> {
    let mut found = newest_first(config_dir, project).into_iter();
    let (id, _, _) = found.find(|(_, log, _)| title(log).is_some())?;
    Some(Found { id, paths: SessionPaths::new(config_dir, project, id) })
}

/// All sessions of a project, newest first. Reads only the beginning of each log.
#[must_use]
pub fn list(config_dir: &Path, project: &Path) -> Vec<SessionSummary> {
    let summary = |(id, log, modified): (SessionId, PathBuf, SystemTime)| {
        let title = title(&log).unwrap_or_default();
        SessionSummary { id, log, modified, title }
    };
    newest_first(config_dir, project).into_iter().map(summary).collect()
}

pub(super) fn newest_first(config_dir: &Path, project: &Path) -> Vec<(SessionId, PathBuf, SystemTime)> {
    let mut found = logs(config_dir, project);
    found.sort_by_key(|(id, _, modified)| (std::cmp::Reverse(*modified), std::cmp::Reverse(*id)));
    found
}

fn logs(config_dir: &Path, project: &Path) -> Vec<(SessionId, PathBuf, SystemTime)> {
    let Ok(entries) = fs_err::read_dir(project_dir(config_dir, project)) else { return Vec::new() };
    let log = |entry: std::io::Result<fs_err::DirEntry>| {
        let path = entry.ok()?.path();
        let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.parse().ok()?;
        let modified = path.metadata().ok()?.modified().ok()?;
        Some((id, path, modified))
    };
    entries.filter_map(log).collect()
}

#[derive(Deserialize)]
struct PromptLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "isMeta", default)]
    is_meta: bool,
    message: PromptMessage,
}

#[derive(Deserialize)]
struct PromptMessage {
    content: Vec<PromptBlock>,
}

#[derive(Deserialize)]
struct PromptBlock {
    #[serde(default)]
    text: Option<String>,
}

pub(super) fn title(log: &Path) -> Option<String> {
    let file = fs_err::File::open(log).ok()?;
    let lines = BufReader::new(file.take(TITLE_WINDOW)).lines().map_while(Result::ok);
    let prompt = lines.filter_map(|line| serde_json::from_str::<PromptLine>(&line).ok());
    let mut texts = prompt
        .filter(|line| line.kind == "user" && !line.is_meta)
        .filter_map(|line| line.message.content.into_iter().find_map(|block| block.text));
    let text = texts.next()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE_CHARS).collect())
}
