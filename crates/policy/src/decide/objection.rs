//! Rules against a command, and against the files that it touches.

use super::Reason;
use super::change::{is_mv, removes};
use super::part::Part;
use super::place::Where;
use super::script::Judge;
use crate::rule::Behavior;
use crate::rule::command::{self, Match};
use crate::shell::{self, Command, Deed, Form, Touch, Word};

impl Judge<'_> {
    /// A rule against the command itself.
    pub(super) fn objection(&self, command: &Command) -> Option<Part> {
        let what = command.text.as_str();
        let touching = |behavior, least| {
            self.rules(behavior)
                .find(|(_, content)| command::touches(content, command) >= least)
                .map(|(rule, _)| rule)
        };
        if let Some(rule) = touching(Behavior::Deny, Match::Yes) {
            return Some(Part::deny(what, Reason::rule(rule)));
        }
        let rule =
            touching(Behavior::Deny, Match::Perhaps).or_else(|| touching(Behavior::Ask, Match::Perhaps));
        rule.map(|rule| Part::ask_by_rule(what, Reason::rule(rule)))
    }

    /// A rule against a file that the command names.
    pub(super) fn file_objection(&self, command: &Command) -> Option<Part> {
        let what = command.text.as_str();
        let touches = shell::touches(command);
        let objections = touches.iter().filter_map(|touch| self.touch_objection(what, touch));
        let removals = touches.iter().filter(|touch| removes(command, touch));
        let removals = removals.filter_map(|touch| self.removal_objection(what, touch));
        let moved = touches.iter().filter(|touch| touch.deed == Deed::Read && is_mv(command));
        let moved = moved.filter_map(|touch| self.move_objection(what, touch));
        let unsettled = touches.iter().filter(|touch| reads(touch) && !is_mv(command));
        let unsettled = unsettled.filter_map(|touch| self.unsettled_objection(command, touch));
        let landing = self.landing_objection(command, what);
        strictest(objections.chain(removals).chain(moved).chain(unsettled).chain(landing))
    }

    /// A rule against reading anything at all, where something is read that may lead anywhere by then.
    fn unsettled_objection(&self, command: &Command, touch: &Touch) -> Option<Part> {
        let (Where::Known(places) | Where::Below(places, _)) = self.places.of(&touch.word, &touch.dirs)
        else {
            return None;
        };
        let unsettled = places.iter().any(|place| self.is_unsettled(place, command.turn));
        if unsettled { self.files.may_read(&command.text, |_| true) } else { None }
    }

    /// A rule against reading something that would go to another name with its directory.
    fn move_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
        let Where::Known(places) = self.places.of(&touch.word, &touch.dirs) else { return None };
        places.iter().find_map(|place| self.files.read_objection_below(what, place))
    }

    /// A rule against changing something that would go with a directory.
    fn removal_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
        let (Where::Known(places) | Where::Below(places, _)) = self.places.of(&touch.word, &touch.dirs)
        else {
            return None;
        };
        places.iter().find_map(|place| self.files.objection_below(what, place))
    }

    pub(super) fn touch_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
        let reads = reads(touch);
        let writes = matches!(touch.deed, Deed::Write | Deed::Mention);
        match self.places.of(&touch.word, &touch.dirs) {
            Where::Known(places) => {
                let read =
                    places.iter().filter(|_| reads).find_map(|place| self.files.read_objection(what, place));
                let write = places
                    .iter()
                    .filter(|_| writes)
                    .find_map(|place| self.files.write_objection(what, place));
                let below = places.iter().filter(|_| reads_below(touch) || is_variable(&touch.word));
                let below = below.filter(|_| reads).find_map(|place| {
                    self.files.may_read(what, |pattern| pattern.could_fit_below(&place.written))
                });
                let parts =
                    [read, write.map(|part| soften(part, touch.deed)), below, self.unheld(touch, what)];
                strictest(parts.into_iter().flatten())
            }
            Where::Below(places, names) => {
                let links = || places.iter().filter(|place| place.real != place.written);
                let read =
                    || links().filter(|_| reads).find_map(|place| self.files.read_objection(what, place));
                let write =
                    || links().filter(|_| writes).find_map(|place| self.files.write_objection(what, place));
                let among = || {
                    places.iter().filter(|_| reads).find_map(|place| {
                        self.files.may_read(what, |pattern| match reads_below(touch) {
                            true => pattern.could_fit_below(&place.written),
                            false => pattern.could_fit_names(&place.written, &names),
                        })
                    })
                };
                let write = || write().map(|part| soften(part, touch.deed));
                strictest([read(), write(), among()].into_iter().flatten())
            }
            Where::Elsewhere | Where::Unknown if reads && touch.deed != Deed::Mention => {
                self.files.may_read(what, |_| true)
            }
            _ => None,
        }
    }

    /// A rule against reading something below a place that a program of unknown manners gets the name of. Where the kernel
    /// confines commands, that is hidden from it.
    fn unheld(&self, touch: &Touch, what: &str) -> Option<Part> {
        if touch.deed != Deed::Mention || self.cx.holding.kernel.confines() {
            return None;
        }
        self.move_objection(what, touch)
    }
}

/// Words that only might name a file that is changed make a question of a refusal.
fn soften(part: Part, deed: Deed) -> Part {
    match deed {
        Deed::Mention if part.verdict == Behavior::Deny => Part::ask(&part.what, part.reason),
        _ => part,
    }
}

/// Whether the content of what is touched may be read.
fn reads(touch: &Touch) -> bool {
    !matches!(touch.deed, Deed::Write | Deed::Look)
}

fn reads_below(touch: &Touch) -> bool {
    matches!(touch.deed, Deed::ReadBelow | Deed::ReadInside)
}

fn is_variable(word: &Word) -> bool {
    word.form == Form::Dynamic
}

/// The part that speaks most strongly against the call.
pub(crate) fn strictest(parts: impl Iterator<Item = Part>) -> Option<Part> {
    parts.max_by_key(|part| (part.verdict == Behavior::Deny, part.insists))
}
