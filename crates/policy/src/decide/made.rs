//! Names that a script makes itself: what is on disk before it runs does not tell of them.

use std::path::{Path, PathBuf};

use super::listed::comes_apart;
use super::place::{Places, Where};
use crate::path::Place;
use crate::shell::{self, Command, Deed, GLOBS, Landing, Word, program_name};

/// Programs whose words tell the names that they make.
const TELLING: &[&str] =
    &["chmod", "chown", "cp", "install", "ln", "mkdir", "mv", "sed", "tee", "touch", "truncate"];
/// Programs that make none.
const REMOVING: &[&str] = &["rm", "rmdir", "shred", "unlink"];

/// What names that a script makes may be taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    /// Options, operators and the like.
    meaning: bool,
    /// Several names.
    apart: bool,
}

impl Made {
    fn all() -> Self {
        Self { meaning: true, apart: true }
    }

    fn of(path: &str) -> Self {
        let is_plain = |part: &str| {
            part.is_empty() || part.starts_with(|c: char| c.is_alphanumeric() || "._~".contains(c))
        };
        Self { meaning: !path.split('/').all(is_plain), apart: comes_apart(path) || path.contains(GLOBS) }
    }

    fn any(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |one, other| Self {
            meaning: one.meaning || other.meaning,
            apart: one.apart || other.apart,
        })
    }
}

impl Places<'_> {
    /// The names right in a directory, whenever the script looks there, as far as the beginnings of names matter. Nothing if
    /// nobody can tell.
    pub(super) fn names_in(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        if self.made().meaning { None } else { self.cx.resolver.names_in(dir) }
    }

    /// The same where it matters whether names stay whole.
    pub(super) fn whole_names_in(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        if self.made().apart { None } else { self.cx.resolver.names_in(dir) }
    }

    /// The names below a directory that are not read as what they are.
    pub(super) fn odd_names(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        if self.made() == Made::default() { self.cx.resolver.odd_names(dir) } else { None }
    }

    /// Which names the script may make.
    fn made(&self) -> Made {
        *self.made.get_or_init(|| {
            let redirects = self.analysis.redirects.iter().filter(|redirect| redirect.writes);
            let targets = redirects.map(|redirect| &redirect.target).filter(|target| !shell::is_sink(target));
            let redirected = targets.map(|target| self.named(target));
            let made = self.analysis.commands.iter().map(|command| self.made_by(command));
            Made::any(redirected.chain(made))
        })
    }

    fn made_by(&self, command: &Command) -> Made {
        let name = command.words().first().and_then(program_name).unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or(name);
        if REMOVING.contains(&name) {
            return Made::default();
        }
        let landings = shell::landings(command);
        if !landings.is_empty() {
            return Made::any(landings.iter().map(|landing| self.landed(landing)));
        }
        let touches = shell::touches(command);
        let written =
            touches.iter().filter(|touch| touch.deed == Deed::Write && !shell::is_sink(&touch.word));
        Made::any(written.map(|touch| match TELLING.contains(&name) {
            true => self.named(&touch.word),
            false => Made::all(),
        }))
    }

    /// The names of what is put somewhere, of what is in it, and of where it goes.
    fn landed(&self, landing: &Landing) -> Made {
        let held = |place: &Place| {
            // What lies deep below one place may lie right in another one.
            let names = match landing.with_all {
                true => self.cx.resolver.below(&place.real),
                false => self.cx.resolver.odd_names(&place.real),
            };
            let below =
                |path: &PathBuf| Made::of(&path.strip_prefix(&place.real).unwrap_or(path).to_string_lossy());
            names.map_or_else(Made::all, |names| Made::any(names.iter().map(below)))
        };
        let all_held = |places: &[Place]| Made::any(places.iter().map(held));
        let source = |source: &Word| match self.of(source, &landing.dirs) {
            Where::Below(places, _) => all_held(&places),
            Where::Known(places) if landing.with_all => Made::any([self.named(source), all_held(&places)]),
            Where::Known(_) => self.named(source),
            Where::Elsewhere | Where::Unknown => Made::all(),
        };
        let sources = self.each(&landing.source);
        Made::any(sources.iter().map(source).chain([self.named(&landing.target)]))
    }

    /// The names that a word gives.
    fn named(&self, word: &Word) -> Made {
        let words = self.each(word);
        Made::any(words.iter().map(|word| if word.is_literal() { Made::of(&word.text) } else { Made::all() }))
    }
}
