//! Where commands list names that others read.

use std::ffi::OsStr;
use std::path::Path;

use globset::GlobBuilder;

use super::Reason;
use super::place::{Places, Where};
use crate::path::Place;
use crate::shell::{self, Command, Word, program_name};

/// The directories that a command lists.
pub(crate) fn places(lister: &Command, places: &Places<'_>) -> Result<Vec<Place>, Reason> {
    let mut named: Vec<_> =
        shell::touches(lister).into_iter().map(|touch| (touch.word, touch.dirs)).collect();
    // What `git` is asked may be about revisions.
    if named.is_empty() || lister.words().first().and_then(program_name) == Some("git") {
        named.push((Word::literal("."), lister.dirs.clone()));
    }
    let mut all = Vec::new();
    for (word, dirs) in named {
        match places.of(&word, &dirs) {
            Where::Known(places) | Where::Below(places, _) => all.extend(places),
            // It lies below what another one lists.
            Where::Elsewhere => {}
            Where::Unknown => return Err(unclear(&lister.text)),
        }
    }
    Ok(all)
}

/// Whether a link can be among what a command lists, as far as that says which names it wants.
pub(crate) fn could_list(lister: &Command, link: &Path) -> bool {
    let name = link.file_name().unwrap_or_default();
    shell::found_names(lister).into_iter().filter(|wanted| is_plain(wanted)).all(|wanted| {
        let glob = GlobBuilder::new(wanted).literal_separator(true).build();
        glob.is_ok_and(|glob| glob.compile_matcher().is_match(name))
    })
}

/// Whether a name can be among what a part of a shell pattern stands for.
pub(crate) fn fits_name(part: &str, name: &OsStr) -> bool {
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    if is_hidden && part.starts_with(|c: char| c.is_alphanumeric() || "*?_-".contains(c)) {
        return false;
    }
    let glob = GlobBuilder::new(part).literal_separator(true).build();
    !is_plain(part) || glob.is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

/// Whether a pattern means the same to everybody.
fn is_plain(pattern: &str) -> bool {
    pattern.chars().all(|c| c.is_alphanumeric() || "._-*?".contains(c))
}

/// Why what is listed cannot be read in silence.
pub(crate) fn unclear(lister: &str) -> Reason {
    Reason::Uncovered {
        what: format!("reading all that `{lister}` lists, of which links may lead elsewhere"),
    }
}
