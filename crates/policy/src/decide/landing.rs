//! Where a command puts what it copies and moves, with all that lies below it.

use std::path::{Component, Path, PathBuf};

use super::Reason;
use super::listed::fits_name;
use super::part::Part;
use super::place::Where;
use super::script::{Judge, strictest};
use crate::path::Place;
use crate::shell::{self, Command, Deed, Form, Landing, Name, Word};

/// The places that a command puts something at.
#[derive(Debug, Default)]
pub(super) struct Landed {
    places: Vec<Place>,
    /// What nobody has seen all of is put below these.
    unseen: Vec<Place>,
}

impl Judge<'_> {
    /// A rule against changing what the command puts something in the place of.
    pub(super) fn landing_objection(&self, command: &Command, what: &str) -> Option<Part> {
        let landed = self.landed(command);
        let known = self.files.write_objection_among(what, &landed.places);
        // What is not seen is not known to be what the rule speaks of.
        let unseen = landed.unseen.iter().filter_map(|place| self.files.objection_below(what, place));
        let unseen = unseen.map(|part| Part::ask_by_rule(&part.what, part.reason));
        strictest(known.into_iter().chain(unseen))
    }

    /// Something that is never changed without a question, and that the command puts something in the place of.
    pub(super) fn lands_at_guarded(&self, command: &Command) -> Option<PathBuf> {
        self.landed(command).places.iter().find_map(|place| self.files.guarded(place))
    }

    /// Whether all that the command puts somewhere may be changed there.
    pub(super) fn lands_where_it_may(&self, command: &Command) -> Result<(), Reason> {
        let landed = self.landed(command);
        if !landed.unseen.is_empty() {
            let what = format!("the command `{}`, which copies or moves too much to look at", command.text);
            return Err(Reason::Uncovered { what });
        }
        landed.places.iter().try_for_each(|place| self.files.may_be_written(place).map(drop))
    }

    fn landed(&self, command: &Command) -> &Landed {
        let all = self.landed.get_or_init(|| {
            self.analysis.commands.iter().map(|command| self.landed_by(command)).collect::<Vec<_>>()
        });
        let at = self.analysis.commands.iter().position(|one| std::ptr::eq(one, command));
        at.and_then(|at| all.get(at)).unwrap_or(&self.nothing_landed)
    }

    fn landed_by(&self, command: &Command) -> Landed {
        let mut landed = Landed::default();
        let each = |landing: Landing| {
            let sources = self.places.each(&landing.source);
            sources.into_iter().map(move |source| Landing { source, ..landing.clone() })
        };
        for landing in shell::landings(command).into_iter().flat_map(each) {
            let Where::Known(targets) = self.places.of(&landing.target, &landing.dirs) else { continue };
            match self.places.of(&landing.source, &landing.dirs) {
                Where::Known(sources) => {
                    for (source, target) in
                        sources.iter().flat_map(|one| targets.iter().map(move |to| (one, to)))
                    {
                        self.land(command, &landing, source, target, &mut landed);
                    }
                }
                Where::Below(dirs, names) => {
                    for (dir, target) in dirs.iter().flat_map(|one| targets.iter().map(move |to| (one, to))) {
                        self.land_some(&landing, (dir, &names), target, &mut landed);
                    }
                }
                // Unknown names are not looked for anywhere.
                Where::Elsewhere | Where::Unknown => {}
            }
        }
        landed
    }

    /// Puts one thing somewhere.
    fn land(
        &self,
        command: &Command,
        landing: &Landing,
        source: &Place,
        target: &Place,
        landed: &mut Landed,
    ) {
        for at in self.names_of(command, landing, source, target) {
            let place = self.cx.place(&at);
            if landing.with_all {
                match self.cx.resolver.below(&source.real) {
                    Some(mut below) => {
                        below.extend(self.made_by_others(command, source));
                        self.put(&place, below, landed);
                    }
                    None => landed.unseen.push(place.clone()),
                }
            }
            landed.places.push(place);
        }
    }

    /// Puts what a pattern stands for somewhere, each by its own name.
    fn land_some(
        &self,
        landing: &Landing,
        (dir, names): (&Place, &str),
        target: &Place,
        landed: &mut Landed,
    ) {
        let Some(below) = self.cx.resolver.below(&dir.real) else {
            return landed.unseen.push(target.clone());
        };
        let parts: Vec<&str> = names.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let Some((last, above)) = parts.split_last() else { return };
        // What a directory holds is put there without its name.
        let merges = landing.name == Name::OfTarget || names.ends_with("/.") || names.ends_with("/./");
        let found = below.iter().filter_map(|path| {
            let mut steps = path.components().skip(above.len()).peekable();
            let fits = fits_name(last, steps.peek()?.as_os_str());
            let landing_path: PathBuf = steps.skip(usize::from(merges)).collect();
            let is_whole = landing_path.components().count() <= usize::from(!merges);
            let is_meant = fits && (landing.with_all || is_whole);
            is_meant.then_some(landing_path)
        });
        self.put(target, found.collect(), landed);
    }

    /// Puts all of these below a place.
    fn put(&self, place: &Place, below: Vec<PathBuf>, landed: &mut Landed) {
        // Where there is nothing yet, no link leads elsewhere.
        let is_there = self.cx.resolver.is_dir(&place.real);
        landed.places.extend(below.into_iter().map(|path| match is_there {
            true => self.cx.place(&place.written.join(path)),
            false => Place { written: place.written.join(&path), real: place.real.join(path) },
        }));
    }

    /// The names that something can get.
    fn names_of(&self, command: &Command, landing: &Landing, source: &Place, target: &Place) -> Vec<PathBuf> {
        let at = |below: &Path| target.written.join(below);
        let itself = target.written.clone();
        let text = landing.source.text.trim_end_matches('/');
        let is_turn = matches!(text.rsplit('/').next(), Some("." | ".." | "")) && landing.source.is_literal();
        let Some(own) = source.written.file_name().filter(|_| !is_turn) else { return vec![itself] };
        let own = at(Path::new(own));
        match landing.name {
            Name::OfTarget => vec![itself],
            Name::Path if landing.source.is_literal() => vec![at(&plain_path(text))],
            Name::Path => vec![own, itself],
            // What a variable holds may end in a dot.
            Name::Own if landing.source.form == Form::Dynamic => vec![own, itself],
            Name::Own if self.is_changed_by_another(command, target) => vec![own, itself],
            Name::Own if is_dir(&landing.target) || self.cx.resolver.is_dir(&target.real) => vec![own],
            Name::Own => vec![itself],
        }
    }

    /// What other commands of the script make below a place, named from there.
    fn made_by_others(&self, command: &Command, place: &Place) -> Vec<PathBuf> {
        let made = self.changed_by_others(command).into_iter().flatten().flatten();
        let below = made.filter_map(|other| Some(other.real.strip_prefix(&place.real).ok()?.to_owned()));
        below.filter(|path| !path.as_os_str().is_empty()).collect()
    }

    /// Whether another command of the script changes a place, or something that holds it or lies in it.
    fn is_changed_by_another(&self, command: &Command, place: &Place) -> bool {
        let meets =
            |other: &Place| place.real.starts_with(&other.real) || other.real.starts_with(&place.real);
        let changed = self.changed_by_others(command);
        changed.iter().any(|found| found.as_ref().is_none_or(|found| found.iter().any(meets)))
    }

    /// The places that other commands of the script change; `None` for each of which nobody can tell.
    fn changed_by_others(&self, command: &Command) -> Vec<Option<Vec<Place>>> {
        let others = self.analysis.commands.iter().filter(|other| !std::ptr::eq(*other, command));
        let redirects = self.analysis.redirects.iter().map(shell::redirect_touch);
        let touches = others.flat_map(shell::touches).chain(redirects);
        let written = touches.filter(|touch| touch.deed == Deed::Write);
        let found = written.map(|touch| match self.places.of(&touch.word, &touch.dirs) {
            Where::Known(found) | Where::Below(found, _) => Some(found),
            Where::Elsewhere | Where::Unknown => None,
        });
        found.collect()
    }
}

/// Whether a word can only mean a directory.
fn is_dir(target: &Word) -> bool {
    let last = target.text.rsplit('/').next();
    target.is_literal() && matches!(last, Some("" | "." | ".."))
}

/// A path without what leads it to the root or up.
fn plain_path(text: &str) -> PathBuf {
    let normal = |part: Component<'_>| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        _ => None,
    };
    Path::new(text).components().filter_map(normal).collect()
}
