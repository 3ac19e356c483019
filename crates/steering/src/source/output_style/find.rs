//! Output styles by name: those that come with Tiller, and those in files.

use std::path::PathBuf;

use tiller_config::OutputStyle;

use super::super::Style;

/// The name of the usual way to answer, of which nothing is told.
pub(super) const DEFAULT: &str = "default";
/// Styles that come with Tiller.
const BUILT_IN: [(&str, &str); 3] = [
    ("concise", include_str!("concise.md")),
    ("explanatory", include_str!("explanatory.md")),
    ("learning", include_str!("learning.md")),
];

/// What they do, for people.
const DESCRIBED: [(&str, &str); 4] = [
    (DEFAULT, "the usual way: does the work and says what was done"),
    ("concise", "as few words as possible: the result, and what you must know to go on"),
    ("explanatory", "explains along the way why the code is as it is and what was decided"),
    ("learning", "leaves small pieces for you to write, and comments on what you wrote"),
];

/// Nobody has a style of that name.
#[derive(Debug, thiserror::Error)]
#[error("there is no output style named \"{name}\"; choose from {known}, or write output-styles/{name}.md")]
pub struct StyleError {
    /// The name.
    pub name: String,
    /// The names there are.
    pub known: String,
}

/// Finds a style by its name; none is told for the usual one. Those in files come before what comes with Tiller.
///
/// # Errors
/// When there is no such style.
pub fn find(name: &str, in_files: &[OutputStyle]) -> Result<Option<Style>, StyleError> {
    if name.eq_ignore_ascii_case(DEFAULT) {
        return Ok(None);
    }
    if let Some(style) = in_files.iter().find(|style| style.name.eq_ignore_ascii_case(name)) {
        return Ok(Some(Style { name: style.name.clone(), guidelines: style.guidelines.clone() }));
    }
    match BUILT_IN.iter().find(|(built_in, _)| built_in.eq_ignore_ascii_case(name)) {
        Some((name, guidelines)) => {
            Ok(Some(Style { name: (*name).to_owned(), guidelines: guidelines.trim().to_owned() }))
        }
        None => Err(StyleError { name: name.to_owned(), known: known(in_files) }),
    }
}

/// The styles there are, with the file each comes from; those without one come with Tiller. A file takes the place of what
/// comes with Tiller.
#[must_use]
pub fn all(in_files: &[OutputStyle]) -> Vec<(String, Option<PathBuf>)> {
    let files = in_files.iter().map(|style| (style.name.clone(), style.origin.file.clone()));
    let mut all: Vec<(String, Option<PathBuf>)> = files.collect();
    let own = std::iter::once(DEFAULT).chain(BUILT_IN.iter().map(|(name, _)| *name)).rev();
    for name in own {
        if !all.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            all.insert(0, (name.to_owned(), None));
        }
    }
    all
}

/// What a style that comes with Tiller does, in a few words.
#[must_use]
pub fn described(name: &str) -> Option<&'static str> {
    let (_, words) = DESCRIBED.iter().find(|(built_in, _)| built_in.eq_ignore_ascii_case(name))?;
    Some(words)
}

fn known(in_files: &[OutputStyle]) -> String {
    let names: Vec<String> = all(in_files).into_iter().map(|(name, _)| name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use tiller_config::{Layer, Origin};

    use super::*;

    fn style(name: &str, guidelines: &str) -> OutputStyle {
        let origin = Origin { layer: Layer::User, file: None };
        OutputStyle { name: name.to_owned(), guidelines: guidelines.to_owned(), origin }
    }

    fn guidelines(name: &str, in_files: &[OutputStyle]) -> String {
        find(name, in_files).unwrap().unwrap().guidelines
    }

    #[test]
    fn whoever_chooses_is_told_what_a_style_does() {
        for (name, file) in all(&[]) {
            assert!(file.is_none() && described(&name).is_some(), "{name}");
        }
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
        let in_files = [style("Pirate", "Say arr."), style("concise", "Be mute.")];
        assert_eq!(guidelines("pirate", &in_files), "Say arr.");
        assert_eq!(guidelines("concise", &in_files), "Be mute.");
        for (name, text) in BUILT_IN {
            assert_eq!(guidelines(name, &[]), text.trim());
        }
        let error = find("notes", &in_files).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no output style named \"notes\"; choose from default, explanatory, learning, Pirate, \
             concise, or write output-styles/notes.md"
        );
    }
}
