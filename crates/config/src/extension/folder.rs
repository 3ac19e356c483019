//! Folders with Markdown files, each of which defines something.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::Problem;
use crate::front_matter::FrontMatter;
use crate::origin::{Layer, Origin, Place};

use super::field::Decoder;

/// A definition that is longer is none: it would leave no room for work.
const LARGEST_FILE: u64 = 256 * 1024;
/// Folders below the one of definitions.
const DEEPEST: usize = 5;

/// A folder with definitions of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// Whose it is.
    pub(crate) layer: Layer,
    /// Where it is.
    pub(crate) dir: PathBuf,
    /// What its files may not lead out of, and what that is called.
    pub(crate) within: Option<(PathBuf, &'static str)>,
    /// The plugin that brings it.
    pub(crate) plugin: Option<PluginRoot>,
}

/// A plugin's name and place.
#[derive(Clone, Debug)]
pub(crate) struct PluginRoot {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
}

/// A file and what it says.
pub(crate) struct Markdown {
    pub(crate) path: PathBuf,
    pub(crate) origin: Origin,
    /// The name it has by its place: folders and file, separated by `:`.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Which files of a folder are definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Every `*.md` in it and below.
    Files,
    /// `NAME/SKILL.md`.
    Skills,
}

impl Folder {
    /// The name that something of this folder has outside of it.
    pub(crate) fn qualified(&self, name: &str) -> String {
        match &self.plugin {
            Some(plugin) => format!("{}:{name}", plugin.name),
            None => name.to_owned(),
        }
    }

    /// Reads the definitions, sorted by their paths. What cannot be read is told.
    pub(crate) fn read(&self, layout: Layout, what: &str, problems: &mut Vec<Problem>) -> Vec<Markdown> {
        let mut paths = Vec::new();
        let collected = match layout {
            Layout::Files => collect(&self.dir, DEEPEST, &mut paths),
            Layout::Skills => collect_skills(&self.dir, &mut paths),
        };
        if let Err(error) = collected {
            problems.push(whole(Origin::file(self.layer, self.dir.clone()), &error.to_string()));
        }
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let origin = Origin::file(self.layer, path.clone());
            match self.text(&path) {
                Ok(text) => files.push(Markdown { name: self.name(&path, layout), path, origin, text }),
                Err(error) => problems.push(whole(origin, &format!("{error}; the {what} is left out"))),
            }
        }
        files
    }

    fn name(&self, path: &Path, layout: Layout) -> String {
        let below = path.strip_prefix(&self.dir).unwrap_or(path);
        let named = match layout {
            Layout::Files => below.with_extension(""),
            Layout::Skills => below.parent().unwrap_or(below).to_owned(),
        };
        let steps: Vec<_> = named.iter().map(|step| step.to_string_lossy()).collect();
        steps.join(":")
    }

    fn text(&self, path: &Path) -> io::Result<String> {
        let text = read(path, self.within.as_ref())?;
        Ok(match &self.plugin {
            Some(plugin) => plugin.expand(&text),
            None => text,
        })
    }
}

impl PluginRoot {
    /// The text with the plugin's place in it.
    pub(crate) fn expand(&self, text: &str) -> String {
        let dir = self.dir.to_string_lossy();
        text.replace("${CLAUDE_PLUGIN_ROOT}", &dir).replace("${TILLER_PLUGIN_ROOT}", &dir)
    }
}

impl Markdown {
    /// Reads fields and text with `decode`; a file that cannot be taken apart is told.
    pub(crate) fn decode<T>(
        &self,
        what: &'static str,
        problems: &mut Vec<Problem>,
        decode: impl FnOnce(&mut Decoder<'_>, &FrontMatter<'_>) -> Option<T>,
    ) -> Option<T> {
        decode_text(&self.text, &self.origin, what, problems, decode)
    }
}

/// Reads fields and text of a definition.
pub(crate) fn decode_text<T>(
    text: &str,
    origin: &Origin,
    what: &'static str,
    problems: &mut Vec<Problem>,
    decode: impl FnOnce(&mut Decoder<'_>, &FrontMatter<'_>) -> Option<T>,
) -> Option<T> {
    match FrontMatter::parse(text) {
        Ok(parsed) => {
            let first_line = || Some(Place { line: 1, column: 1 });
            let place = |field: &str| parsed.place(field).or_else(first_line);
            decode(&mut Decoder { origin, what, key: "", place: &place, problems }, &parsed)
        }
        Err(unreadable) => {
            problems.push(Problem {
                origin: origin.clone(),
                place: Some(unreadable.place),
                key: String::new(),
                text: format!("{}; the {what} is left out", unreadable.reason),
            });
            None
        }
    }
}

/// Something that is wrong with a whole file.
pub(crate) fn whole(origin: Origin, text: &str) -> Problem {
    Problem { origin, place: None, key: String::new(), text: text.to_owned() }
}

/// What is in a folder; nothing if there is none.
pub(crate) fn entries(dir: &Path) -> io::Result<Vec<fs_err::DirEntry>> {
    match fs_err::read_dir(dir) {
        Ok(entries) => entries.collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// Markdown files here and below. Linked folders are not entered: they may lead in circles.
fn collect(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in entries(dir)? {
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

/// The file of each skill. A link to a skill that is kept elsewhere is as good as the skill.
fn collect_skills(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let skills = entries(dir)?.into_iter().map(|entry| entry.path().join("SKILL.md"));
    files.extend(skills.filter(|file| file.is_file()));
    Ok(())
}

/// A file as text, if it is one that may be read.
pub(crate) fn read(path: &Path, within: Option<&(PathBuf, &'static str)>) -> io::Result<String> {
    let refused = |reason: &str| Err(io::Error::new(ErrorKind::InvalidData, reason.to_owned()));
    if let Some((within, name)) = within
        && !fs_err::canonicalize(path)?.starts_with(fs_err::canonicalize(within)?)
    {
        return refused(&format!("it leads out of the {name}"));
    }
    let metadata = fs_err::metadata(path)?;
    if !metadata.is_file() {
        return refused("it is not a file");
    }
    if metadata.len() > LARGEST_FILE {
        return refused("it is larger than 256 KiB");
    }
    match String::from_utf8(fs_err::read(path)?) {
        Ok(text) => Ok(text),
        Err(_) => refused("it is not UTF-8"),
    }
}
