//! Simple changes of files: what they are, where they may be made, and what a script changes at all.

use std::path::PathBuf;

use super::Reason;
use super::files::Files;
use super::place::{Places, Where};
use super::script::Judge;
use crate::context::Context;
use crate::path::Place;
use crate::shell::{
    self, Analysis, Command, Deed, Form, Kind, Touch, Word, before_end, harmless_assignment, only_looks,
    program_name,
};

impl Judge<'_> {
    pub(super) fn changes_where_it_may(&self, command: &Command) -> Result<(), Reason> {
        self.touches_where_it_may(command)?;
        self.lands_where_it_may(command)
    }

    /// Whether a command is a simple change, whatever is put into its words, and no option among that.
    pub(super) fn changes_simply(&self, command: &Command, filled: &[Command]) -> bool {
        let options = |command: &Command| {
            let before_end = before_end(command.words()).iter();
            before_end
                .filter(|word| word.text.starts_with('-'))
                .map(|word| word.text.clone())
                .collect::<Vec<_>>()
        };
        let written = options(command);
        // What was put in was listed wherever the variable got it.
        let (readings, dirs) = match filled.is_empty() {
            true => (std::slice::from_ref(command), &command.dirs),
            false => (filled, self.places.everywhere()),
        };
        readings.iter().all(|reading| {
            let is_open = |word: &Word| word.form == Form::Dynamic && !word.lead;
            !before_end(reading.words()).iter().skip(1).any(is_open)
                && options(reading) == written
                && self.places.led(reading, dirs).is_some_and(|led| is_simple_change(&led))
        })
    }

    /// What a command names may be changed, or read, by it.
    pub(super) fn touches_where_it_may(&self, command: &Command) -> Result<(), Reason> {
        for touch in shell::touches(command) {
            let unclear = || Reason::Uncovered { what: format!("the command `{}`", command.text) };
            if touch.deed == Deed::Write && self.places.holds_hidden(&touch.word) {
                return Err(unclear());
            }
            if self.is_carried_off(&touch.dirs, command.turn) {
                return Err(unclear());
            }
            let (places, empties) = match self.places.of(&touch.word, &touch.dirs) {
                Where::Known(places) => (places, !is_into(command, &touch.word)),
                Where::Below(places, names) if is_plain_set(command, &touch, &names) => {
                    (places, names.trim_start_matches(['*', '?']).is_empty())
                }
                Where::Below(..) | Where::Elsewhere | Where::Unknown => return Err(unclear()),
            };
            for place in &places {
                let is_root = self.cx.roots.iter().any(|root| *root == place.real || *root == place.written);
                match touch.deed {
                    Deed::Write if is_root && empties => return Err(unclear()),
                    Deed::Write => drop(self.files.may_be_written(place)?),
                    _ => drop(self.files.may_be_looked_at(place)?),
                }
                if self.leads_through_a_move(command, place) {
                    return Err(unclear());
                }
                if let Some(path) = self.guarded_below(command, &touch, place) {
                    return Err(Reason::Guarded { path });
                }
            }
        }
        self.goes_where_it_may(command)
    }

    /// What is guarded and goes with a directory that a command removes, as far as that can be overlooked.
    fn guarded_below(&self, command: &Command, touch: &Touch, place: &Place) -> Option<PathBuf> {
        if !(removes(command, touch) && takes_directories(command)) {
            return None;
        }
        // No link among it is followed, so the names are enough.
        let at = |path: PathBuf| Place {
            written: place.written.join(&path),
            real: place.real.join(path),
            ..place.clone()
        };
        let mut below = self.cx.resolver.below(&place.real)?.into_iter();
        below.find_map(|path| self.files.guarded(&at(path)))
    }

    /// Whether a place lies below something that an earlier command of the script puts there, or leads through what one
    /// moves: it could be a link that leads elsewhere.
    fn leads_through_a_move(&self, command: &Command, place: &Place) -> bool {
        self.was_put_above(place, command.turn) || self.is_unsettled(place, command.turn)
    }
}

/// Whether the words of a script show all that it touches: nothing of it runs other code.
pub(crate) fn shows_what_it_touches(analysis: &Analysis) -> bool {
    let is_plain = analysis.opaque.is_none() && !analysis.background && !analysis.commands.is_empty();
    is_plain && analysis.commands.iter().all(|command| only_looks(command) || is_simple_change(command))
}

/// Whether a script changes nothing but files in the working directories, all of which its words name.
pub(crate) fn stays_inside(analysis: &Analysis, cx: &Context) -> bool {
    let is_inside = |found: Where| match found {
        Where::Known(places) => places.iter().all(|place| cx.is_inside(&place.real)),
        Where::Below(..) | Where::Elsewhere | Where::Unknown => false,
    };
    shows_what_it_touches(analysis) && changed(analysis, cx).into_iter().all(is_inside)
}

