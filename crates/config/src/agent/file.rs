//! Agents in files.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::AgentDefinition;
use super::decode::Decoder;
use crate::error::Problem;
use crate::front_matter::FrontMatter;
use crate::origin::{Layer, Origin, Place};

/// A definition that is longer is none: its prompt would leave no room for work.
const LARGEST_FILE: u64 = 256 * 1024;
/// Directories below the one of agents.
const DEEPEST: usize = 5;

/// The agents of a directory, by the names of their files. Files of a project may not lead out of it.
pub(super) fn read_dir(
    dir: &Path,
    layer: Layer,
    within: Option<&Path>,
    problems: &mut Vec<Problem>,
) -> Vec<AgentDefinition> {
    let mut files = Vec::new();
    if let Err(error) = collect(dir, DEEPEST, &mut files) {
        problems.push(problem(Origin::file(layer, dir.to_owned()), &error.to_string()));
    }
    files.sort();
    let mut agents: Vec<AgentDefinition> = Vec::new();
    for path in files {
        let origin = Origin::file(layer, path.clone());
        let text = match read(&path, within) {
            Ok(text) => text,
            Err(error) => {
                problems.push(problem(origin, &format!("{error}; the agent is left out")));
                continue;
            }
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let Some(agent) = decode(&text, &stem, &origin, problems) else { continue };
        match agents.iter().find(|known| known.name == agent.name) {
            None => agents.push(agent),
            Some(known) => {
                let text = format!("{} defines {} as well; that one counts", known.origin, agent.name);
                problems.push(problem(origin, &text));
            }
        }
    }
    agents
}

/// One file. The name it has if it says none is that of the file.
pub(super) fn decode(
    text: &str,
    default_name: &str,
    origin: &Origin,
    problems: &mut Vec<Problem>,
) -> Option<AgentDefinition> {
    match FrontMatter::parse(text) {
        Ok(parsed) => {
            let first_line = || Some(Place { line: 1, column: 1 });
            let place = |field: &str| parsed.place(field).or_else(first_line);
            let mut decoder = Decoder { origin, key: "", place: &place, problems };
            decoder.file(default_name, &parsed.fields, parsed.body)
        }
        Err(unreadable) => {
            problems.push(Problem {
                origin: origin.clone(),
                place: Some(unreadable.place),
                key: String::new(),
                text: format!("{}; the agent is left out", unreadable.reason),
            });
            None
        }
    }
}

fn problem(origin: Origin, text: &str) -> Problem {
    Problem { origin, place: None, key: String::new(), text: text.to_owned() }
}

/// Markdown files here and below. Linked directories are not entered: they may lead in circles.
fn collect(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs_err::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path, within: Option<&Path>) -> io::Result<String> {
    let refused = |reason: &str| Err(io::Error::new(ErrorKind::InvalidData, reason.to_owned()));
    if let Some(within) = within
        && !fs_err::canonicalize(path)?.starts_with(fs_err::canonicalize(within)?)
    {
        return refused("it leads out of the project");
    }
    let metadata = fs_err::metadata(path)?;
    if !metadata.is_file() {
        return refused("it is no file");
    }
    if metadata.len() > LARGEST_FILE {
        return refused("it is larger than 256 KiB");
    }
    match String::from_utf8(fs_err::read(path)?) {
        Ok(text) => Ok(text),
        Err(_) => refused("it is no UTF-8"),
    }
}
