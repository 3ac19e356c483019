//! What is reached below a place where links are followed.

use super::Reason;
use super::listed::unclear;
use super::part::Part;
use super::place::{ANY_DEPTH, Where};
use super::script::Judge;
use crate::path::Place;
use crate::shell::{Command, Touch};

/// So many directories that links lead to are looked into.
const MOST: usize = 32;

impl Judge<'_> {
    /// Everything that is reached from a place may be looked at.
    pub(super) fn reached_may_be_looked_at(&self, command: &Command, place: &Place) -> Result<(), Reason> {
        let reached = self.reached(place).ok_or_else(|| unclear(&command.text))?;
        reached.iter().try_for_each(|place| self.may_be_looked_at(place).map(drop))
    }

    /// A rule against reading something that is reached from a place.
    pub(super) fn through_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
        let (Where::Known(places) | Where::Below(places, _)) = self.places.of(&touch.word, &touch.dirs)
        else {
            return None;
        };
        let reached: Option<Vec<_>> = places.iter().map(|place| self.reached(place)).collect();
        let Some(reached) = reached else { return self.files.may_read(what, |_| true) };
        reached.concat().iter().find_map(|place| {
            let itself = self.files.read_objection(what, place);
            let below = || self.files.may_read(what, |pattern| pattern.could_fit_below(&place.real));
            itself.or_else(below)
        })
    }

    /// The place and whatever links below it, and below where they lead, lead to. `None` if nobody can tell.
    fn reached(&self, place: &Place) -> Option<Vec<Place>> {
        let resolver = &self.cx.resolver;
        if self.moved().has_links() {
            return None;
        }
        let mut reached = vec![place.clone()];
        let mut dirs = vec![place.real.clone()];
        let mut at = 0;
        while let Some(dir) = dirs.get(at).cloned() {
            at += 1;
            if !self.cx.is_inside(&dir) {
                // What lies out there nobody has looked through.
                if resolver.is_dir(&dir) {
                    return None;
                }
                continue;
            }
            for link in resolver.links(&dir, ANY_DEPTH)? {
                let target = self.cx.place(&link);
                if !dirs.iter().any(|known| target.real.starts_with(known)) {
                    dirs.push(target.real.clone());
                }
                reached.push(target);
            }
            if dirs.len() > MOST {
                return None;
            }
        }
        Some(reached)
    }
}