/// The places outside of the working directories that a script changes, if its words show all that it touches.
pub(crate) fn changed_outside(analysis: &Analysis, cx: &Context) -> Vec<Place> {
    if !shows_what_it_touches(analysis) {
        return Vec::new();
    }
    let files = Files { cx, tool: None };
    let known = changed(analysis, cx).into_iter().filter_map(|found| match found {
        Where::Known(places) => Some(places),
        _ => None,
    });
    // What only another process can tell, nobody can let it reach by that name.
    let is_named = |place: &Place| cx.resolver.own_view(&place.real).is_none();
    let is_outside = |place: &Place| !cx.is_inside(&place.real) && is_named(place);
    known.flatten().filter(|place| is_outside(place) && files.guarded(place).is_none()).collect()
}

/// Where a script changes something.
fn changed(analysis: &Analysis, cx: &Context) -> Vec<Where> {
    let places = Places::new(cx, analysis);
    let touches = analysis.commands.iter().flat_map(shell::touches);
    let touches = touches.chain(analysis.redirects.iter().map(shell::redirect_touch));
    let written = touches.filter(|touch| touch.deed == Deed::Write && !shell::is_sink(&touch.word));
    let named = written.map(|touch| places.of(&touch.word, &touch.dirs));
    let on_the_way = analysis.commands.iter().map(|command| places.on_the_way(command));
    named.chain(on_the_way.map(|passed| passed.map_or(Where::Unknown, Where::Known))).collect()
}

/// Programs that make simple changes to files, with the short options they may be given.
const SIMPLE_CHANGES: &[(&str, &str)] = &[
    ("cp", "rRafipnuvT"),
    ("mkdir", "pv"),
    ("mv", "finuvT"),
    ("rm", "rRfivdI"),
    ("rmdir", "pv"),
    ("tee", "a"),
    ("touch", "acm"),
];

const SIMPLE_LONG: &[&str] =
    &["--", "--recursive", "--force", "--verbose", "--parents", "--no-clobber", "--archive"];

pub(super) fn is_simple_change(command: &Command) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    let Some(name) = program_name(program) else { return false };
    let Some((_, letters)) = SIMPLE_CHANGES.iter().find(|(known, _)| *known == name) else { return false };
    let plain = command.kind == Kind::Run
        && command.is_plainly_wrapped()
        && command.assignments.iter().all(harmless_assignment);
    let understood = |word: &Word| match word.text.strip_prefix('-') {
        None => !word.splits,
        Some("") => false,
        Some(short) if word.is_literal() => {
            SIMPLE_LONG.contains(&word.text.as_str()) || short.chars().all(|letter| letters.contains(letter))
        }
        Some(_) => false,
    };
    plain && rest.iter().all(understood)
}

pub(super) fn is_mv(command: &Command) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    match program_name(program).and_then(|program| program.rsplit('/').next()) {
        Some("mv") => true,
        Some("git") => shell::possible_subcommands(rest).iter().any(|(word, _)| word.known() == Some("mv")),
        _ => false,
    }
}

/// Whether a command takes away what it touches, with everything below.
pub(super) fn removes(command: &Command, touch: &Touch) -> bool {
    let mut words = command.words().iter();
    let program = words.next().and_then(program_name).unwrap_or_default();
    match program.rsplit('/').next() {
        Some("rm" | "rmdir" | "unlink" | "shred") => touch.deed == Deed::Write,
        // The last word says where it goes.
        _ if is_mv(command) => {
            touch.deed == Deed::Write && words.next_back().is_some_and(|last| last.text != touch.word.text)
        }
        _ => false,
    }
}

/// Whether a command that removes something may remove directories with all they hold.
pub(super) fn takes_directories(command: &Command) -> bool {
    let is_recursive = |word: &Word| {
        let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(['r', 'R'])) || word.text.starts_with("--r")
    };
    let may_be = |word: &Word| word.form == Form::Dynamic && !word.lead;
    is_mv(command) || command.words().iter().any(|word| is_recursive(word) || may_be(word))
}

/// Whether a word is the directory that something is only put into.
fn is_into(command: &Command, word: &Word) -> bool {
    let name = command.words().first().and_then(program_name);
    matches!(name, Some("cp" | "mv" | "mkdir" | "touch")) && command.words().last() == Some(word)
}

/// Whether a pattern stands for files that are only read, or for files right in its directory that are moved or removed
/// themselves: nothing hidden, and nothing behind a link.
fn is_plain_set(command: &Command, touch: &Touch, names: &str) -> bool {
    let name = command.words().first().and_then(program_name);
    let is_target = name == Some("mv") && command.words().last() == Some(&touch.word);
    let removes = matches!(name, Some("mv" | "rm" | "rmdir")) && !is_target;
    touch.deed != Deed::Write || removes && !names.contains(['/', '{']) && !names.starts_with(['.', '['])
}
