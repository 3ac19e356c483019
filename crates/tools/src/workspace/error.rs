//! Why a file could not be opened or replaced, in words for the model.

use std::path::Path;

use rustix::io::Errno;
use tiller_policy::NotPermitted;

use crate::cx::View;

/// Names suggested at most for a file that is missing.
const SUGGESTIONS: usize = 3;

/// Why a file could not be opened or replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileError {
    Missing,
    Directory,
    Special(&'static str),
    Denied,
    /// A link stands where none was when the path was resolved.
    Linked,
    /// The content is not what it was when the change was worked out.
    Changed,
    TooLarge(u64),
    NotPermitted(NotPermitted),
    Io(String),
}

impl From<NotPermitted> for FileError {
    fn from(error: NotPermitted) -> Self {
        Self::NotPermitted(error)
    }
}

impl From<Errno> for FileError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::LOOP => Self::Linked,
            Errno::ISDIR => Self::Directory,
            Errno::NXIO => Self::Special("device or socket"),
            errno => Self::Io(std::io::Error::from(errno).to_string()),
        }
    }
}

impl From<std::io::Error> for FileError {
    fn from(error: std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(code) => Errno::from_raw_os_error(code).into(),
            None => Self::Io(error.to_string()),
        }
    }
}

impl FileError {
    /// What happened and what to do.
    pub(crate) fn explain(&self, path: &Path, view: &View) -> String {
        let name = path.display();
        match self {
            Self::Missing => missing(path, view),
            Self::Directory => format!("{name} is a directory, not a file. List it with Glob or `ls`."),
            Self::Special(kind) => format!("{name} is a {kind}, not a regular file."),
            Self::Denied => format!("Permission denied by the operating system: {name}."),
            Self::Linked => format!(
                "{name} goes through a symbolic link that was put there just now, or that leads in a circle. Nothing was touched."
            ),
            Self::Changed => {
                format!(
                    "{name} was changed by someone else at this very moment. Nothing was written; read it again."
                )
            }
            Self::TooLarge(size) => {
                format!(
                    "{name} has {size} bytes, too many to be changed in memory. Use a command such as `sed`."
                )
            }
            Self::NotPermitted(error) => format!("{error}."),
            Self::Io(reason) => format!("{name}: {reason}."),
        }
    }
}

fn missing(path: &Path, view: &View) -> String {
    let mut text =
        format!("{} does not exist. The working directory is {}.", path.display(), view.cwd.display());
    let similar = similar_names(path, view);
    if !similar.is_empty() {
        text.push_str(&format!(" Did you mean {}?", similar.join(" or ")));
    }
    text
}

/// Names beside the missing one that look alike. Only working directories are listed.
fn similar_names(path: &Path, view: &View) -> Vec<String> {
    let Some((parent, wanted)) = path.parent().zip(path.file_name()) else { return Vec::new() };
    if !view.roots.iter().any(|root| parent.starts_with(root)) {
        return Vec::new();
    }
    let wanted = wanted.to_string_lossy().to_lowercase();
    let entries = fs_err::read_dir(parent).into_iter().flatten().flatten();
    let mut scored: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let score = likeness(&wanted, &entry.file_name().to_string_lossy().to_lowercase());
            score.map(|score| (score, entry.path().display().to_string()))
        })
        .collect();
    scored.sort();
    scored.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect()
}

/// How unlike two names are; nothing when they have nothing to do with each other.
fn likeness(wanted: &str, name: &str) -> Option<u32> {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    if wanted == name {
        return Some(0);
    }
    if !stem(wanted).is_empty() && stem(wanted) == stem(name) {
        return Some(1);
    }
    let ratio = similar::TextDiff::from_chars(wanted, name).ratio();
    (ratio > 0.7).then_some(2)
}
