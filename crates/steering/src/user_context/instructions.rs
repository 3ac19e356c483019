//! Instruction files: what the user and the project want every agent to know.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::git;

/// How many characters of instruction files are told in all.
pub(crate) const LIMIT: usize = 40_000;
/// As many bytes of a file as can matter: a character has at most four, and one more shows that something is left.
const READ_LIMIT: u64 = 4 * (LIMIT as u64 + 1);

const INTRODUCTION: &str = include_str!("instructions.md");

/// The two names of one kind of file. If both are there, both are used unless they say the same.
const NAMES: [[&str; 2]; 3] = [
    ["AGENTS.md", "CLAUDE.md"],
    [".tiller/AGENTS.md", ".tiller/CLAUDE.md"],
    ["AGENTS.local.md", "CLAUDE.local.md"],
];

/// An instruction file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says; a file far beyond the limit is not read to its end.
    pub text: String,
}

/// Where instruction files are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Tiller's configuration directory.
    pub config_dir: &'a Path,
    /// The user's home directory.
    pub home: &'a Path,
    /// The working directory, as an absolute path.
    pub working_directory: &'a Path,
}

/// Reads the instruction files that hold for a working directory, most general first.
///
/// They are those of the configuration directory and of every directory from the working directory up to the home
/// directory, if it lies above, or else up to the root of the repository. Further up, anyone might have left a file.
#[must_use]
pub fn find(places: Places<'_>) -> Vec<InstructionFile> {
    let mut seen = HashSet::new();
    let mut files = Vec::new();
    read_pair(places.config_dir, NAMES[0], &mut seen, &mut files);
    for dir in directories(places).into_iter().rev() {
        for pair in NAMES {
            read_pair(dir, pair, &mut seen, &mut files);
        }
    }
    files
}

/// The working directory and those above it that count.
fn directories(places: Places<'_>) -> Vec<&Path> {
    let dir = places.working_directory;
    let below_home = places.home.is_absolute() && dir.starts_with(places.home);
    let top = if below_home { places.home } else { git::root(dir).unwrap_or(dir) };
    dir.ancestors().take_while(|candidate| candidate.starts_with(top)).collect()
}

fn read_pair(dir: &Path, names: [&str; 2], seen: &mut HashSet<PathBuf>, files: &mut Vec<InstructionFile>) {
    let first_of_pair = files.len();
    for path in names.map(|name| dir.join(name)) {
        let Some(file) = read(path) else { continue };
        // The configuration directory may lie in the home directory, and a file may be a link to another.
        let is_new = fs_err::canonicalize(&file.path).is_ok_and(|real| seen.insert(real));
        let is_repetition = files[first_of_pair..].iter().any(|other| other.text == file.text);
        if is_new && !is_repetition {
            files.push(file);
        }
    }
}

/// The file, unless it is missing, blank or not to be read.
fn read(path: PathBuf) -> Option<InstructionFile> {
    match read_text(&path) {
        Ok(text) if text.trim().is_empty() => None,
        Ok(text) => Some(InstructionFile { text: text.trim().to_owned(), path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(%error, "an instruction file is left out");
            None
        }
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    // A pipe of this name would never end.
    if !fs_err::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a file", path.display())));
    }
    let mut bytes = Vec::new();
    fs_err::File::open(path)?.take(READ_LIMIT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The files as one text, each under its path, cut at the limit.
pub(super) fn render(files: &[InstructionFile]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let mut sections = vec![INTRODUCTION.trim().to_owned()];
    let mut incomplete = Vec::new();
    let mut room = LIMIT;
    for file in files {
        let length = file.text.chars().count();
        let kept = truncated(&file.text, room);
        room -= room.min(length);
        if kept.len() < file.text.len() {
            incomplete.push(file.path.display().to_string());
        }
        if !kept.is_empty() {
            sections.push(format!("From {}:\n{kept}", file.path.display()));
        }
    }
    if !incomplete.is_empty() {
        sections.push(format!(
            "(Cut: instruction files are told up to {LIMIT} characters. Not complete here: {})",
            incomplete.join(", ")
        ));
    }
    Some(sections.join("\n\n"))
}

/// At most this many characters from the beginning.
fn truncated(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
