//! Rules against a command, and against the files that it touches.

use std::collections::BTreeSet;
use std::path::Path;

use super::Reason;
use super::change::{is_mv, removes, takes_directories};
use super::part::Part;
use super::place::Where;
use super::script::Judge;
use crate::path::Place;
use crate::rule::Behavior;
use crate::rule::command::{self, Match};
use crate::shell::{
    self, Command, Deed, Form, GLOBS, Kind, Touch, Word, gives_orders, harmless_assignment, program_name,
};

/// So many variables in turn are looked through for what programs are given.
const DEEPEST: usize = 64;

impl Judge<'_> {
    /// A rule against the command itself.
    pub(super) fn objection(&self, command: &Command) -> Option<Part> {
        let what = command.text.as_str();
        let given = self.given(command);
        let touching = |behavior, least| {
            self.rules(behavior)
                .find(|(_, content)| {
                    command::touches(content, command) >= least
                        || given.iter().any(|value| command::touches_text(content, value))
                })
                .map(|(rule, _)| rule)
        };
        if let Some(rule) = touching(Behavior::Deny, Match::Yes) {
            return Some(Part::deny(what, Reason::rule(rule)));
        }
        let rule =
            touching(Behavior::Deny, Match::Perhaps).or_else(|| touching(Behavior::Ask, Match::Perhaps));
        rule.map(|rule| Part::ask_by_rule(what, Reason::rule(rule)))
    }

    /// Values that a command sets, and that programs get at once or later and may run.
    fn given<'c>(&'c self, command: &'c Command) -> Vec<&'c str> {
        let all = &self.analysis.commands;
        let is_given = |name: &str| {
            command.kind == Kind::Run
                || gives_orders(name)
                || all.iter().any(|command| shell::exports(command, name))
        };
        let set = command.assignments.iter().filter(|set| !harmless_assignment(set) && is_given(&set.name));
        let mut values: Vec<&Word> = set.map(|set| &set.value).collect();
        let mut at = 0;
        // What is put in is the value of another variable, or of several in turn.
        while let Some(value) = values.get(at).copied().filter(|_| at < DEEPEST) {
            let others = all.iter().flat_map(|command| &command.assignments);
            let put_in = others.filter(|set| !value.is_literal() && value.text.contains(&set.name));
            let new: Vec<&Word> =
                put_in.map(|set| &set.value).filter(|other| !values.contains(other)).collect();
            values.extend(new);
            at += 1;
        }
        values.into_iter().map(|value| value.text.as_str()).collect()
    }

    /// A rule against a file that the command names.
    pub(super) fn file_objection(&self, command: &Command) -> Option<Part> {
        let what = command.text.as_str();
        let touches = shell::touches(command);
        let objections = touches.iter().filter_map(|touch| self.touch_objection(what, touch));
        let removals = touches.iter().filter(|touch| removes(command, touch));
        let removals = removals.filter_map(|touch| self.removal_objection(command, touch));
        let moved = touches.iter().filter(|touch| touch.deed == Deed::Read && is_mv(command));
        let moved = moved.filter_map(|touch| self.move_objection(what, touch));
        let unsettled = touches.iter().filter(|touch| reads(touch) && !is_mv(command));
        let unsettled = unsettled.filter_map(|touch| self.unsettled_objection(command, touch));
        let landing = self.landing_objection(command, what);
        let landing = landing.into_iter().chain(self.revision_objection(command));
        let through = touches.iter().filter(|touch| touch.deed == Deed::ReadThrough);
        let through = through.filter_map(|touch| self.through_objection(what, touch));
        let inside = touches.iter().filter(|touch| touch.deed == Deed::ReadInside);
        let inside = inside.filter_map(|touch| self.inside_objection(what, touch));
        let through = through.chain(inside);
        let passed = self.places.on_the_way(command).unwrap_or_default();
        let passed = passed.iter().filter_map(|place| self.files.write_objection(what, place));
        let through = through.chain(passed);
        strictest(objections.chain(removals).chain(moved).chain(unsettled).chain(landing).chain(through))
    }

    /// A rule against a file that is named in a commit: the path counts from the top of the repository, wherever the command
    /// runs.
    fn revision_objection(&self, command: &Command) -> Option<Part> {
        let (program, rest) = command.words().split_first()?;
        if program_name(program) != Some("git") {
            return None;
        }
        let paths = rest.iter().filter_map(|word| {
            let (_, path) = word.text.split_once(':')?;
            let path = path.strip_prefix("(top)").unwrap_or(path);
            Some(path.trim_start_matches(|c: char| c == '/' || c == ':' || c.is_ascii_digit()))
        });
        let paths: Vec<&str> = paths.filter(|path| !path.is_empty()).collect();
        if paths.is_empty() {
            return None;
        }
        let touches = shell::touches(command);
        let dirs = touches.iter().map(|touch| &touch.dirs).chain([&command.dirs]).flatten().flatten();
        let above = dirs.chain(&self.cx.roots).flat_map(|dir| dir.ancestors());
        let inside: BTreeSet<&Path> = above.filter(|dir| self.cx.is_inside(dir)).collect();
        let mut places =
            inside.iter().flat_map(|dir| paths.iter().map(|path| self.cx.place(&dir.join(path))));
        places.find_map(|place| {
            let itself = self.files.read_objection(&command.text, &place);
            itself.or_else(|| self.files.read_objection_below(&command.text, &place))
        })
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
    fn removal_objection(&self, command: &Command, touch: &Touch) -> Option<Part> {
        let what = command.text.as_str();
        let (Where::Known(places) | Where::Below(places, _)) = self.places.of(&touch.word, &touch.dirs)
        else {
            return None;
        };
        let known = || places.iter().find_map(|place| self.files.objection_below(what, place));
        let holds = |place: &&Place| takes_directories(command) && self.cx.resolver.is_dir(&place.real);
        let perhaps = || {
            places.iter().filter(holds).find_map(|place| {
                self.files.may_change(what, |pattern| pattern.could_fit_below(&place.written))
            })
        };
        known().or_else(perhaps)
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
                let listed = touch.deed == Deed::Write && is_variable(&touch.word);
                let listed =
                    listed && self.places.each(&touch.word).iter().any(|value| value.text.contains(GLOBS));
                let among = places.iter().filter(|_| listed).find_map(|place| {
                    let known = self.files.objection_below(what, place);
                    known.or_else(|| {
                        self.files.may_change(what, |pattern| pattern.could_fit_below(&place.written))
                    })
                });
                let write = write.map(|part| soften(part, touch.deed));
                let parts = [read, write, below, among, self.unheld(touch, what)];
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
                let among_written = || {
                    places.iter().filter(|_| touch.deed == Deed::Write).find_map(|place| {
                        self.files.may_change(what, |pattern| pattern.could_fit_names(&place.written, &names))
                    })
                };
                strictest([read(), write(), among(), among_written()].into_iter().flatten())
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
    matches!(touch.deed, Deed::ReadBelow | Deed::ReadInside | Deed::ReadThrough)
}

fn is_variable(word: &Word) -> bool {
    word.form == Form::Dynamic
}

/// The part that speaks most strongly against the call.
pub(crate) fn strictest(parts: impl Iterator<Item = Part>) -> Option<Part> {
    parts.max_by_key(|part| (part.verdict == Behavior::Deny, part.insists))
}
