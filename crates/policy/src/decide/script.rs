//! What is thought of a shell command: every part of it has to be fine.

use std::cell::OnceCell;
use std::path::PathBuf;

use tiller_protocol::mode::Mode;

use super::Reason;
use super::files::{Files, part};
use super::landing::Landed;
use super::moved::Moved;
use super::part::Part;
use super::place::{Places, Where};
use super::{listed, own_work, put_in};
use crate::access::Script;
use crate::context::Context;
use crate::path::Place;
use crate::prompt::{Worded, worded};
use crate::rule::command::{self, Match};
use crate::rule::{Behavior, Rule};
use crate::shell::{
    self, Analysis, Command, Deed, Form, Kind, Redirect, Touch, Word, harmless_assignment, only_looks,
    program_name,
};

/// Judges one script.
pub(crate) struct Judge<'a> {
    pub(super) cx: &'a Context,
    tool: &'a str,
    script: &'a Script,
    pub(super) analysis: &'a Analysis,
    pub(super) files: Files<'a>,
    pub(super) places: Places<'a>,
    moved: OnceCell<Moved>,
    pub(super) landed: OnceCell<Vec<Landed>>,
    pub(super) nothing_landed: Landed,
}

/// Programs that are those of a toolchain, and the files in which a project chooses one, by any path.
const BY_TOOLCHAIN: [&str; 3] = ["cargo", "rustc", "rustup"];
const TOOLCHAINS: [&str; 2] = ["rust-toolchain", "rust-toolchain.toml"];

/// The parts of a script with their verdicts.
pub(crate) fn judge(tool: &str, script: &Script, analysis: &Analysis, cx: &Context) -> Vec<Part> {
    let judge = Judge::new(tool, script, analysis, cx);
    let mut parts: Vec<Part> = judge.opaque().into_iter().collect();
    parts.extend(judge.spelt_out());
    parts.extend(judge.worded(Behavior::Deny).into_iter().chain(judge.worded(Behavior::Ask)));
    parts.extend(analysis.commands.iter().map(|command| judge.command(command)));
    parts.extend(analysis.redirects.iter().map(|redirect| judge.redirect(redirect)));
    if analysis.background && !judge.is_meant_literally() {
        let reason = Reason::Uncovered { what: "leaving a command running in the background".to_owned() };
        parts.push(Part::ask(&script.command, reason));
    }
    if parts.is_empty() {
        parts.push(Part::ask(&script.command, Reason::Opaque { why: "it holds no command" }));
    }
    parts
}

impl<'a> Judge<'a> {
    pub(super) fn new(tool: &'a str, script: &'a Script, analysis: &'a Analysis, cx: &'a Context) -> Self {
        let files = Files { cx, tool: None };
        let places = Places { cx, variables: &analysis.variables };
        Self {
            cx,
            tool,
            script,
            analysis,
            files,
            places,
            moved: OnceCell::new(),
            landed: OnceCell::new(),
            nothing_landed: Landed::default(),
        }
    }

    fn rules(&self, behavior: Behavior) -> impl Iterator<Item = (&'a Rule, &'a str)> {
        let rules = self.cx.rules.of(behavior).iter().filter(|rule| rule.tool == self.tool);
        rules.filter_map(|rule| Some((rule, rule.plain_content()?)))
    }

    /// Whether an allow rule is this very text.
    fn is_meant_literally(&self) -> bool {
        self.literal_rule().is_some()
    }

