//! What a script would change that decides what is allowed or run later.

use std::path::PathBuf;

use super::Reason;
use super::place::Where;
use super::put_in;
use super::script::Judge;
use crate::access::Script;
use crate::context::Context;
use crate::glob::Glob;
use crate::path::{Place, guarded_names};
use crate::rule::Behavior;
use crate::shell::{self, Analysis, Command, Deed, Form, Kind, Output, Redirect, Touch, Word};

/// What a script would change that is never changed in silence: what decides what is allowed or run later. Git tends its
/// own files, and must be able to where nothing else is asked; but it moves and writes files wherever it is told to.
pub(crate) fn guarded_change(
    tool: &str,
    script: &Script,
    analysis: &Analysis,
    cx: &Context,
) -> Option<Reason> {
    let judge = Judge::new(tool, script, analysis, cx);
    let filled = analysis.commands.iter().flat_map(|command| put_in::filled(command, &judge.places));
    let filled: Vec<Command> = filled.collect();
    let mut touches: Vec<Touch> = analysis.commands.iter().chain(&filled).flat_map(shell::changes).collect();
    touches.extend(analysis.commands.iter().flat_map(told_by_variables));
    if analysis.opaque.is_some() {
        // As it is written, and with its quotes taken away: where these end, nobody can tell.
        let bare = script.command.replace(['\'', '"', '\\'], "");
        for text in [&script.command, &bare] {
            touches.extend(shell::named_in_script(text, &Some(vec![script.cwd.clone()])));
        }
    }
    let asked = |redirect: &&Redirect| {
        let part = judge.redirect(redirect);
        part.verdict == Behavior::Ask
            && matches!(part.reason, Reason::Guarded { .. } | Reason::Uncovered { .. })
    };
    let redirects = analysis.redirects.iter().filter(|redirect| redirect.writes).filter(asked);
    touches.extend(redirects.flat_map(|redirect| {
        let touch = shell::redirect_touch(redirect);
        let words = put_in::fillings(&touch.word, &touch.dirs, &judge.places);
        let words = words.unwrap_or_else(|| vec![touch.word.clone()]);
        words.into_iter().map(move |word| Touch { word, ..touch.clone() })
    }));
    let put_in = judge.put_in(&touches, analysis);
    let named = || touches.iter().chain(&put_in).find_map(|touch| judge.steered(touch));
    let path = named().or_else(|| judge.steered_on_the_way())?;
    Some(Reason::Guarded { path })
}

/// Where variables have `git` write.
fn told_by_variables(command: &Command) -> Vec<Touch> {
    let tells = |name: &str| name == "GIT_WORK_TREE" || name.starts_with("GIT_CONFIG");
    let told = command.assignments.iter().filter(|assignment| tells(&assignment.name));
    let touch = |word: &Word| Touch { deed: Deed::Write, word: word.clone(), dirs: command.dirs.clone() };
    told.map(|assignment| touch(&assignment.value)).collect()
}

