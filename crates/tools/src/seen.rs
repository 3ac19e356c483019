//! What has to be known of a file before it may be changed.

use std::path::Path;

use tiller_protocol::effect::{Effect, FileSeen, Fingerprint, Lines};
use tiller_protocol::state::Files;

use crate::fingerprint::of_content;
use crate::workspace::Replaced;

/// How the model's knowledge of a file compares with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Unchanged,
    Changed,
}

/// What the model has seen of a file.
///
/// # Errors
/// When that is nothing, with a text for the model.
pub(crate) fn required<'a>(files: &'a Files, path: &Path) -> Result<&'a FileSeen, String> {
    files
        .get(path)
        .ok_or_else(|| format!("{} has not been read yet. Read it first, then change it.", path.display()))
}

/// Judges by content alone: a new time stamp on the same content is no change (EDIT-03).
pub(crate) fn standing(seen: &FileSeen, now: &Fingerprint) -> Standing {
    if seen.fingerprint == *now { Standing::Unchanged } else { Standing::Changed }
}

/// The refusal for a file that is not what the model saw.
pub(crate) fn changed(path: &Path) -> String {
    format!("{} has changed since it was read. Read it again before changing it.", path.display())
}

/// Records what the model knows of a file because it wrote it: these lines, or all of it.
pub(crate) fn written(path: &Path, bytes: &[u8], replaced: &Replaced, lines: Option<Lines>) -> Effect {
    Effect::FileSeen(FileSeen {
        path: path.to_owned(),
        fingerprint: of_content(bytes),
        mtime_ms: replaced.mtime_ms,
        lines,
    })
}