    fn literal_rule(&self) -> Option<&'a Rule> {
        let mut rules = self.rules(Behavior::Allow);
        rules.find(|(_, content)| command::is_whole_text(content, &self.script.command)).map(|(rule, _)| rule)
    }

    /// A rule against this very text.
    fn spelt_out(&self) -> Option<Part> {
        let text = self.script.command.as_str();
        let find = |behavior| self.rules(behavior).find(|(_, content)| command::is_whole_text(content, text));
        let denied = find(Behavior::Deny).map(|(rule, _)| Part::deny(text, Reason::rule(rule)));
        denied.or_else(|| find(Behavior::Ask).map(|(rule, _)| Part::ask_by_rule(text, Reason::rule(rule))))
    }

    /// The judgement on what is not understood: rules against it are looked for in the bare text.
    fn opaque(&self) -> Option<Part> {
        let why = self.analysis.opaque.or_else(|| own_work::objection(self.analysis, &self.places))?;
        let text = self.script.command.as_str();
        let touching = |behavior| {
            self.rules(behavior)
                .find(|(_, content)| command::touches_text(content, text))
                .map(|(rule, _)| rule)
        };
        if let Some(rule) = touching(Behavior::Deny) {
            return Some(Part::deny(text, Reason::rule(rule)));
        }
        if let Some(part) = self.opaque_files(text) {
            return Some(part);
        }
        if let Some(rule) = touching(Behavior::Ask) {
            return Some(Part::ask_by_rule(text, Reason::rule(rule)));
        }
        // What is not understood could be what a rule denies, however it is spelt.
        Some(match (self.literal_rule(), self.rules(Behavior::Deny).next()) {
            (Some(rule), _) => Part::allow(text, Reason::rule(rule)),
            (None, Some((denied, _))) => Part::ask_by_rule(text, Reason::rule(denied)),
            (None, None) => Part::ask(text, Reason::Opaque { why }),
        })
    }

    /// A rule in words against the whole. Where nobody can tell whether it fits, the user has to.
    fn worded(&self, behavior: Behavior) -> Option<Part> {
        let text = self.script.command.as_str();
        match worded(self.tool, self.script, behavior, self.cx) {
            Worded::Silent => None,
            Worded::Fits(rule) if behavior == Behavior::Deny => Some(Part::deny(text, Reason::prompt(rule))),
            Worded::Fits(rule) => Some(Part::ask_by_rule(text, Reason::prompt(rule))),
            Worded::Open(rule) => Some(Part::ask_by_rule(text, Reason::unchecked(rule))),
        }
    }

    fn opaque_files(&self, text: &str) -> Option<Part> {
        let dirs = Some(vec![self.script.cwd.clone()]);
        let names = text.split(|c: char| c.is_whitespace() || "'\"`;|&<>(){}=,$:".contains(c));
        let objections = names.filter(|name| !name.is_empty()).filter_map(|name| {
            let tilde = name.starts_with('~');
            let Where::Known(places) = self.places.of(&Word { tilde, ..Word::literal(name) }, &dirs) else {
                return None;
            };
            let read = places.iter().find_map(|place| self.files.read_objection(text, place));
            read.or_else(|| places.iter().find_map(|place| self.files.write_objection(text, place)))
        });
        strictest(objections)
    }

    fn command(&self, command: &Command) -> Part {
        let filled = put_in::filled(command, &self.analysis.variables);
        let readings = std::iter::once(command).chain(&filled);
        let objections = readings.flat_map(|reading| [self.objection(reading), self.file_objection(reading)]);
        if let Some(part) = strictest(objections.flatten()) {
            return part;
        }
        let what = command.text.as_str();
        let opinion = || self.rule_for(command).map(Ok).unwrap_or_else(|| self.unruled(command, &filled));
        part(what, self.leaves_guarded_alone(command).and_then(|()| opinion()))
    }

    /// A rule against the command itself.
    fn objection(&self, command: &Command) -> Option<Part> {
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
    fn file_objection(&self, command: &Command) -> Option<Part> {
        let what = command.text.as_str();
        let touches = shell::touches(command);
        let objections = touches.iter().filter_map(|touch| self.touch_objection(what, touch));
        let removals = touches.iter().filter(|touch| removes(command, touch));
        let removals = removals.filter_map(|touch| self.removal_objection(what, touch));
        let moved = touches.iter().filter(|touch| touch.deed == Deed::Read && is_mv(command));
        let moved = moved.filter_map(|touch| self.move_objection(what, touch));
        let unsettled = touches.iter().filter(|touch| reads(touch) && !is_mv(command));
        let unsettled = unsettled.filter_map(|touch| self.unsettled_objection(what, touch));
        let landing = self.landing_objection(command, what);
        strictest(objections.chain(removals).chain(moved).chain(unsettled).chain(landing))
    }

    /// A rule against reading anything at all, where something is read that may lead anywhere by then.
    fn unsettled_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
        let (Where::Known(places) | Where::Below(places, _)) = self.places.of(&touch.word, &touch.dirs)
        else {
            return None;
        };
        let unsettled = places.iter().any(|place| self.moved().unsettles(place));
        if unsettled { self.files.may_read(what, |_| true) } else { None }
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

    fn touch_objection(&self, what: &str, touch: &Touch) -> Option<Part> {
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

    /// An allow rule that covers the command and the variables it is given.
    fn rule_for(&self, command: &Command) -> Option<Reason> {
        if let Some(rule) = self.literal_rule() {
            return Some(Reason::rule(rule));
        }
        let harmless = command.assignments.iter().all(harmless_assignment);
        let mut rules = self.rules(Behavior::Allow);
        let rule = rules.find(|(_, content)| {
            command::covers(content, command) && (harmless || command::spells_assignments(content, command))
        });
        let rule = rule.map(|(rule, _)| Reason::rule(rule));
        rule.or_else(|| match worded(self.tool, self.script, Behavior::Allow, self.cx) {
            Worded::Fits(rule) if harmless && is_known(command) => Some(Reason::prompt(rule)),
            _ => None,
        })
    }

    fn leaves_guarded_alone(&self, command: &Command) -> Result<(), Reason> {
        for touch in shell::touches(command).iter().filter(|touch| touch.deed == Deed::Write) {
            if let Where::Known(places) | Where::Below(places, _) = self.places.of(&touch.word, &touch.dirs)
                && let Some(path) = places.iter().find_map(|place| self.files.guarded(place))
            {
                return Err(Reason::Guarded { path });
            }
        }
        self.lands_at_guarded(command).map_or(Ok(()), |path| Err(Reason::Guarded { path }))
    }

    /// What is thought of a command that no rule speaks of.
    /// `filled`: the same with the values that the script itself gives to the variables among its words.
    fn unruled(&self, command: &Command, filled: &[Command]) -> Result<Reason, Reason> {
        if self.only_looks(command, filled) && !self.is_chosen_by_project(command) {
            let readings = if filled.is_empty() { std::slice::from_ref(command) } else { filled };
            readings.iter().try_for_each(|reading| self.looks_where_it_may(reading))?;
            return Ok(Reason::ReadOnly);
        }
        if self.cx.mode == Mode::AcceptEdits && is_simple_change(command) {
            self.changes_where_it_may(command)?;
            return Ok(Reason::Mode { mode: self.cx.mode });
        }
        Err(Reason::Uncovered { what: format!("the command `{}`", command.text) })
    }

    /// Whether a command only looks, whatever is put into its words.
    fn only_looks(&self, command: &Command, filled: &[Command]) -> bool {
        match only_looks(command) {
            true => !put_in::has_options(command, &self.analysis.variables),
            false => !filled.is_empty() && filled.iter().all(only_looks),
        }
    }

    /// Whether a file of the project may say which program is run by that name.
    fn is_chosen_by_project(&self, command: &Command) -> bool {
        let name = command.words().first().and_then(shell::program_name);
        if !name.is_some_and(|name| BY_TOOLCHAIN.contains(&name)) {
            return false;
        }
        let is_chosen = |dir: &PathBuf| {
            let above = dir.ancestors();
            above.flat_map(|dir| TOOLCHAINS.map(|file| dir.join(file))).any(|file| file.exists())
        };
        // Where edits are not asked about, the same command may write that file first.
        self.cx.mode == Mode::AcceptEdits
            || command.dirs.as_ref().is_none_or(|dirs| dirs.iter().any(is_chosen))
    }

    fn looks_where_it_may(&self, command: &Command) -> Result<(), Reason> {
        for touch in shell::touches(command) {
            if touch.word.text == "-" {
                continue;
            }
            match self.places.of(&touch.word, &touch.dirs) {
                Where::Elsewhere => {
                    self.listed_may_be_looked_at()?;
                    self.listed_stays_whole(command)?;
                }
                Where::Known(places) | Where::Below(places, _) => {
                    for place in &places {
                        self.may_be_looked_at(place)?;
                        if touch.deed == Deed::ReadInside {
                            self.inside_may_be_looked_at(command, place)?;
                        }
                    }
                }
                Where::Unknown if self.places.lists_nothing(command, &touch) => {}
                Where::Unknown => {
                    let what = format!("reading {}, which is not known beforehand", touch.word.text);
                    return Err(Reason::Uncovered { what });
                }
            }
        }
        Ok(())
    }

    /// If a place is a directory, there may be links in it that lead elsewhere.
    fn inside_may_be_looked_at(&self, command: &Command, place: &Place) -> Result<(), Reason> {
        let links = self.cx.resolver.links(&place.real, "*").ok_or_else(|| listed::unclear(&command.text))?;
        links.iter().try_for_each(|link| self.may_be_looked_at(&self.cx.place(link)).map(drop))
    }

    fn changes_where_it_may(&self, command: &Command) -> Result<(), Reason> {
        for touch in shell::touches(command) {
            let unclear = || Reason::Uncovered { what: format!("the command `{}`", command.text) };
            if touch.deed == Deed::Write && self.places.holds_hidden(&touch.word) {
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
            }
        }
        self.lands_where_it_may(command)
    }

    pub(super) fn moved(&self) -> &Moved {
        self.moved.get_or_init(|| Moved::by(self.analysis, &self.places))
    }

    /// Whether a place lies below something that an earlier command of the script puts there: it could be a link that leads
    /// elsewhere.
    fn leads_through_a_move(&self, command: &Command, place: &Place) -> bool {
        let at = self.analysis.commands.iter().position(|one| std::ptr::eq(one, command));
        at.is_some_and(|at| self.moved().was_put_above(place, at))
    }

    /// A place may be looked at, and is where it seems to be.
    fn may_be_looked_at(&self, place: &Place) -> Result<Reason, Reason> {
        if self.moved().unsettles(place) {
            let what =
                format!("reading {}, which the command may make lead elsewhere", place.written.display());
            return Err(Reason::Uncovered { what });
        }
        self.files.may_be_looked_at(place)
    }

    pub(super) fn redirect(&self, redirect: &Redirect) -> Part {
        let touch = shell::redirect_touch(redirect);
        let what = format!("{} {}", if redirect.writes { ">" } else { "<" }, redirect.target.text);
        if shell::is_sink(&redirect.target) {
            return Part::allow(&what, Reason::ReadOnly);
        }
        if let Some(part) = self.touch_objection(&what, &touch) {
            return part;
        }
        let literal = self.literal_rule().map(Reason::rule);
        let opinion = match self.places.of(&redirect.target, &redirect.dirs) {
            Where::Known(places) if !(redirect.writes && self.places.holds_hidden(&redirect.target)) => {
                self.all_fine(&places, redirect.writes)
            }
            _ => Err(Reason::Uncovered {
                what: format!("the redirect `{what}`, whose file is not known beforehand"),
            }),
        };
        part(&what, opinion.or_else(|reason| literal.ok_or(reason)))
    }

    fn all_fine(&self, places: &[Place], writes: bool) -> Result<Reason, Reason> {
        let mut because = Reason::ReadOnly;
        // Another place that is only not known to be fine must not hide one that is guarded.
        let opinions = places.iter().filter(|_| writes).map(|place| self.files.may_be_written(place));
        if let Some(guarded) =
            opinions.filter_map(Result::err).find(|why| matches!(why, Reason::Guarded { .. }))
        {
            return Err(guarded);
        }
        for place in places {
            because = match writes {
                true => self.files.may_be_written(place)?,
                false => self.may_be_looked_at(place)?,
            };
        }
        Ok(because)
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
    known.flatten().filter(|place| !cx.is_inside(&place.real) && files.guarded(place).is_none()).collect()
}

/// Where a script changes something.
fn changed(analysis: &Analysis, cx: &Context) -> Vec<Where> {
    let places = Places { cx, variables: &analysis.variables };
    let touches = analysis.commands.iter().flat_map(shell::touches);
    let touches = touches.chain(analysis.redirects.iter().map(shell::redirect_touch));
    let written = touches.filter(|touch| touch.deed == Deed::Write && !shell::is_sink(&touch.word));
    written.map(|touch| places.of(&touch.word, &touch.dirs)).collect()
}

/// Whether the text itself says which program runs.
fn is_known(command: &Command) -> bool {
    command.kind == Kind::Run && command.words().first().and_then(program_name).is_some()
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

fn is_simple_change(command: &Command) -> bool {
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

fn is_mv(command: &Command) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    match program_name(program).and_then(|program| program.rsplit('/').next()) {
        Some("mv") => true,
        Some("git") => shell::possible_subcommands(rest).iter().any(|(word, _)| word.known() == Some("mv")),
        _ => false,
    }
}

/// Whether a command takes away what it touches, with everything below.
fn removes(command: &Command, touch: &Touch) -> bool {
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
