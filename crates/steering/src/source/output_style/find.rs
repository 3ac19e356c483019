//! Output styles by name: those that come with Tiller, and files of the user and the project.

use std::io;
use std::path::{Path, PathBuf};

use super::super::Style;

/// The name of the usual way to answer, of which nothing is told.
pub(super) const DEFAULT: &str = "default";
/// Styles that come with Tiller.
const BUILT_IN: [(&str, &str); 3] = [
    ("concise", include_str!("concise.md")),
    ("explanatory", include_str!("explanatory.md")),
    ("learning", include_str!("learning.md")),
];
/// Characters of guidelines.
const LIMIT: usize = 20_000;

/// Why there is no such style.
#[derive(Debug, thiserror::Error)]
pub enum StyleError {
    /// Nobody has a style of that name.
    #[error(
        "there is no output style named \"{name}\"; choose from {known}, or write output-styles/{name}.md"
    )]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The file cannot be used.
    #[error("the output style \"{name}\" cannot be used: {reason}")]
    Unusable {
        /// The name.
        name: String,
        /// What is wrong with its file.
        reason: String,
    },
}

/// Finds a style by its name; none is told for the usual one. Files in these directories come before what comes with
/// Tiller, earlier directories before later ones.
///
/// # Errors
/// When there is no such style, or its file cannot be read.
pub fn find(name: &str, dirs: &[PathBuf]) -> Result<Option<Style>, StyleError> {
    if name.eq_ignore_ascii_case(DEFAULT) {
        return Ok(None);
    }
    let style = |name: &str, guidelines: &str| {
        Some(Style { name: name.to_owned(), guidelines: guidelines.trim().to_owned() })
    };
    for dir in dirs {
        match file_named(dir, name) {
            Some(path) => return read(&path, name).map(|text| style(name, &text)),
            None => continue,
        }
    }
    match BUILT_IN.iter().find(|(built_in, _)| built_in.eq_ignore_ascii_case(name)) {
        Some((name, guidelines)) => Ok(style(name, guidelines)),
        None => Err(StyleError::Unknown { name: name.to_owned(), known: known(dirs) }),
    }
}

/// The styles there are, with the file each comes from; those without one come with Tiller.
#[must_use]
pub fn all(dirs: &[PathBuf]) -> Vec<(String, Option<PathBuf>)> {
    let own = std::iter::once(DEFAULT).chain(BUILT_IN.iter().map(|(name, _)| *name));
    let files = dirs.iter().flat_map(|dir| styles_in(dir)).map(|(name, path)| (name, Some(path)));
    own.map(|name| (name.to_owned(), None)).chain(files).collect()
}

fn known(dirs: &[PathBuf]) -> String {
    let names: Vec<String> = all(dirs).into_iter().map(|(name, _)| name).collect();
    names.join(", ")
}

fn file_named(dir: &Path, name: &str) -> Option<PathBuf> {
    styles_in(dir).into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, path)| path)
}

/// The styles in a directory by name, sorted.
fn styles_in(dir: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs_err::read_dir(dir) else { return Vec::new() };
    let style = |entry: io::Result<fs_err::DirEntry>| {
        let path = entry.ok()?.path();
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        let name = path.file_stem()?.to_str()?.to_owned();
        (is_markdown && path.is_file()).then_some((name, path))
    };
    let mut styles: Vec<(String, PathBuf)> = entries.filter_map(style).collect();
    styles.sort();
    styles
}

fn read(path: &Path, name: &str) -> Result<String, StyleError> {
    let unusable = |reason: String| StyleError::Unusable { name: name.to_owned(), reason };
    let text = fs_err::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    let guidelines = without_front_matter(&text);
    if guidelines.trim().is_empty() {
        return Err(unusable(format!("{} is empty", path.display())));
    }
    if guidelines.chars().count() > LIMIT {
        return Err(unusable(format!("{} has more than {LIMIT} characters", path.display())));
    }
    Ok(guidelines.to_owned())
}

/// What stands behind the lines between `---` at the beginning.
fn without_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else { return text };
    match rest.split_once("\n---\n") {
        Some((_, guidelines)) => guidelines,
        None => rest.strip_prefix("---\n").unwrap_or(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs_err::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    fn guidelines(name: &str, dirs: &[PathBuf]) -> String {
        find(name, dirs).unwrap().unwrap().guidelines
    }

    // STEER-46
    #[test]
    fn the_usual_style_is_none() {
        assert_eq!(find("default", &[]).unwrap(), None);
        assert_eq!(find("Default", &[]).unwrap(), None);
    }

    // STEER-46
    #[test]
    fn styles_come_from_files_or_with_tiller() {
        let project = dir(&[
            ("Pirate.md", "---\nname: Pirate\ndescription: x\n---\n\nSay arr.\n"),
            ("notes.txt", "no"),
        ]);
        let user = dir(&[("pirate.md", "Say ahoy."), ("concise.md", "Be mute.")]);
        let dirs = [project.path().to_owned(), user.path().to_owned()];
        assert_eq!(guidelines("pirate", &dirs), "Say arr.");
        assert_eq!(guidelines("concise", &dirs), "Be mute.");
        for (name, text) in BUILT_IN {
            assert_eq!(guidelines(name, &[]), text.trim());
        }
        let error = find("notes", &dirs).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no output style named \"notes\"; choose from default, concise, explanatory, learning, Pirate, \
             concise, pirate, or write output-styles/notes.md"
        );
    }

    #[test]
    fn a_file_that_says_nothing_or_too_much_is_refused() {
        let styles = dir(&[("empty.md", "---\nname: e\n---\n \n"), ("long.md", &"x".repeat(LIMIT + 1))]);
        for (name, reason) in [("empty", "is empty"), ("long", "more than 20000 characters")] {
            let error = find(name, &[styles.path().to_owned()]).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
