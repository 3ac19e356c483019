//! Where a command puts what it copies and moves, with all that lies below it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Reason;
use super::listed::fits_name;
use super::objection::strictest;
use super::part::Part;
use super::place::Where;
use super::script::{Judge, unsettled};
use crate::path::{Place, lexical};
use crate::shell::{self, Command, Deed, Form, Landing, Name, Word};

/// How many places more than at first sight each command may put something at.
const ROOM: usize = 100;

/// The places that a command puts something at.
#[derive(Debug, Default, PartialEq, Eq)]
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
        landed.places.iter().try_for_each(|place| {
            if self.is_unsettled(place, command.turn) {
                return Err(unsettled(&place.written.display().to_string()));
            }
            self.files.may_be_written(place).map(drop)
        })
    }

    fn landed(&self, command: &Command) -> &Landed {
        let all = self.landed.get_or_init(|| self.all_landed());
        let at = self.analysis.commands.iter().position(|one| std::ptr::eq(one, command));
        at.and_then(|at| all.get(at)).unwrap_or(&self.nothing_landed)
    }

    /// What each command of the script puts somewhere. What one puts there, another takes on from there, in any order,
    /// because commands may be repeated.
    fn all_landed(&self) -> Vec<Landed> {
        let commands = &self.analysis.commands;
        let round = |earlier: &[Landed]| -> Vec<Landed> {
            commands.iter().map(|command| Survey { judge: self, command, earlier }.landed()).collect()
        };
        let mut all = round(&[]);
        if commands.iter().filter(|command| !shell::landings(command).is_empty()).count() < 2 {
            return all;
        }
        let size = |all: &[Landed]| all.iter().map(|landed| landed.places.len()).sum::<usize>();
        let most = (size(&all) + ROOM) * commands.len();
        for _ in commands {
            let next = round(&all);
            if next == all {
                return all;
            }
            all = next;
            if size(&all) > most {
                break;
            }
        }
        // With every repetition there would be more.
        all.iter_mut().for_each(Landed::lose_sight);
        all
    }
}

impl Landed {
    /// What nobody follows to its end is put below each of the places.
    fn lose_sight(&mut self) {
        self.unseen.extend(self.places.iter().cloned());
    }
}

/// Looks at what one command puts where.
struct Survey<'j, 'a> {
    judge: &'j Judge<'a>,
    command: &'j Command,
    /// What the commands of the script put somewhere, as far as that is known; nothing at first.
    earlier: &'j [Landed],
}

