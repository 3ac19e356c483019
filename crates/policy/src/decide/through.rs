//! What is reached below a place where links are followed.

use super::Reason;
use super::listed::unclear;
use super::objection::strictest;
use super::part::Part;
use super::place::{ANY_DEPTH, Where};
use super::script::Judge;
use crate::path::Place;
use crate::rule::pattern::Pattern;
use crate::shell::{Command, Touch};

/// So many directories that links lead to are looked into.
const MOST: usize = 32;

/// Places that are reached, of which there may be more than anybody can tell.
struct Reached {
    places: Vec<Place>,
    is_all: bool,
}

impl Judge<'_> {
    /// Everything that is reached from a place may be looked at.
    pub(super) fn reached_may_be_looked_at(&self, command: &Command, place: &Place) -> Result<(), Reason> {
        let reached = self.reached(place);
        reached.places.iter().try_for_each(|place| self.may_be_looked_at(place, command.turn).map(drop))?;
        if reached.is_all { Ok(()) } else { Err(unclear(&command.text)) }
    }

    /// A rule against reading something that is reached from a place.
    pub(super) fn through_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
        let (Where::Known(places) | Where::Below(places, _)) = self.places.of(&touch.word, &touch.dirs)
        else {
            return None;
        };
        let objections = places.iter().filter_map(|place| {
            let reached = self.reached(place);
            let beyond = || self.files.may_read(what, |_| true);
            let beyond = (!reached.is_all).then(beyond).flatten();
            strictest(reached.places.iter().filter_map(|place| self.objection_at(what, place)).chain(beyond))
        });
        strictest(objections)
    }

    /// A rule against reading a place, or something below it.
    fn objection_at(&self, what: &str, place: &Place) -> Option<Part> {
        let could_fit =
            |pattern: &Pattern| [&place.real, &place.written].iter().any(|dir| pattern.could_fit_below(dir));
        let below = || self.files.may_read(what, could_fit);
        self.files.read_objection(what, place).or_else(below)
    }

    /// The place and whatever links below it, and below where they lead, lead to.
    fn reached(&self, place: &Place) -> Reached {
        let resolver = &self.cx.resolver;
        let mut reached = Reached { places: vec![place.clone()], is_all: !self.moves_links() };
        let mut dirs = vec![place.real.clone()];
        let mut at = 0;
        while let Some(dir) = dirs.get(at).filter(|_| at < MOST).cloned() {
            at += 1;
            // What lies out there nobody has looked through.
            if !self.cx.is_inside(&dir) {
                reached.is_all &= !resolver.is_dir(&dir);
                continue;
            }
            let Some(links) = resolver.links(&dir, ANY_DEPTH) else {
                reached.is_all = false;
                continue;
            };
            for target in links.iter().map(|link| self.cx.place(link)) {
                if !dirs.iter().any(|known| target.real.starts_with(known)) {
                    dirs.push(target.real.clone());
                }
                reached.places.push(target);
            }
        }
        reached.is_all &= at == dirs.len();
        reached
    }
}
