//! What variables and substitutions hold of which only the kind is known: names that a command of the script lists, or
//! commits that `git` tells.

use std::collections::{BTreeMap, BTreeSet};

use super::program::condition::is_name;
use super::{Dirs, Form, Word};

/// Something that is known by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Names of files, as they are to be read from one of these directories; perhaps no more than one.
    Names { dirs: Dirs, one: bool },
    /// Commits, by their hashes.
    Commits,
}

/// All that variables and substitutions of a script hold. What gets anything else as well holds nothing that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listings {
    held: BTreeMap<String, Option<Listing>>,
    /// Variables, and those that they got their values from.
    sources: BTreeSet<(String, String)>,
}

impl Listings {
    /// Notes what the name of a variable, or the text of a substitution, stands for.
    pub(super) fn note(&mut self, key: &str, listing: Listing) {
        let joined = match self.held.get(key) {
            None => Some(listing),
            Some(known) => known.as_ref().and_then(|known| known.joined(&listing)),
        };
        self.held.insert(key.to_owned(), joined);
    }

    /// Notes that a variable holds what words are, if all of them are of one kind.
    pub(super) fn note_values(&mut self, name: &str, values: &[Word]) {
        for value in values {
            // Where a variable is set, nothing comes apart.
            match self.held.get(key(&value.text)).cloned().flatten().filter(|_| value.form == Form::Dynamic) {
                Some(listing) => {
                    self.depends(name, key(&value.text));
                    self.note(name, listing);
                }
                None => self.spoil(name),
            }
        }
    }

    /// Notes that a variable holds one after the other of what words become.
    pub(super) fn note_each(&mut self, name: &str, values: &[Word]) {
        for value in values {
            match self.of(value).cloned() {
                Some(listing) => {
                    self.depends(name, key(&value.text));
                    self.note(name, listing.single());
                }
                None => self.spoil(name),
            }
        }
    }

    /// Notes that a variable holds nothing known if another one does not.
    pub(super) fn depends(&mut self, name: &str, source: &str) {
        self.sources.insert((name.to_owned(), source.to_owned()));
    }

    /// Notes that a variable may hold anything.
    pub(super) fn spoil(&mut self, name: &str) {
        self.held.insert(name.to_owned(), None);
    }

    /// Notes that any variable may hold anything.
    pub(super) fn spoil_all(&mut self) {
        self.held.values_mut().for_each(|held| *held = None);
    }

    /// Lets variables hold no more than those hold from which they got their values: those may have got others since.
    pub(super) fn settle(&mut self) {
        let is_spoilt = |held: &BTreeMap<_, Option<Listing>>, name: &str| held.get(name) == Some(&None);
        while let Some((name, _)) = self
            .sources
            .iter()
            .find(|(name, from)| is_spoilt(&self.held, from) && !is_spoilt(&self.held, name))
        {
            let name = name.clone();
            self.spoil(&name);
        }
    }

    /// What a word stands for that is a variable or a substitution and nothing else. Several lines in quotes are none of
    /// the names on them.
    pub(crate) fn of(&self, word: &Word) -> Option<&Listing> {
        let listing = self.held.get(key(&word.text)).filter(|_| word.form == Form::Dynamic)?.as_ref()?;
        let is_single = !matches!(listing, Listing::Names { one: false, .. });
        (is_single || word.splits).then_some(listing)
    }

    /// Whether a word stands for names that are read where they were listed.
    pub(crate) fn are_names(&self, word: &Word, dirs: &Dirs) -> bool {
        let Some(Listing::Names { dirs: listed, .. }) = self.of(word) else { return false };
        // The shell lists right before it reads where a word says how, but may have moved before it uses a variable.
        let is_here = |dirs: &Vec<_>| dirs.len() == 1 || !is_name(key(&word.text));
        listed == dirs && dirs.as_ref().is_some_and(is_here)
    }

    /// Whether a variable or a substitution stands for commits.
    pub(crate) fn are_commits(&self, text: &str) -> bool {
        matches!(self.held.get(key(text)), Some(Some(Listing::Commits)))
    }
}

impl Listing {
    /// The same for one of them.
    fn single(self) -> Self {
        match self {
            Self::Names { dirs, .. } => Self::Names { dirs, one: true },
            Self::Commits => Self::Commits,
        }
    }

    /// What is certain of something that is one of two. `None` if it is not of one kind.
    fn joined(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Names { dirs, one }, Self::Names { dirs: others, one: other }) if dirs == others => {
                Some(Self::Names { dirs: dirs.clone(), one: *one && *other })
            }
            (Self::Commits, Self::Commits) => Some(Self::Commits),
            _ => None,
        }
    }
}

/// The name of the variable that a text is, or the text itself.
fn key(text: &str) -> &str {
    let name = text.strip_prefix('$').unwrap_or_default();
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    if is_name(name) { name } else { text }
}
