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

impl Places<'_> {
    /// The names right in a directory, whenever the script looks there. Nothing if nobody can tell.
    pub(super) fn names_in(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        if self.makes_odd_names() { None } else { self.cx.resolver.names_in(dir) }
    }

    /// The same for names below a directory that are not read as what they are.
    pub(super) fn odd_names(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        if self.makes_odd_names() { None } else { self.cx.resolver.odd_names(dir) }
    }

    /// Whether the script may make names that are taken for others.
    fn makes_odd_names(&self) -> bool {
        *self.made.get_or_init(|| {
            let redirects = self.analysis.redirects.iter().filter(|redirect| redirect.writes);
            let mut targets = redirects.map(|redirect| &redirect.target);
            targets.any(|target| !shell::is_sink(target) && self.may_be_odd(target))
                || self.analysis.commands.iter().any(|command| self.may_make_odd_names(command))
        })
    }

    fn may_make_odd_names(&self, command: &Command) -> bool {
        let name = command.words().first().and_then(program_name).unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or(name);
        if REMOVING.contains(&name) {
            return false;
        }
        let landings = shell::landings(command);
        if !landings.is_empty() {
            return landings.iter().any(|landing| self.may_land_oddly(landing));
        }
        let touches = shell::touches(command);
        let mut written =
            touches.iter().filter(|touch| touch.deed == Deed::Write && !shell::is_sink(&touch.word));
        written.any(|touch| !TELLING.contains(&name) || self.may_be_odd(&touch.word))
    }

    /// Whether what is put somewhere, or something in it, has such a name, or gets one.
    fn may_land_oddly(&self, landing: &Landing) -> bool {
        let holds_odd = |place: &Place| match landing.with_all {
            // What lies deep below one place may lie right in another one.
            true => {
                let below = self.cx.resolver.below(&place.real);
                below.is_none_or(|below| below.iter().any(|path| is_odd(&path.to_string_lossy())))
            }
            false => self.cx.resolver.odd_names(&place.real).is_none_or(|odd| !odd.is_empty()),
        };
        let are_odd = |places: &[Place]| places.iter().any(holds_odd);
        let lands_oddly = |source: &Word| match self.of(source, &landing.dirs) {
            Where::Below(places, _) => are_odd(&places),
            Where::Known(places) => self.may_be_odd(source) || landing.with_all && are_odd(&places),
            Where::Elsewhere | Where::Unknown => true,
        };
        self.may_be_odd(&landing.target) || self.each(&landing.source).iter().any(lands_oddly)
    }

    /// Whether a name that a word gives may be taken for an option, an operator, or several names.
    fn may_be_odd(&self, word: &Word) -> bool {
        self.each(word).iter().any(|word| !word.is_literal() || is_odd(&word.text))
    }
}

/// Whether a path, or a part of it, may be taken for something else.
fn is_odd(path: &str) -> bool {
    let is_plain =
        |part: &str| part.is_empty() || part.starts_with(|c: char| c.is_alphanumeric() || "._~".contains(c));
    comes_apart(path) || path.contains(GLOBS) || !path.split('/').all(is_plain)
}
