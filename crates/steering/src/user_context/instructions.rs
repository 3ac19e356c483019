//! Instruction files: what the user and the project want every agent to know.

mod import;

use std::collections::HashSet;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tiller_protocol::entry::ToldFile;

use super::git;
use crate::reminder::neutralise;
use import::Importer;

/// How many characters of instruction files are told in all.
pub(crate) const LIMIT: usize = 40_000;
/// As many bytes of a file as can matter: a character has at most four, and one more shows that something is left.
const READ_LIMIT: u64 = 4 * (LIMIT as u64 + 1);

/// Rights to a directory that let others than its owner put files into it.
const OTHERS_MAY_WRITE: u32 = 0o022;
const INTRODUCTION: &str = include_str!("instructions.md");

/// The two names of one kind of file. If both are there, both are used unless they say the same.
const NAMES: [[&str; 2]; 4] = [
    ["AGENTS.md", "CLAUDE.md"],
    [".tiller/AGENTS.md", ".tiller/CLAUDE.md"],
    [".claude/AGENTS.md", ".claude/CLAUDE.md"],
    ["AGENTS.local.md", "CLAUDE.local.md"],
];

/// An instruction file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it stands.
    pub path: PathBuf,
    /// The same, links resolved.
    pub real: PathBuf,
    /// What it says; a file far beyond the limit is not read to its end.
    pub text: String,
}

/// Where instruction files are looked for, and which may be read.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Tiller's configuration directory.
    pub config_dir: &'a Path,
    /// The user's home directory.
    pub home: &'a Path,
    /// The working directory, as an absolute path.
    pub working_directory: &'a Path,
    /// Whether a file may be read, by its path with links resolved.
    pub may_read: &'a dyn Fn(&Path) -> bool,
}

/// Reads the instruction files that hold for a working directory, most general first, each followed by what it imports.
///
/// They are those of the configuration directory and of every directory from the working directory up to the home
/// directory, if it lies above, or else up to the root of the repository; and of those further up in which nobody else
/// could have left a file.
#[must_use]
pub fn find(places: Places<'_>) -> Vec<InstructionFile> {
    let mut collected = Collected::new(places);
    // The user's own file may import whatever the user has.
    collected.pair(places.config_dir, NAMES[0], Some(places.home));
    for dir in directories(places).into_iter().rev() {
        collected.directory(dir);
    }
    collected.files
}

/// Reads the instruction files of one directory, each followed by what it imports.
#[must_use]
pub fn find_in(dir: &Path, places: Places<'_>) -> Vec<InstructionFile> {
    let mut collected = Collected::new(places);
    collected.directory(dir);
    collected.files
}

/// The working directory and those above it that count.
fn directories(places: Places<'_>) -> Vec<&Path> {
    let dir = places.working_directory;
    let below_home = places.home.is_absolute() && dir.starts_with(places.home);
    let top = if below_home { places.home } else { git::root(dir).unwrap_or(dir) };
    let counts = |candidate: &&Path| candidate.starts_with(top) || is_kept_by(candidate, places.home);
    dir.ancestors().filter(counts).collect()
}

/// Whether only the user, by whose home directory it is known who that is, and the system's own can put files into a
/// directory.
fn is_kept_by(dir: &Path, home: &Path) -> bool {
    let (Ok(dir), Ok(home)) = (fs_err::metadata(dir), fs_err::metadata(home)) else { return false };
    let is_open_to_others = dir.mode() & OTHERS_MAY_WRITE != 0;
    (dir.uid() == 0 || dir.uid() == home.uid()) && !is_open_to_others
}

/// Files that were found so far, each once.
struct Collected<'a> {
    places: Places<'a>,
    seen: HashSet<PathBuf>,
    files: Vec<InstructionFile>,
}

impl<'a> Collected<'a> {
    fn new(places: Places<'a>) -> Self {
        Self { places, seen: HashSet::new(), files: Vec::new() }
    }

    fn directory(&mut self, dir: &Path) {
        for pair in NAMES {
            self.pair(dir, pair, None);
        }
    }

    fn pair(&mut self, dir: &Path, names: [&str; 2], realm: Option<&Path>) {
        let first_of_pair = self.files.len();
        for path in names.map(|name| dir.join(name)) {
            // The user's own files may be links to anywhere; those of a project come from whoever made it.
            if realm.is_none() && leads_out(&path, git::root(dir).unwrap_or(dir)) {
                tracing::warn!(path = %path.display(), "an instruction file is left out: it is a link to somewhere else");
                continue;
            }
            let Some(file) = self.read(path) else { continue };
            let is_repetition = self.files[first_of_pair..].iter().any(|other| other.text == file.text);
            if !is_repetition {
                let importer = Importer::new(&file, realm, self.places.home);
                self.files.push(file);
                importer.follow(self);
            }
        }
    }

    /// The file, unless it was found before, is missing, blank or not to be read.
    fn read(&mut self, path: PathBuf) -> Option<InstructionFile> {
        // The configuration directory may lie in the home directory, and a file may be a link to another.
        let real = fs_err::canonicalize(&path).ok()?;
        if !(self.places.may_read)(&real) {
            tracing::warn!(path = %path.display(), "an instruction file is left out: reading it is not allowed");
            return None;
        }
        match read_text(&path) {
            Ok(text) if text.trim().is_empty() => None,
            Ok(text) if self.seen.insert(real.clone()) => {
                Some(InstructionFile { text: text.trim().to_owned(), path, real })
            }
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(%error, "an instruction file is left out");
                None
            }
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
            sections.push(format!("{}{kept}", heading(file)));
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

fn heading(file: &InstructionFile) -> String {
    format!("From {}:\n", file.path.display())
}

/// The files that stand in a message as a whole, in which those of them that were rendered stand in this order.
pub(super) fn standing_in(message: &str, files: &[InstructionFile]) -> Vec<ToldFile> {
    let mut told = Vec::new();
    let mut from = 0;
    for file in files {
        let heading = neutralise(&heading(file)).text.into_owned();
        let text = neutralise(&file.text).text.into_owned();
        // What is cut ends somewhere else than with a blank line behind it.
        if let Some(at) = message[from..].find(&format!("{heading}{text}\n")) {
            let start = from + at + heading.len();
            from = start + text.len();
            told.push(ToldFile { path: file.real.clone(), from: start, until: from });
        }
    }
    told
}

/// At most this many characters from the beginning.
fn truncated(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Whether a file is a link to somewhere outside of a directory.
fn leads_out(path: &Path, realm: &Path) -> bool {
    match (fs_err::canonicalize(path), fs_err::canonicalize(realm)) {
        (Ok(real), Ok(realm)) => !real.starts_with(realm),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
