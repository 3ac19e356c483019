//! Where commands list names that others read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Reason;
use super::place::{ANY_DEPTH, Places, Where};
use super::put_in;
use super::script::Judge;
use crate::glob::Glob;
use crate::path::Place;
use crate::shell::{self, Command, Form, Word, program_name};

impl Judge<'_> {
    /// Among what the commands of the script list there may be links that lead elsewhere.
    pub(super) fn listed_may_be_looked_at(&self) -> Result<(), Reason> {
        self.listers_are_told_what_is_written()?;
        for lister in self.analysis.commands.iter().filter(|command| shell::lists_links(command)) {
            if self.moves_links() {
                return Err(unclear(&lister.text));
            }
            self.lists_no_directories(lister)?;
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

    /// What variables put into the words of the commands that list makes them list nothing else.
    fn listers_are_told_what_is_written(&self) -> Result<(), Reason> {
        let listers = self.analysis.commands.iter().filter(|command| shell::lists_names(command));
        for lister in listers {
            let program = lister.words().first().and_then(program_name).unwrap_or_default();
            let words = self.others_than_listed(lister);
            let keeps =
                |filled: &Command| shell::keeps_options(program, &words, &self.others_than_listed(filled));
            if !put_in::filled(lister, &self.places).iter().all(keeps) {
                return Err(unclear(&lister.text));
            }
        }
        Ok(())
    }

    /// Among what the commands of the script list there may be names that a program takes for something else.
    pub(super) fn listed_has_no_meaning(&self, reader: &Command) -> Result<(), Reason> {
        let program = reader.words().first().and_then(program_name);
        let is_given_names = || self.others_than_listed(reader).len() < reader.words().len();
        let Some(program) = program.filter(|program| shell::gives_meaning(program) && is_given_names())
        else {
            return Ok(());
        };
        let is_bare = |command: &&Command| shell::lists_names(command) && shell::lists_bare_names(command);
        for lister in self.analysis.commands.iter().filter(is_bare) {
            let places = places(lister, &self.places)?;
            if places.iter().any(|place| self.places.holds_meaning(program, &place.real)) {
                return Err(taken_for_others(lister));
            }
        }
        Ok(())
    }

    /// The words of a command, program included, without those that stand for names that others list.
    fn others_than_listed(&self, command: &Command) -> Vec<Word> {
        let is_listed =
            |word: &Word| word.form == Form::Found || self.analysis.listings.are_names(word, &command.dirs);
        command.words().iter().filter(|word| !is_listed(word)).cloned().collect()
    }

    /// What a directory holds is shown without it, and would be looked for elsewhere.
    fn lists_no_directories(&self, lister: &Command) -> Result<(), Reason> {
        for word in shell::shown_inside(lister) {
            let Where::Below(places, shape) = self.places.of(word, &lister.dirs) else {
                return Err(unclear(&lister.text));
            };
            let last = shape.rsplit('/').next().unwrap_or(&shape);
            // Nothing but directories.
            if last.is_empty() {
                return Err(unclear(&lister.text));
            }
            for place in places {
                let below = self.cx.resolver.below(&place.real).ok_or_else(|| unclear(&lister.text))?;
                let is_shown = |name: &PathBuf| {
                    fits_name(last, name.file_name().unwrap_or_default())
                        && self.cx.resolver.is_dir(&place.real.join(name))
                };
                if below.iter().any(is_shown) {
                    return Err(unclear(&lister.text));
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
        self.listed_is_not(Dangers {
            apart: shell::takes_names_apart(reader),
            options: !shell::ends_options(reader),
            patterns: false,
        })
    }

    /// What commands of the script list are names that are read as what they are, however they are told apart.
    pub(super) fn put_in_stays_whole(&self) -> Result<(), Reason> {
        self.listed_is_not(Dangers { apart: true, options: true, patterns: false })
    }

    /// What commands of the script list and the shell puts into words may be read.
    pub(super) fn listed_by_shell_may_be_looked_at(&self) -> Result<(), Reason> {
        self.listed_may_be_looked_at()?;
        self.listed_by_shell_stays_whole()
    }

    /// What commands of the script list and the shell puts into words are names that are read as what they are.
    pub(super) fn listed_by_shell_stays_whole(&self) -> Result<(), Reason> {
        // Between listing and reading, the script may do anything else.
        let writes = |touch: shell::Touch| touch.deed == shell::Deed::Write;
        let changes = |command: &&Command| shell::touches(command).into_iter().any(writes);
        if let Some(command) = self.analysis.commands.iter().find(changes) {
            return Err(unclear(&command.text));
        }
        self.listed_is_not(Dangers { apart: true, options: true, patterns: true })
    }

    fn listed_is_not(&self, dangers: Dangers) -> Result<(), Reason> {
        let apart = dangers.apart;
        for lister in self.analysis.commands.iter().filter(|command| shell::lists_names(command)) {
            let may_be_options = dangers.options && shell::lists_bare_names(lister);
            let torn = match (apart, may_be_options) {
                (true, true) => Torn::OrOption,
                (true, false) => Torn::Apart,
                (false, true) => Torn::Option,
                (false, false) => continue,
            };
            // All links below are looked at where `git` lists, so no pattern leads out of there.
            let is_glob = |name: &Path| dangers.patterns && may_list_others(lister, name);
            let unclear = || taken_for_others(lister);
            // Nobody sees what a revision holds.
            if may_be_options && shell::lists_revisions(lister) {
                return Err(unclear());
            }
            let mut named = shell::touches(lister);
            // Those of others are judged where these list them.
            named.retain(|touch| !self.places.listings.are_names(&touch.word, &touch.dirs));
            let shows_all = lister.words().first().and_then(program_name) == Some("fd")
                || named.iter().any(|touch| touch.word.tilde || touch.word.text.starts_with('/'));
            for place in places(lister, &self.places)? {
                let shown = shows_all && comes_apart(&place.written.to_string_lossy());
                if apart && (shown || named.iter().any(|touch| comes_apart(&touch.word.text))) {
                    return Err(unclear());
                }
                let odd = self.places.odd_names(&place.real).ok_or_else(unclear)?;
                let matters = |name: &PathBuf| {
                    could_list(lister, name) && (is_torn(name, &place.real, torn) || is_glob(name))
                };
                if odd.iter().any(matters) {
                    return Err(unclear());
                }
            }
        }
        Ok(())
    }
}

/// What names may be taken for where they are put in.
#[derive(Clone, Copy)]
struct Dangers {
    /// Several names.
    apart: bool,
    options: bool,
    patterns: bool,
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

/// Whether the shell may take a name for a pattern that fits others than those that are looked at anyway.
fn may_list_others(lister: &Command, name: &Path) -> bool {
    let is_pattern = |part: &str| part.contains(['*', '?', '[']);
    let looks_at_all = lister.words().first().and_then(program_name) == Some("git");
    name.iter().map(|part| part.to_string_lossy()).any(|part| {
        // Such a part could lead up.
        is_pattern(&part) && (!looks_at_all || part.starts_with('.'))
    })
}

/// Whether a name is not one word where words are told apart by blanks and quotes.
pub(super) fn comes_apart(name: &str) -> bool {
    name.contains(|c: char| c.is_whitespace() || c.is_control() || "'\"\\".contains(c))
}

/// The directories that a command lists.
pub(crate) fn places(lister: &Command, places: &Places<'_>) -> Result<Vec<Place>, Reason> {
    let mut named: Vec<_> =
        shell::touches(lister).into_iter().map(|touch| (touch.word, touch.dirs)).collect();
    // What `git` is asked may be about revisions.
    // Where nothing is listed, no word is left.
    let may_vanish = |(word, dirs): &(Word, _)| word.splits && places.listings.are_names(word, dirs);
    if named.iter().all(may_vanish) || lister.words().first().and_then(program_name) == Some("git") {
        named.push((Word::literal("."), lister.dirs.clone()));
    }
    let mut all = Vec::new();
    for (word, dirs) in named {
        // It lies below what another one lists.
        if places.listings.are_names(&word, &dirs) {
            continue;
        }
        match places.of(&word, &dirs) {
            Where::Known(places) | Where::Below(places, _) => all.extend(places),
            // It lies below what another one lists.
            Where::Elsewhere => {}
            Where::Unknown => return Err(unclear(&lister.text)),
        }
    }
    if lister.words().get(1).and_then(Word::known) == Some("diff") {
        let dirs = lister.dirs.iter().flatten();
        all.extend(dirs.filter_map(|dir| repository_around(dir)).map(|top| places.cx.place(top)));
    }
    Ok(all)
}

/// The top of the repository that a directory lies in, if that is another one: `git diff` names what changed in all of it.
fn repository_around(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|above| above.join(".git").exists()).filter(|top| *top != dir)
}

/// Whether a link can be among what a command lists, as far as that says which names it wants.
pub(crate) fn could_list(lister: &Command, link: &Path) -> bool {
    let name = link.file_name().unwrap_or_default();
    shell::found_names(lister)
        .into_iter()
        .filter(|wanted| is_plain(wanted))
        .all(|wanted| Glob::new(wanted, true).is_ok_and(|glob| glob.is_match(name)))
}

/// Whether a name can be among what a part of a shell pattern stands for.
pub(crate) fn fits_name(part: &str, name: &OsStr) -> bool {
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    if is_hidden && part.starts_with(|c: char| c.is_alphanumeric() || "*?_-".contains(c)) {
        return false;
    }
    !is_plain(part) || Glob::new(part, true).is_ok_and(|glob| glob.is_match(name))
}

/// Whether a pattern means the same to everybody.
fn is_plain(pattern: &str) -> bool {
    pattern.chars().all(|c| c.is_alphanumeric() || "._-*?".contains(c))
}

/// Why what is listed cannot be put into words in silence.
fn taken_for_others(lister: &Command) -> Reason {
    Reason::Uncovered {
        what: format!("reading all that `{}` lists, of which names may be taken for others", lister.text),
    }
}

/// Why what is listed cannot be read in silence.
pub(crate) fn unclear(lister: &str) -> Reason {
    Reason::Uncovered {
        what: format!("reading all that `{lister}` lists, of which links may lead elsewhere"),
    }
}