impl Judge<'_> {
    /// What may be meant by words that get their names only while the script runs: what those commands touch whose output
    /// goes to other parts of it.
    fn put_in(&self, touches: &[Touch], analysis: &Analysis) -> Vec<Touch> {
        let mut open = touches.iter().filter(|touch| self.is_open(touch)).peekable();
        if open.peek().is_none() {
            return Vec::new();
        }
        // Of what a program of unknown manners gets, only a list of names is likely to be names.
        let may_be_any = open.any(|touch| touch.deed == Deed::Write || touch.word.form == Form::Found);
        let touched = feeding(analysis).into_iter().flat_map(|command| {
            // Names are often given out as seen from there.
            let here = Touch { deed: Deed::Look, word: Word::literal("."), dirs: command.dirs.clone() };
            let runs = command.kind == Kind::Run;
            shell::touches(command).into_iter().chain(Some(here).filter(|_| runs))
        });
        touched.filter(|touch| may_be_any || touch.deed == Deed::Look).collect()
    }

    /// Whether only what else the script looks at tells what a word leads to.
    fn is_open(&self, touch: &Touch) -> bool {
        let is_put_in = match touch.word.form {
            // What goes through a pipe of its own is judged by itself.
            Form::Found => !touch.word.text.starts_with(['<', '>']),
            form => form == Form::Dynamic,
        };
        is_put_in && matches!(self.places.of(&touch.word, &touch.dirs), Where::Elsewhere | Where::Unknown)
    }

    /// What commands make or remove on their way that decides what is allowed or run later.
    fn steered_on_the_way(&self) -> Option<PathBuf> {
        let passed = self.analysis.commands.iter().filter_map(|command| self.places.on_the_way(command));
        passed.flatten().find_map(|place| self.files.steering(&place))
    }

    /// What of all that a word leads to decides what is allowed or run later. Of a word that is only mentioned, or not
    /// known as a whole, what it shows counts.
    fn steered(&self, touch: &Touch) -> Option<PathBuf> {
        let steering = |place: &Place| match touch.deed {
            Deed::Write => self.files.steering(place),
            _ => self.files.steering_inside(place),
        };
        if let Some(path) = self.guarded_by_pattern(touch) {
            return Some(path);
        }
        match self.places.of(&touch.word, &touch.dirs) {
            Where::Known(places) | Where::Below(places, _) => places.iter().find_map(steering),
            Where::Unknown => {
                let shown = self.places.shown(&touch.word, &touch.dirs);
                shown.iter().find_map(|place| self.files.steering_inside(place))
            }
            Where::Elsewhere => None,
        }
    }
}

impl Judge<'_> {
    /// What a pattern fits that decides what is allowed or run later.
    fn guarded_by_pattern(&self, touch: &Touch) -> Option<PathBuf> {
        let readings = guarded_readings(&touch.word.text);
        readings.into_iter().find_map(|text| {
            let word = Word { tilde: touch.word.tilde, ..Word::literal(&text) };
            let Where::Known(places) = self.places.of(&word, &touch.dirs) else { return None };
            places.iter().find_map(|place| self.files.steering_inside(place))
        })
    }
}

/// A path with what is guarded in the place of a pattern that fits it.
fn guarded_readings(path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let patterns = parts.iter().enumerate().filter(|(_, part)| part.contains(['*', '?', '[']));
    let readings = patterns.flat_map(|(at, part)| {
        let names = guarded_names().iter().filter(move |name| fits(part, name));
        names.map(move |name| (at, *name))
    });
    let put = |(at, name): (usize, &str)| {
        let mut parts = parts.clone();
        parts[at] = name;
        parts.join("/")
    };
    readings.map(put).collect()
}

/// Whether a shell puts a name in the place of a pattern: a dot at the beginning has to be written.
fn fits(pattern: &str, name: &str) -> bool {
    (pattern.starts_with('.') || !name.starts_with('.'))
        && Glob::new(pattern, false).is_ok_and(|glob| glob.is_match(name))
}

/// The commands whose output other parts of a script get, and the values that its variables have.
fn feeding(analysis: &Analysis) -> Vec<&Command> {
    let commands = &analysis.commands;
    let feeds = |command: &Command| command.kind != Kind::Run || command.output == Output::Fed;
    // A file is read by a redirect, or by a command that passes it on.
    let passes_on = |command: &Command| {
        let reads = |touch: &Touch| !matches!(touch.deed, Deed::Look | Deed::Write);
        command.kind == Kind::Run && feeds(command) && shell::touches(command).iter().any(reads)
    };
    let is_read =
        analysis.redirects.iter().any(|redirect| !redirect.writes) || commands.iter().any(passes_on);
    let writes = |command: &Command| shell::touches(command).iter().any(|touch| touch.deed == Deed::Write);
    let is_find = |command: &Command| {
        command.words().first().and_then(shell::program_name).is_some_and(|name| name.ends_with("find"))
    };
    let prints = |command: &Command| is_find(command) && writes(command);
    // Whatever follows may print there.
    let turns_away = |command: &Command| {
        command.output == Output::Filed && matches!(command.words(), [program] if program.text == "exec")
    };
    let is_turned_away = commands.iter().any(turns_away);
    let is_filed =
        |command: &Command| is_read && (is_turned_away || command.output == Output::Filed || prints(command));
    commands.iter().filter(|command| feeds(command) || is_filed(command)).collect()
}
