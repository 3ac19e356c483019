//! Finding sessions. The logs themselves are the only truth; there is no index to lose.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tiller_protocol::id::SessionId;

use super::head::{Head, begun_in, head, title};
use super::packed;
use super::{SessionPaths, StoreError, project_dir, project_key};

/// A session that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: SessionId,
    /// Its files.
    pub paths: SessionPaths,
}

/// A log that exists, as its directory tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The session.
    pub id: SessionId,
    /// Its log.
    pub log: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// Its length in bytes.
    pub length: u64,
}

impl LogFile {
    /// What its beginning and its end tell. Costs the same however long it is.
    #[must_use]
    pub fn head(&self) -> Head {
        head(&self.log)
    }
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

/// The session with this id in a project; its log may be compressed.
///
/// # Errors
/// When there is none.
pub fn find(config_dir: &Path, project: &Path, id: SessionId) -> Result<Found, StoreError> {
    let paths = SessionPaths::new(config_dir, project, id);
    if packed::is_there(&paths.log) {
        return Ok(Found { id, paths });
    }
    Err(StoreError::NotFound { id: id.to_string(), project: project.display().to_string() })
}

/// The session of a project that was written last, and in which something was said.
#[must_use]
pub fn latest(config_dir: &Path, project: &Path) -> Option<Found> {
    let found = here(config_dir, project).find(|file| title(&file.log).is_some())?;
    Some(Found { id: found.id, paths: SessionPaths::new(config_dir, project, found.id) })
}

/// All sessions of a project, newest first. Reads only the beginning of each log.
#[must_use]
pub fn list(config_dir: &Path, project: &Path) -> Vec<SessionSummary> {
    let summary = |LogFile { id, log, modified, .. }: LogFile| {
        let title = title(&log).unwrap_or_default();
        SessionSummary { id, log, modified, title }
    };
    here(config_dir, project).map(summary).collect()
}

/// The logs of a project's sessions, newest first. Reads the beginning of those that are asked for.
pub fn here(config_dir: &Path, project: &Path) -> impl Iterator<Item = LogFile> {
    all(config_dir, project).into_iter().filter(move |file| !is_of_another(&file.log, project))
}

/// Whether a log belongs to another directory for which logs are kept in the same place: keys tell letters and digits
/// of ASCII apart, and nothing else. A log that came from elsewhere, or does not say where it was begun, is of this one.
fn is_of_another(log: &Path, project: &Path) -> bool {
    let Some(cwd) = begun_in(log) else { return false };
    let cwd = fs_err::canonicalize(&cwd).unwrap_or(cwd);
    cwd != project && project_key(&cwd) == project_key(project)
}

/// The logs that are kept in the place of a project, newest first: also those of directories with the same key. Reads
/// none of them.
#[must_use]
pub fn all(config_dir: &Path, project: &Path) -> Vec<LogFile> {
    newest_first(logs(&project_dir(config_dir, project)))
}

/// The logs of all projects, newest first. Reads none of them.
#[must_use]
pub fn everywhere(config_dir: &Path) -> Vec<LogFile> {
    let Ok(projects) = fs_err::read_dir(config_dir.join("projects")) else { return Vec::new() };
    newest_first(projects.filter_map(Result::ok).flat_map(|project| logs(&project.path())).collect())
}

fn newest_first(mut found: Vec<LogFile>) -> Vec<LogFile> {
    found.sort_by_key(|file| (std::cmp::Reverse(file.modified), std::cmp::Reverse(file.id)));
    found
}

fn logs(dir: &Path) -> Vec<LogFile> {
    let Ok(entries) = fs_err::read_dir(dir) else { return Vec::new() };
    let log = |entry: std::io::Result<fs_err::DirEntry>| {
        let entry = entry.ok()?;
        let id = packed::named(entry.file_name().to_str()?)?;
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(LogFile { id, log: entry.path(), modified: metadata.modified().ok()?, length: metadata.len() })
    };
    let mut found: Vec<LogFile> = entries.filter_map(log).collect();
    // Of a log that is there twice, what was unpacked is what somebody has gone on with.
    found.sort_by(|one, other| (one.id, &one.log).cmp(&(other.id, &other.log)));
    found.dedup_by_key(|file| file.id);
    found
}
