//! Notes that sessions and people leave each other: a directory per project, one file per note.
//!
//! A note is data from somebody else. Sessions are told that there are notes, and from whom; what a note says reaches
//! the model only when it reads the file, like that of any other file.

mod inbox;

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tiller_protocol::id::SessionId;
use uuid::Uuid;

use crate::store::project_key;
pub(crate) use inbox::Inbox;

/// Names the session to the commands that it runs.
pub const SESSION_VARIABLE: &str = "TILLER_SESSION_ID";
/// Bytes of a note.
pub const MAX_TEXT: usize = 16 * 1024;
/// Characters of a sender's name.
pub const MAX_NAME: usize = 64;
/// Notes that a mailbox holds.
const MAX_NOTES: usize = 200;
/// How long a note is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A file that is larger is no note.
const MAX_FILE: u64 = 128 * 1024;
/// Holds the name of the newest note that was read.
const READ_MARK: &str = "read";
const SUFFIX: &str = ".json";

/// The notes of a project.
#[derive(Clone, Debug)]
pub struct Mailbox {
    dir: PathBuf,
}

/// What somebody has written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Its name; later ones sort after earlier ones.
    pub id: Uuid,
    /// Who left it.
    pub from: String,
    /// The session it was sent from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub text: String,
}

/// Why a note was not taken.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// It is empty.
    #[error("there is nothing to send; write the note as an argument or on standard input")]
    Empty,
    /// It is too long.
    #[error("a note is limited to {MAX_TEXT} bytes; put the text into a file and send its path")]
    TooLong,
    /// The sender has no usable name.
    #[error("a sender's name must be 1 to {MAX_NAME} characters on one line")]
    BadName,
    /// There are too many.
    #[error("{0} is full ({MAX_NOTES} notes); notes are removed after a week, or delete some yourself")]
    Full(PathBuf),
    /// The directory cannot be used.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Mailbox {
    /// The mailbox of a project.
    #[must_use]
    pub fn of(config_dir: &Path, project: &Path) -> Self {
        Self { dir: config_dir.join("mail").join(project_key(project)) }
    }

    /// Where its notes are.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Leaves a note, and removes those whose time is over.
    ///
    /// # Errors
    /// When the note is not acceptable, the mailbox is full or cannot be written to.
    pub fn send(&self, note: &Note) -> Result<(), MailError> {
        check(note)?;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)
            .map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", self.dir.display())))?;
        self.remove_old(note.at);
        if self.names()?.len() >= MAX_NOTES {
            return Err(MailError::Full(self.dir.clone()));
        }
        self.put(&file_name(note.id), &serde_json::to_vec_pretty(note).map_err(std::io::Error::from)?)?;
        Ok(())
    }

    /// The notes that came after this one, or all of them, oldest first. What is no note is passed over.
    ///
    /// # Errors
    /// When the mailbox exists and cannot be read.
    pub fn notes(&self, after: Option<Uuid>) -> Result<Vec<Note>, MailError> {
        let names = self.names()?.into_iter().filter(|id| after.is_none_or(|after| *id > after));
        Ok(names.filter_map(|id| self.note(id)).collect())
    }

    /// The newest note that was read, as somebody has marked it.
    #[must_use]
    pub fn read_mark(&self) -> Option<Uuid> {
        fs_err::read_to_string(self.dir.join(READ_MARK)).ok()?.trim().parse().ok()
    }

    /// Marks notes as read, up to this one.
    ///
    /// # Errors
    /// When the mailbox cannot be written to.
    pub fn mark_read(&self, up_to: Uuid) -> Result<(), MailError> {
        Ok(self.put(READ_MARK, up_to.to_string().as_bytes())?)
    }

    /// The file of a note.
    #[must_use]
    pub fn file(&self, id: Uuid) -> PathBuf {
        self.dir.join(file_name(id))
    }

    /// The newest names, oldest first.
    fn names(&self) -> Result<VecDeque<Uuid>, std::io::Error> {
        let entries = match fs_err::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(VecDeque::new()),
            Err(error) => return Err(error),
        };
        let name = |entry: fs_err::DirEntry| entry.file_name().to_str()?.strip_suffix(SUFFIX)?.parse().ok();
        let mut names: Vec<Uuid> = entries.filter_map(Result::ok).filter_map(name).collect();
        names.sort_unstable();
        Ok(names.split_off(names.len().saturating_sub(MAX_NOTES)).into())
    }

    fn note(&self, id: Uuid) -> Option<Note> {
        let path = self.file(id);
        // Links and special files are none of ours, and would have to be waited for.
        let metadata = fs_err::symlink_metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        if metadata.len() > MAX_FILE {
            return None;
        }
        let note: Note = serde_json::from_slice(&fs_err::read(&path).ok()?).ok()?;
        (note.id == id && check(&note).is_ok()).then_some(note)
    }

    fn remove_old(&self, now: Timestamp) {
        for note in self.notes(None).unwrap_or_default() {
            if now.duration_since(note.at) > KEPT {
                // Somebody else may have removed it.
                let _ = fs_err::remove_file(self.file(note.id));
            }
        }
    }

    /// Writes a file in one go, readable by the user alone.
    fn put(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(content)?;
        file.persist(self.dir.join(name))?;
        Ok(())
    }
}

fn file_name(id: Uuid) -> String {
    format!("{id}{SUFFIX}")
}

fn check(note: &Note) -> Result<(), MailError> {
    let name = note.from.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(MailError::BadName);
    }
    match note.text.len() {
        0 => Err(MailError::Empty),
        length if length > MAX_TEXT => Err(MailError::TooLong),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