impl Survey<'_, '_> {
    fn landed(&self) -> Landed {
        let mut landed = Landed::default();
        let places = &self.judge.places;
        let each = |landing: Landing| {
            let sources = places.each(&landing.source);
            sources.into_iter().map(move |source| Landing { source, ..landing.clone() })
        };
        for landing in shell::landings(self.command).into_iter().flat_map(each) {
            let Where::Known(targets) = places.of(&landing.target, &landing.dirs) else { continue };
            match places.of(&landing.source, &landing.dirs) {
                Where::Known(sources) => {
                    for (source, target) in
                        sources.iter().flat_map(|one| targets.iter().map(move |to| (one, to)))
                    {
                        self.land(&landing, source, target, &mut landed);
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
    fn land(&self, landing: &Landing, source: &Place, target: &Place, landed: &mut Landed) {
        let Some(names) = self.names_of(landing, source, target) else {
            return landed.unseen.push(target.clone());
        };
        for at in names {
            let place = self.judge.cx.place(&at);
            if landing.with_all {
                match self.below(source) {
                    Some(below) => self.put(&place, below, landed),
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
        let Some(below) = self.below(dir) else {
            return landed.unseen.push(target.clone());
        };
        let parts: Vec<&str> = names.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let Some((last, above)) = parts.split_last() else { return };
        // What a directory holds is put there without its name.
        let merges = landing.name == Name::OfTarget || names.ends_with("/.") || names.ends_with("/./");
        let found = below.iter().filter_map(|path| {
            let mut steps = path.components().skip(above.len()).peekable();
            let fits = fits_name(last, steps.peek()?.as_os_str());
            let is_whole = steps.clone().count() == 1;
            let is_meant = fits && (landing.with_all || is_whole);
            is_meant.then(|| match landing.name {
                Name::Path => path.clone(),
                _ => steps.skip(usize::from(merges)).collect(),
            })
        });
        let found: Vec<PathBuf> = found.collect();
        if landing.name != Name::Path {
            return self.put(target, found, landed);
        }
        let Some(paths) = paths_of(landing, dir) else { return landed.unseen.push(target.clone()) };
        for path in paths {
            self.put(target, found.iter().map(|below| path.join(below)).collect(), landed);
        }
    }

    /// Puts all of these below a place.
    fn put(&self, place: &Place, below: Vec<PathBuf>, landed: &mut Landed) {
        let cx = self.judge.cx;
        // Where there is nothing yet, no link leads elsewhere.
        let is_there = cx.resolver.is_dir(&place.real);
        landed.places.extend(below.into_iter().map(|path| match is_there {
            true => cx.place(&place.written.join(path)),
            false => {
                Place { written: place.written.join(&path), real: place.real.join(path), ..place.clone() }
            }
        }));
    }

    /// The names that something can get; nothing if nobody can tell.
    fn names_of(&self, landing: &Landing, source: &Place, target: &Place) -> Option<Vec<PathBuf>> {
        let at = |below: &Path| target.written.join(below);
        let itself = target.written.clone();
        let text = landing.source.text.trim_end_matches('/');
        let is_turn = matches!(text.rsplit('/').next(), Some("." | ".." | "")) && landing.source.is_literal();
        if landing.name == Name::Path {
            return Some(paths_of(landing, source)?.iter().map(|path| at(path)).collect());
        }
        let Some(own) = source.written.file_name().filter(|_| !is_turn) else { return Some(vec![itself]) };
        let own = at(Path::new(own));
        Some(match landing.name {
            Name::OfTarget | Name::Path => vec![itself],
            // What a variable holds may end in a dot.
            Name::Own if landing.source.form == Form::Dynamic => vec![own, itself],
            Name::Own if self.is_changed_before(target) => vec![own, itself],
            Name::Own if is_dir(&landing.target) || self.judge.cx.resolver.is_dir(&target.real) => vec![own],
            Name::Own => vec![itself],
        })
    }

    /// All that lies below a place by the time it is copied or moved, named from there; nothing if nobody can tell.
    fn below(&self, place: &Place) -> Option<Vec<PathBuf>> {
        let is_unseen = |unseen: &Place| meets(unseen, place);
        if self.earlier_of_others().any(|landed| landed.unseen.iter().any(is_unseen)) {
            return None;
        }
        let below = self.judge.cx.resolver.below(&place.real)?;
        let made = self.changed_by_others().into_iter().flatten().flatten();
        let put_there = self.earlier_of_others().flat_map(|landed| landed.places.iter().cloned());
        let named = |other: Place| Some(other.real.strip_prefix(&place.real).ok()?.to_owned());
        let names = made.chain(put_there).filter_map(named).filter(|name| !name.as_os_str().is_empty());
        Some(below.into_iter().chain(names).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Whether a place, or something that holds it or lies in it, may be changed before this command gets there: by another
    /// one, or by itself if it runs more than once.
    fn is_changed_before(&self, place: &Place) -> bool {
        let changed = self.changed_by_others();
        let meets_it = |found: &Option<Vec<Place>>| {
            found.as_ref().is_none_or(|found| found.iter().any(|other| meets(other, place)))
        };
        self.command.turn.repeats() || changed.iter().any(meets_it)
    }

    fn earlier_of_others(&self) -> impl Iterator<Item = &Landed> {
        let all = self.judge.analysis.commands.iter().zip(self.earlier);
        all.filter(|(other, _)| !std::ptr::eq(*other, self.command)).map(|(_, landed)| landed)
    }

    /// The places that other commands of the script change; `None` for each of which nobody can tell.
    fn changed_by_others(&self) -> Vec<Option<Vec<Place>>> {
        let analysis = self.judge.analysis;
        let others = analysis.commands.iter().filter(|other| !std::ptr::eq(*other, self.command));
        let redirects = analysis.redirects.iter().map(shell::redirect_touch);
        let touches = others.flat_map(shell::touches).chain(redirects);
        let written = touches.filter(|touch| touch.deed == Deed::Write);
        let found = written.map(|touch| match self.judge.places.of(&touch.word, &touch.dirs) {
            Where::Known(found) | Where::Below(found, _) => Some(found),
            Where::Elsewhere | Where::Unknown => None,
        });
        found.collect()
    }
}

/// Whether one place is, holds or lies in the other.
fn meets(one: &Place, other: &Place) -> bool {
    one.real.starts_with(&other.real) || other.real.starts_with(&one.real)
}

/// Whether a word can only mean a directory.
fn is_dir(target: &Word) -> bool {
    let last = target.text.rsplit('/').next();
    target.is_literal() && matches!(last, Some("" | "." | ".."))
}

/// The paths below its target that something may get which keeps its whole path. `None` if nobody can tell.
fn paths_of(landing: &Landing, source: &Place) -> Option<Vec<PathBuf>> {
    if landing.source.is_literal() && !landing.source.tilde {
        return Some(vec![PathBuf::from(landing.source.text.trim_start_matches('/'))]);
    }
    let dirs = landing.dirs.as_ref().filter(|_| !source.turns)?;
    let mut paths: Vec<PathBuf> = dirs
        .iter()
        .filter_map(|dir| Some(source.written.strip_prefix(lexical(dir)).ok()?.to_owned()))
        .collect();
    // What a variable holds may begin at the root.
    if paths.is_empty() || landing.source.form == Form::Dynamic {
        paths.extend(source.written.strip_prefix("/").map(Path::to_owned));
    }
    Some(paths)
}
