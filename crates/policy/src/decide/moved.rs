//! What a script copies, moves, links and removes: where a path leads that goes through such a place, or from a directory
//! that is moved itself, is not known beforehand.

use std::path::{Path, PathBuf};

use super::listed::fits_name;
use super::place::{ANY_DEPTH, Places, Where};
use super::script::Judge;
use crate::path::Place;
use crate::shell::{self, Command, Deed, Dirs, Landing, Manner, Touch, Turn, program_name};

/// The places that a script puts something at, and takes something away from.
#[derive(Debug, Default)]
pub(super) struct Moved {
    moves: Vec<Move>,
    /// What is removed.
    removals: Vec<(Turn, Touch)>,
}

/// One thing that a command puts somewhere.
#[derive(Debug)]
struct Move {
    turn: Turn,
    sources: Sources,
    /// Where it is put. Nothing if nobody can tell.
    targets: Option<Vec<PathBuf>>,
    taken: Taken,
}

/// What bears another name afterwards.
#[derive(Debug, Default)]
struct Taken {
    these: Vec<PathBuf>,
    /// Some of what lies in these.
    among: Vec<PathBuf>,
}

/// What is put somewhere.
#[derive(Debug)]
enum Sources {
    /// It is, or may hold, a link: that leads elsewhere from another place.
    MayBeLinks,
    /// Files and directories without links, as they are now.
    Plain(Vec<PathBuf>),
}

impl Judge<'_> {
    fn moved(&self) -> &Moved {
        self.moved.get_or_init(|| Moved::by(&self.analysis.commands, &self.places))
    }

    /// Whether links come to other places at all.
    pub(super) fn moves_links(&self) -> bool {
        self.moved().links().next().is_some()
    }

    /// Whether nobody can tell where a place will lead by the time it is used.
    pub(super) fn is_unsettled(&self, place: &Place, turn: Turn) -> bool {
        let goes_round = place.real != place.written || place.turns;
        let moved = self.moved();
        moved.meets_links(place, Some(turn))
            || goes_round && moved.links().any(|one| turn.may_follow(one.turn))
            || goes_round && self.loses_links(turn)
    }

    /// Whether links may be removed before a part of the script: what was made in their place leads elsewhere.
    fn loses_links(&self, turn: Turn) -> bool {
        let mut earlier = self.moved().removals.iter().filter(|(removal, _)| turn.may_follow(*removal));
        earlier.any(|(_, touch)| {
            let found = self.places.of(&touch.word, &touch.dirs);
            matches!(Sources::of(&found, &self.places), Sources::MayBeLinks)
        })
    }

    /// Whether a place lies below something that a command before this one puts there. Where a command changes something,
    /// no link is looked for: another could make it.
    pub(super) fn was_put_above(&self, place: &Place, turn: Turn) -> bool {
        let mut earlier = self.moved().moves.iter().filter(|one| one.turn.at < turn.at);
        let lies_below = |target: &PathBuf| {
            [&place.written, &place.real].iter().any(|path| *path != target && path.starts_with(target))
        };
        earlier.any(|one| one.targets.as_ref().is_none_or(|targets| targets.iter().any(lies_below)))
    }

    /// Whether the shell may stand in a directory that is somewhere else by then, with all that lies above it.
    pub(super) fn is_carried_off(&self, dirs: &Dirs, turn: Turn) -> bool {
        let moves =
            self.moved().moves.iter().filter(|one| turn.at == one.turn.at || turn.may_follow(one.turn));
        let mut taken = moves.map(|one| &one.taken).filter(|taken| !taken.is_nothing()).peekable();
        if taken.peek().is_none() {
            return false;
        }
        let stood_in: Vec<Place> = dirs.iter().flatten().map(|dir| self.cx.place(dir)).collect();
        let stands_in =
            |taken: &Taken| stood_in.iter().any(|dir| taken.holds(&dir.written) || taken.holds(&dir.real));
        taken.any(stands_in)
    }
}

impl Moved {
    fn by(commands: &[Command], places: &Places<'_>) -> Self {
        let of_command = |command: &Command| {
            let each = |landing: Landing| {
                let sources = places.each(&landing.source).into_iter();
                sources.map(move |source| Landing { source, ..landing.clone() })
            };
            let landings = shell::landings(command).into_iter().flat_map(each);
            landings.filter_map(|landing| Move::of(command.turn, &landing, places)).collect::<Vec<_>>()
        };
        let moves = commands.iter().flat_map(of_command).collect();
        let removals = commands.iter().filter(|command| removes(command));
        let removals = removals
            .flat_map(|command| shell::touches(command).into_iter().map(|touch| (command.turn, touch)));
        let removals = removals.filter(|(_, touch)| touch.deed == Deed::Write).collect();
        let mut moved = Self { moves, removals };
        // What was put somewhere may be moved on from there, in any order where commands are repeated.
        while moved.spread() {}
        moved
    }

