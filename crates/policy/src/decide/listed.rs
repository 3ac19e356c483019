//! Where commands list names that others read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::Reason;
use super::place::{ANY_DEPTH, Places, Where};
use super::script::Judge;
use crate::path::Place;
use crate::shell::{self, Command, Word, program_name};

impl Judge<'_> {
    /// Among what the commands of the script list there may be links that lead elsewhere.
    pub(super) fn listed_may_be_looked_at(&self) -> Result<(), Reason> {
        for lister in self.analysis.commands.iter().filter(|command| shell::lists_links(command)) {
            if self.moves_links() {
                return Err(unclear(&lister.text));
            }
            for place in places(lister, &self.places)? {
                let links = self.cx.resolver.links(&place.real, ANY_DEPTH);
                let links = links.ok_or_else(|| unclear(&lister.text))?;
                for link in links.iter().filter(|link| could_list(lister, link)) {
                    self.files.may_be_looked_at(&self.cx.place(link))?;
                }
            }
        }
        Ok(())
    }

    /// Among what the commands of the script list there may be names that are taken for others.
    pub(super) fn listed_stays_whole(&self, reader: &Command) -> Result<(), Reason> {
        if !shell::gets_names(reader) {
            return Ok(());
        }
        let apart = shell::takes_names_apart(reader);
        for lister in self.analysis.commands.iter().filter(|command| shell::lists_names(command)) {
            let may_be_options = shell::lists_bare_names(lister) && !shell::ends_options(reader);
            let torn = match (apart, may_be_options) {
                (true, true) => Torn::OrOption,
                (true, false) => Torn::Apart,
                (false, true) => Torn::Option,
                (false, false) => continue,
            };
            let unclear = || Reason::Uncovered {
                what: format!(
                    "reading all that `{}` lists, of which names may be taken for others",
                    lister.text
                ),
            };
            // Nobody sees what a revision holds.
            if may_be_options && shell::lists_revisions(lister) {
                return Err(unclear());
            }
            let named = shell::touches(lister);
            let shows_all = lister.words().first().and_then(program_name) == Some("fd")
                || named.iter().any(|touch| touch.word.tilde || touch.word.text.starts_with('/'));
            for place in places(lister, &self.places)? {
                let shown = shows_all && comes_apart(&place.written.to_string_lossy());
                if apart && (shown || named.iter().any(|touch| comes_apart(&touch.word.text))) {
                    return Err(unclear());
                }
                let odd = self.cx.resolver.odd_names(&place.real).ok_or_else(unclear)?;
                let matters = |name: &PathBuf| could_list(lister, name) && is_torn(name, &place.real, torn);
                if odd.iter().any(matters) {
                    return Err(unclear());
                }
            }
        }
        Ok(())
    }
}

/// How a name is not read as what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Torn {
    /// It comes apart.
    Apart,
    /// It is taken for an option, because nothing stands in front of it.
    Option,
    /// Either.
    OrOption,
}

/// Whether a name below a directory is not read as what it is.
pub(crate) fn is_torn(name: &Path, dir: &Path, torn: Torn) -> bool {
    let below = name.strip_prefix(dir).unwrap_or(name).to_string_lossy();
    torn != Torn::Option && comes_apart(&below) || torn != Torn::Apart && below.starts_with('-')
}

/// Whether a name is not one word where words are told apart by blanks and quotes.
fn comes_apart(name: &str) -> bool {
    name.contains(|c: char| c.is_whitespace() || c.is_control() || "'\"\\".contains(c))
}

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
