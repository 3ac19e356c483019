//! What a script copies, moves and links: where a path leads that goes through such a place is not known beforehand.

use std::path::{Path, PathBuf};

use super::place::{ANY_DEPTH, Places, Where};
use crate::path::Place;
use crate::shell::{self, Analysis, Command, Deed, Touch, program_name};

/// The places that a script puts something at.
#[derive(Debug, Default)]
pub(super) struct Moved {
    moves: Vec<Move>,
}

/// What one command does.
#[derive(Debug)]
struct Move {
    /// Its place among the commands of the script.
    at: usize,
    sources: Sources,
    /// Where something is put. Nothing if nobody can tell.
    targets: Option<Vec<PathBuf>>,
}

/// What is put somewhere.
#[derive(Debug)]
enum Sources {
    /// It is, or may hold, a link: that leads elsewhere from another place.
    MayBeLinks,
    /// Files and directories without links, as they are now.
    Plain(Vec<PathBuf>),
}

impl Moved {
    pub(super) fn by(analysis: &Analysis, places: &Places<'_>) -> Self {
        let commands = analysis.commands.iter().enumerate();
        let moves = commands.filter_map(|(at, command)| Move::of(at, command, places)).collect();
        let mut moved = Self { moves };
        // What was put somewhere may be moved on from there, in any order where commands are repeated.
        while moved.spread() {}
        moved
    }

    /// Takes what comes from where links may be for links as well. False if there is no more of that.
    fn spread(&mut self) -> bool {
        let comes_from_links = |next: &Move| match &next.sources {
            Sources::Plain(sources) => sources.iter().any(|source| self.meets_links(source)),
            Sources::MayBeLinks => false,
        };
        let Some(at) = self.moves.iter().position(comes_from_links) else { return false };
        self.moves[at].sources = Sources::MayBeLinks;
        true
    }

    /// Whether a path leads through something that may be a link by the time it is used, or to a directory that may hold
    /// one.
    fn meets_links(&self, path: &Path) -> bool {
        let meets = |target: &PathBuf| path.starts_with(target) || target.starts_with(path);
        self.links().any(|targets| targets.as_ref().is_none_or(|targets| targets.iter().any(meets)))
    }

    fn links(&self) -> impl Iterator<Item = &Option<Vec<PathBuf>>> {
        let links = self.moves.iter().filter(|one| matches!(one.sources, Sources::MayBeLinks));
        links.map(|one| &one.targets)
    }

    /// Whether links come to other places at all.
    pub(super) fn has_links(&self) -> bool {
        self.links().next().is_some()
    }

    /// Whether nobody can tell where a place that is looked at will lead: links that are moved lead elsewhere, and so do
    /// other links that lead through them.
    pub(super) fn unsettles(&self, place: &Place) -> bool {
        let goes_through_a_link = place.real != place.written;
        self.meets_links(&place.written) || goes_through_a_link && self.has_links()
    }

    /// Whether a place lies below something that a command before this one puts there. Where something is changed, no link
    /// is looked for: the command could make it.
    pub(super) fn was_put_above(&self, place: &Place, before: usize) -> bool {
        let mut earlier = self.moves.iter().filter(|one| one.at < before);
        earlier.any(|one| match &one.targets {
            Some(targets) => {
                targets.iter().any(|target| place.written != *target && place.written.starts_with(target))
            }
            None => true,
        })
    }
}

impl Move {
    fn of(at: usize, command: &Command, places: &Places<'_>) -> Option<Self> {
        let name = command.words().first().and_then(program_name)?;
        let makes_links = match name.rsplit('/').next()? {
            "ln" => true,
            "cp" | "mv" => false,
            _ => return None,
        };
        let touches = shell::touches(command);
        // The last word says where it goes, unless an option does: then any of them may.
        let (written, read): (Vec<_>, Vec<_>) = touches.iter().partition(|touch| touch.deed == Deed::Write);
        let is_told_by_option = read.is_empty();
        let given = if is_told_by_option { &written } else { &read };
        let sources = if makes_links { Sources::MayBeLinks } else { Sources::of(given, places) };
        let puts = written.iter().skip(if is_told_by_option { 0 } else { written.len().saturating_sub(1) });
        let targets = puts.map(|touch| match places.of(&touch.word, &touch.dirs) {
            Where::Known(found) => Some(found),
            _ => None,
        });
        // A link that is told no name bears that of what it leads to.
        let targets = targets.collect::<Option<Vec<_>>>().filter(|_| !(makes_links && is_told_by_option));
        let paths = |place: Place| [place.written, place.real];
        let targets = targets.map(|found| found.into_iter().flatten().flat_map(paths).collect());
        Some(Self { at, sources, targets })
    }
}

impl Sources {
    /// What has another name than it bears is, or lies behind, a link.
    fn of(given: &[&Touch], places: &Places<'_>) -> Self {
        let mut sources = Vec::new();
        for touch in given {
            let (Where::Known(found) | Where::Below(found, _)) = places.of(&touch.word, &touch.dirs) else {
                return Self::MayBeLinks;
            };
            for place in found {
                let below = places.cx.resolver.links(&place.real, ANY_DEPTH);
                if place.real != place.written || below.is_none_or(|links| !links.is_empty()) {
                    return Self::MayBeLinks;
                }
                sources.push(place.written);
            }
        }
        Self::Plain(sources)
    }
}