    /// Takes what comes from where links may be for links as well. False if there is no more of that.
    fn spread(&mut self) -> bool {
        let comes_from_links = |next: &Move| match &next.sources {
            Sources::Plain(sources) => {
                sources.iter().any(|source| self.meets_links(&Place::from(source.clone()), None))
            }
            Sources::MayBeLinks => false,
        };
        let Some(at) = self.moves.iter().position(comes_from_links) else { return false };
        self.moves[at].sources = Sources::MayBeLinks;
        true
    }

    /// Whether a path leads through something that may be a link by the time it is used, or to a directory that may hold
    /// one. Without a turn, that is any time.
    fn meets_links(&self, place: &Place, turn: Option<Turn>) -> bool {
        let meets = |target: &PathBuf| {
            let meets = |path: &Path| path.starts_with(target) || target.starts_with(path);
            meets(&place.written) || meets(&place.real)
        };
        let mut links = self.links().filter(|one| turn.is_none_or(|turn| turn.may_follow(one.turn)));
        links.any(|one| one.targets.as_ref().is_none_or(|targets| targets.iter().any(meets)))
    }

    fn links(&self) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(|one| matches!(one.sources, Sources::MayBeLinks))
    }
}

impl Move {
    fn of(turn: Turn, landing: &Landing, places: &Places<'_>) -> Option<Self> {
        let source = places.of(&landing.source, &landing.dirs);
        let sources = match landing.manner {
            Manner::Content => return None,
            Manner::Linked => Sources::MayBeLinks,
            Manner::Copied | Manner::Moved => Sources::of(&source, places),
        };
        let paths =
            |found: Vec<Place>| found.into_iter().flat_map(|place| [place.written, place.real]).collect();
        let targets = match places.of(&landing.target, &landing.dirs) {
            Where::Known(found) => Some(paths(found)),
            _ => None,
        };
        let taken = match source {
            Where::Known(found) if landing.manner == Manner::Moved => {
                Taken { these: paths(found), ..Taken::default() }
            }
            Where::Below(found, _) if landing.manner == Manner::Moved => {
                Taken { among: paths(found), ..Taken::default() }
            }
            _ => Taken::default(),
        };
        Some(Self { turn, sources, targets, taken })
    }
}

impl Taken {
    fn is_nothing(&self) -> bool {
        self.these.is_empty() && self.among.is_empty()
    }

    fn holds(&self, dir: &Path) -> bool {
        self.these.iter().any(|taken| dir.starts_with(taken))
            || self.among.iter().any(|around| dir != around && dir.starts_with(around))
    }
}

impl Sources {
    /// What has another name than it bears is, or lies behind, a link.
    fn of(source: &Where, places: &Places<'_>) -> Self {
        let (found, names) = match source {
            Where::Known(found) => (found, ""),
            Where::Below(found, names) => (found, names.as_str()),
            Where::Elsewhere | Where::Unknown => return Self::MayBeLinks,
        };
        let holds_links = |place: &Place| {
            let below = places.cx.resolver.links(&place.real, ANY_DEPTH);
            let is_meant = |link: &PathBuf| lies_among(link, &place.real, names);
            place.real != place.written || below.is_none_or(|links| links.iter().any(is_meant))
        };
        if found.iter().any(holds_links) {
            return Self::MayBeLinks;
        }
        Self::Plain(found.iter().map(|place| place.written.clone()).collect())
    }
}

/// Whether a path is, or lies below, something in a directory that a pattern stands for.
fn lies_among(path: &Path, dir: &Path, names: &str) -> bool {
    let parts = names.split('/').filter(|part| !matches!(*part, "" | "."));
    let below = path.strip_prefix(dir).unwrap_or(path);
    parts.zip(below.components()).all(|(part, name)| fits_name(part, name.as_os_str()))
}

/// Whether a command takes what it names away.
fn removes(command: &Command) -> bool {
    let name = command.words().first().and_then(program_name).unwrap_or_default();
    matches!(name.rsplit('/').next(), Some("rm" | "rmdir" | "unlink"))
}
