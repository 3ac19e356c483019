//! What is thought of a shell command: every part of it has to be fine.

use std::cell::OnceCell;
use std::path::PathBuf;

use tiller_protocol::mode::Mode;

use super::Reason;
use super::files::{Files, part};
use super::landing::Landed;
use super::moved::Moved;
use super::objection::strictest;
use super::part::Part;
use super::place::{Places, Where};
use super::{known_names, listed, own_work, put_in};
use crate::access::Script;
use crate::context::Context;
use crate::path::Place;
use crate::prompt::{Worded, worded};
use crate::rule::command;
use crate::rule::{Behavior, Rule};
use crate::shell::{
    self, Analysis, Command, Deed, Dirs, Kind, Redirect, Touch, Turn, Word, harmless_assignment, only_looks,
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
    pub(super) moved: OnceCell<Moved>,
    pub(super) landed: OnceCell<Vec<Landed>>,
    pub(super) nothing_landed: Landed,
}

/// Programs that are those of a toolchain, and the files in which a project chooses one, by any path.
const BY_TOOLCHAIN: [(&[&str], &[&str]); 2] = [
    (&["cargo", "rustc", "rustfmt", "rustup"], &["rust-toolchain", "rust-toolchain.toml"]),
    (&["go"], &["go.mod", "go.work"]),
];

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
        let places = Places::new(cx, analysis);
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

    pub(super) fn rules(&self, behavior: Behavior) -> impl Iterator<Item = (&'a Rule, &'a str)> {
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
        let filled = put_in::filled(command, &self.places);
        // Names that may be other words tell nothing.
        let has = |names: fn(&Command) -> bool| filled.iter().any(names);
        let are_whole = (!has(known_names::has_names) || self.listed_by_shell_stays_whole().is_ok())
            && (!has(known_names::has_names_of_xargs) || self.put_in_stays_whole().is_ok());
        let filled = if are_whole { filled } else { Vec::new() };
        let readings = || std::iter::once(command).chain(&filled);
        // What only looks at files whose names are known looks at no others.
        let is_known =
            !filled.is_empty() && filled.iter().all(|filled| self.looks_when_filled(command, filled));
        let looking = readings().skip(usize::from(is_known)).map(|reading| self.file_objection(reading));
        let objections = readings().map(|reading| self.objection(reading)).chain(looking);
        if let Some(part) = strictest(objections.flatten()) {
            return part;
        }
        let what = command.text.as_str();
        let opinion = || self.rule_for(command).map(Ok).unwrap_or_else(|| self.unruled(command, &filled));
        let mut readings = readings();
        part(
            what,
            readings.try_for_each(|reading| self.leaves_guarded_alone(reading)).and_then(|()| opinion()),
        )
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
        let passed = self.places.on_the_way(command).unwrap_or_default();
        let passed = passed.iter().find_map(|place| self.files.guarded(place));
        let path = passed.or_else(|| self.lands_at_guarded(command));
        path.map_or(Ok(()), |path| Err(Reason::Guarded { path }))
    }

    /// What is thought of a command that no rule speaks of.
    /// `filled`: the same with the values that the script itself gives to the variables among its words.
    fn unruled(&self, command: &Command, filled: &[Command]) -> Result<Reason, Reason> {
        let looks = self.only_looks(command, filled) && self.analysis.spells_calculations();
        if looks && !self.is_chosen_by_project(command) {
            let readings = if filled.is_empty() { std::slice::from_ref(command) } else { filled };
            readings.iter().try_for_each(|reading| self.looks_where_it_may(reading))?;
            return Ok(Reason::ReadOnly);
        }
        if self.cx.mode == Mode::AcceptEdits && self.changes_simply(command, filled) {
            // Where something lands, that is known of the command as it is written.
            if filled.is_empty() || !shell::landings(command).is_empty() {
                self.changes_where_it_may(command)?;
            }
            filled.iter().try_for_each(|reading| self.touches_where_it_may(reading))?;
            return Ok(Reason::Mode { mode: self.cx.mode });
        }
        Err(Reason::Uncovered { what: format!("the command `{}`", command.text) })
    }

    /// Whether a command only looks, whatever is put into its words.
    fn only_looks(&self, command: &Command, filled: &[Command]) -> bool {
        self.looks_whatever_is_put_in(command, &command.dirs)
            || !filled.is_empty() && filled.iter().all(|filled| self.looks_when_filled(command, filled))
    }

    /// A variable may have got its names anywhere.
    fn looks_when_filled(&self, command: &Command, filled: &Command) -> bool {
        shell::runs_no_more(command, filled)
            && self.looks_whatever_is_put_in(filled, self.places.everywhere())
    }

    /// `dirs`: where the shell lists the names that are put in.
    fn looks_whatever_is_put_in(&self, command: &Command, dirs: &Dirs) -> bool {
        let led = self.places.led(command, dirs);
        led.is_some_and(|command| only_looks(&command) && !put_in::has_options(&command, &self.places))
    }

    /// Whether a file of the project may say which program is run by that name.
    fn is_chosen_by_project(&self, command: &Command) -> bool {
        let name = command.words().first().and_then(shell::program_name);
        let chosen =
            BY_TOOLCHAIN.iter().find(|(programs, _)| name.is_some_and(|name| programs.contains(&name)));
        let Some((_, toolchains)) = chosen else { return false };
        let is_chosen = |dir: &PathBuf| {
            let above = dir.ancestors();
            above.flat_map(|dir| toolchains.iter().map(|file| dir.join(file))).any(|file| file.exists())
        };
        // Where edits are not asked about, the same command may write that file first.
        self.cx.mode == Mode::AcceptEdits
            || command.dirs.as_ref().is_none_or(|dirs| dirs.iter().any(is_chosen))
    }

    fn looks_where_it_may(&self, command: &Command) -> Result<(), Reason> {
        self.listed_has_no_meaning(command)?;
        for touch in shell::touches(command) {
            if touch.word.text == "-" {
                continue;
            }
            if self.is_carried_off(&touch.dirs, command.turn) {
                return Err(unsettled(&touch.word.text));
            }
            let program = command.words().first().and_then(program_name);
            let goes_there = matches!(program, Some("cd" | "pushd"));
            let is_put_in = !goes_there && self.analysis.listings.are_names(&touch.word, &touch.dirs);
            if is_put_in || touch.word.is_found_by_shell() {
                self.listed_by_shell_may_be_looked_at()?;
                self.below_listed_may_be_looked_at(command, &touch)?;
                continue;
            }
            match self.places.of(&touch.word, &touch.dirs) {
                Where::Elsewhere => {
                    self.below_listed_may_be_looked_at(command, &touch)?;
                    self.listed_may_be_looked_at()?;
                    self.listed_stays_whole(command)?;
                }
                Where::Known(places) | Where::Below(places, _) => {
                    for place in &places {
                        self.may_be_looked_at(place, command.turn)?;
                        if place.is_input() && touch.deed != Deed::Read {
                            return Err(listed::unclear(&command.text));
                        }
                        if touch.deed == Deed::ReadThrough {
                            self.reached_may_be_looked_at(command, place)?;
                        }
                    }
                    if touch.deed == Deed::ReadInside {
                        self.inside_may_be_looked_at(command, &touch)?;
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

    /// Among what is listed there may be directories, and links to some, with further links in them.
    fn below_listed_may_be_looked_at(&self, command: &Command, touch: &Touch) -> Result<(), Reason> {
        match touch.deed {
            Deed::ReadThrough => Err(listed::unclear(&command.text)),
            Deed::ReadInside => self.listed_insides_may_be_looked_at(),
            _ => Ok(()),
        }
    }

    /// A place may be looked at, and is where it seems to be.
    pub(super) fn may_be_looked_at(&self, place: &Place, turn: Turn) -> Result<Reason, Reason> {
        if self.is_unsettled(place, turn) {
            return Err(unsettled(&place.written.display().to_string()));
        }
        self.files.may_be_looked_at(place)
    }

    pub(super) fn redirect(&self, redirect: &Redirect) -> Part {
        let touch = shell::redirect_touch(redirect);
        let what = format!("{} {}", if redirect.writes { ">" } else { "<" }, redirect.target.text);
        if shell::is_sink(&redirect.target) {
            return Part::allow(&what, Reason::ReadOnly);
        }
        let filled = put_in::fillings(&redirect.target, &redirect.dirs, &self.places);
        let is_plain = |words: &Vec<Word>| !redirect.writes || words.iter().all(Word::is_literal);
        let targets = filled.filter(is_plain).unwrap_or_else(|| vec![redirect.target.clone()]);
        let touched = targets.iter().map(|word| Touch { word: word.clone(), ..touch.clone() });
        if let Some(part) = strictest(touched.filter_map(|touch| self.touch_objection(&what, &touch))) {
            return part;
        }
        let literal = self.literal_rule().map(Reason::rule);
        let is_put_in = self.analysis.listings.are_names(&redirect.target, &redirect.dirs);
        let opinion = match self.places.of_all(&targets, &redirect.dirs) {
            _ if is_put_in && !redirect.writes => {
                self.listed_by_shell_may_be_looked_at().map(|()| Reason::ReadOnly)
            }
            Where::Known(places) if !(redirect.writes && self.places.holds_hidden(&redirect.target)) => {
                self.all_fine(&places, redirect)
            }
            Where::Below(places, _) if !redirect.writes => self.all_fine(&places, redirect),
            _ => Err(Reason::Uncovered {
                what: format!("the redirect `{what}`, whose file is not known beforehand"),
            }),
        };
        part(&what, opinion.or_else(|reason| literal.ok_or(reason)))
    }

    fn all_fine(&self, places: &[Place], redirect: &Redirect) -> Result<Reason, Reason> {
        let mut because = Reason::ReadOnly;
        let writes = redirect.writes;
        // Another place that is only not known to be fine must not hide one that is guarded.
        let opinions = places.iter().filter(|_| writes).map(|place| self.files.may_be_written(place));
        if let Some(guarded) =
            opinions.filter_map(Result::err).find(|why| matches!(why, Reason::Guarded { .. }))
        {
            return Err(guarded);
        }
        if self.is_carried_off(&redirect.dirs, redirect.turn) {
            return Err(unsettled(&redirect.target.text));
        }
        for place in places {
            because = match writes {
                true if self.is_unsettled(place, redirect.turn) => {
                    return Err(unsettled(&redirect.target.text));
                }
                true => self.files.may_be_written(place)?,
                false => self.may_be_looked_at(place, redirect.turn)?,
            };
        }
        Ok(because)
    }
}

/// Why a place is not used in silence although it seems to be fine.
pub(super) fn unsettled(place: &str) -> Reason {
    Reason::Uncovered { what: format!("using {place}, which the command may make lead elsewhere") }
}

/// Whether the text itself says which program runs.
fn is_known(command: &Command) -> bool {
    command.kind == Kind::Run && command.words().first().and_then(program_name).is_some()
}
