//! What words become when the shell has put in the values of variables: that may be an option, several words, or nothing at
//! all.

use std::collections::BTreeMap;

use super::known_names::listed;
use super::place::Places;
use super::spelling::{Spelling, Value};
use crate::access::Script;
use crate::context::Context;
use crate::shell::{
    self, Command, Dirs, Form, GLOBS, Gaps, Number, Word, before_end, counts_up, is_computed, only_looks,
    parameter, program_name, summed,
};

/// So many ways to put values in are looked at.
const MOST: usize = 64;

/// A command in every way that values are put into its words, where all of them are known; nothing otherwise. The program
/// itself is not put in.
pub(super) fn filled(command: &Command, places: &Places<'_>) -> Vec<Command> {
    Filler { places, dirs: &command.dirs }.command(command).unwrap_or_default()
}

/// The one word that a word becomes, in every way that values are put into it; nothing if that is not known.
pub(super) fn fillings(word: &Word, dirs: &Dirs, places: &Places<'_>) -> Option<Vec<Word>> {
    let filler = Filler { places, dirs };
    let fillable = filler.fillable(word)?;
    let mut words = Vec::new();
    for way in filler.ways(std::iter::once(fillable))? {
        let [spelt] = filler.spell(word, &way)?.try_into().ok()?;
        let [one] = spelt.try_into().ok()?;
        words.push(one);
        if way.values().any(|value| value.is_sample) {
            return None;
        }
    }
    (!words.is_empty()).then_some(words)
}

/// A value for each parameter.
type Way = BTreeMap<String, Value>;

struct Filler<'a> {
    places: &'a Places<'a>,
    dirs: &'a Dirs,
}

impl Filler<'_> {
    fn command(&self, command: &Command) -> Option<Vec<Command>> {
        let (program, rest) = command.words().split_first()?;
        let known: Vec<_> = rest.iter().map(|word| listed(word, command, self.places.listings)).collect();
        let others = || rest.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(word, _)| word);
        if others().any(|word| is_whole_variable(word) && self.fillable(word).is_none()) {
            return None;
        }
        let mut commands = Vec::new();
        let mut touched = BTreeMap::new();
        let ways = self.ways(others().filter_map(|word| self.fillable(word)))?;
        if known.iter().all(Option::is_none) && ways.iter().all(BTreeMap::is_empty) {
            return None;
        }
        for way in ways {
            let named: Vec<_> = way.iter().map(|(name, value)| (name.clone(), value.settled())).collect();
            for (at, words) in self.line(rest.iter().zip(&known), &way)?.into_iter().enumerate() {
                let mut filled = command.clone();
                filled.layers.last_mut()?.words = [vec![program.clone()], words].concat();
                // A few numbers stand for all of them only where no file is named by one.
                let names: Vec<_> =
                    shell::touches(&filled).into_iter().map(|touch| (touch.word.text, touch.deed)).collect();
                if *touched.entry((named.clone(), at)).or_insert_with(|| names.clone()) != names {
                    return None;
                }
                commands.push(filled);
            }
        }
        (commands.len() <= MOST).then_some(commands)
    }

    /// Where something is put into a word, if all of that is known.
    fn fillable<'w>(&self, word: &'w Word) -> Option<(&'w Word, &'w Gaps)> {
        let gaps = word.known_gaps()?;
        let is_known = |at: &std::ops::Range<usize>| self.values(&word.text[at.clone()]).is_some();
        gaps.all.iter().all(|gap| is_known(&gap.at)).then_some((word, gaps))
    }

    /// Every way to put values into these words; nothing if there are none or too many.
    fn ways<'w>(&self, words: impl Iterator<Item = (&'w Word, &'w Gaps)>) -> Option<Vec<Way>> {
        let mut ways = vec![Way::new()];
        for expansion in words.flat_map(|(word, gaps)| gaps.all.iter().map(|gap| &word.text[gap.at.clone()]))
        {
            let name = name_of(expansion)?;
            if ways[0].contains_key(name) {
                continue;
            }
            let values = self.values(expansion)?;
            let with = |way: &Way, value: &Value| {
                let mut way = way.clone();
                way.insert(name.to_owned(), value.clone());
                way
            };
            ways = ways.iter().flat_map(|way| values.iter().map(|value| with(way, value))).collect();
            if ways.len() > MOST {
                return None;
            }
        }
        Some(ways)
    }

    /// What an expansion may put in; nothing if nobody can tell.
    fn values(&self, expansion: &str) -> Option<Vec<Value>> {
        if is_computed(expansion) {
            let held = |name: &str| self.places.variables.get(name).and_then(Option::as_ref);
            let counts = |name: &str| held(name).is_some_and(|held| held.iter().all(counts_up));
            let is_count = summed(expansion).is_some_and(|names| names.into_iter().all(counts));
            return Some(Value::samples(if is_count { Number::Count } else { Number::Any }));
        }
        let name = name_of(expansion)?;
        match self.places.variables.get(name) {
            Some(values) => {
                let values = values
                    .as_ref()?
                    .iter()
                    .map(|word| Value::all_of(word, self.places))
                    .collect::<Option<Vec<_>>>()?
                    .concat();
                (!values.is_empty()).then_some(values)
            }
            None if name == HERE => {
                let dirs = self.dirs.as_ref()?.iter().map(|dir| dir.to_str().map(Value::text));
                dirs.collect()
            }
            None => None,
        }
    }

    /// The words of a line after its program, with the values put in; in more than one way where a word may vanish.
    fn line<'w>(
        &self,
        words: impl Iterator<Item = (&'w Word, &'w Option<Vec<Word>>)>,
        way: &Way,
    ) -> Option<Vec<Vec<Word>>> {
        let mut lines = vec![Vec::new()];
        for (word, known) in words {
            let spelt = match (known, self.fillable(word)) {
                // There may be none.
                (Some(names), _) if word.splits => vec![names.clone(), Vec::new()],
                (Some(names), _) => vec![names.clone()],
                (None, Some(_)) => self.spell(word, way)?,
                (None, None) => vec![vec![word.clone()]],
            };
            lines = lines
                .iter()
                .flat_map(|line| spelt.iter().map(|words| [line.clone(), words.clone()].concat()))
                .collect();
            if lines.len() > MOST {
                return None;
            }
        }
        Some(lines)
    }

    /// The words that a word becomes.
    fn spell(&self, word: &Word, way: &Way) -> Option<Vec<Vec<Word>>> {
        let gaps = word.known_gaps()?;
        let mut spelling = Spelling::of(word, gaps);
        let mut at = 0;
        for gap in &gaps.all {
            spelling.plain(&word.text[at..gap.at.start]);
            let value = way.get(name_of(&word.text[gap.at.clone()])?)?;
            match gap.quoted {
                true => spelling.quoted(value)?,
                false => spelling.unquoted(value)?,
            }
            at = gap.at.end;
        }
        spelling.plain(&word.text[at..]);
        let may_vanish = gaps.all.iter().all(|gap| !gap.quoted);
        spelling.end(may_vanish)
    }
}

/// The variable for where the shell is.
const HERE: &str = "PWD";

/// The variable that an expansion puts in as it is.
fn name_of(expansion: &str) -> Option<&str> {
    match parameter(expansion) {
        Some((name, "")) => Some(name),
        _ if expansion == "$(pwd)" => Some(HERE),
        _ if is_computed(expansion) => Some(expansion),
        _ => None,
    }
}

/// Whether `git` only looks in some part of a script.
pub(crate) fn looks_with_git(script: &Script) -> bool {
    let analysis = shell::analyse(&script.command, &script.cwd);
    // Without looking at any file: rather too much is taken for looking than too little.
    let cx = Context::default();
    let places = Places::new(&cx, &analysis);
    let only_looks =
        |command: &Command| places.led(command, &command.dirs).is_some_and(|command| only_looks(&command));
    let looks = |command: &Command| {
        let filled = filled(command, &places);
        only_looks(command) || !filled.is_empty() && filled.iter().all(only_looks)
    };
    let is_git = |command: &Command| command.words().first().and_then(program_name) == Some("git");
    analysis.commands.iter().any(|command| is_git(command) && looks(command))
}

/// Whether a word is a variable and nothing else.
fn is_whole_variable(word: &Word) -> bool {
    word.form == Form::Dynamic && word.parameter().is_some()
}

/// Programs that only look, some of whose options read what no word names.
const PROGRAMS: &[&str] = &[
    "ag",
    "b2sum",
    "cksum",
    "du",
    "egrep",
    "fgrep",
    "grep",
    "ls",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "wc",
];

/// Whether a command that only looks may be given options that its words do not show.
pub(super) fn has_options(command: &Command, places: &Places<'_>) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    let Some(name) = program_name(program).filter(|name| PROGRAMS.contains(name)) else { return false };
    let before_end = || before_end(rest).iter();
    // The pattern of a search is no file, so nothing else is asked about it.
    let first = before_end().find(|word| !word.certain().starts_with('-'));
    let is_pattern =
        |word: &Word| name.ends_with("grep") && first.is_some_and(|first| std::ptr::eq(first, word));
    before_end().filter(|word| word.form == Form::Dynamic && (!word.lead || word.splits)).any(|word| {
        match word.beginning() {
            Some((name, behind)) => match places.variables.get(name) {
                // Where nothing is put in, the word begins with what stands behind.
                Some(Some(values)) => values.iter().any(|value| {
                    value.text.is_empty() && behind.starts_with(['-', '$'])
                        || may_begin_option(value, word.splits, places)
                }),
                Some(None) => is_pattern(word),
                None => (!comes_from_outside(name) || behind.starts_with(['-', '$'])) && is_pattern(word),
            },
            None => is_pattern(word),
        }
    })
}

/// Whether a variable that a script does not set comes from the user's environment, and not from the shell itself.
fn comes_from_outside(name: &str) -> bool {
    const OF_THE_SHELL: &[&str] = &[
        "_",
        "COPROC",
        "DIRSTACK",
        "FUNCNAME",
        "GROUPS",
        "MAPFILE",
        "OPTARG",
        "OPTIND",
        "PIPESTATUS",
        "REPLY",
    ];
    const FAMILIES: &[&str] = &["BASH", "COMP", "READLINE"];
    !name.contains('[')
        && !OF_THE_SHELL.contains(&name)
        && !FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether a value, or one of the words that it comes apart into, is an option.
fn may_begin_option(value: &Word, splits: bool, places: &Places<'_>) -> bool {
    if let Some(number) = value.as_number() {
        return number == Number::Any;
    }
    // Without quotes, what looks like a pattern is one.
    let becomes_pattern = splits && value.is_literal() && value.text.contains(GLOBS);
    let pattern = Word { form: Form::Pattern, lead: !value.text.starts_with(GLOBS), ..value.clone() };
    if becomes_pattern && (value.text.contains(char::is_whitespace) || places.may_hold_options(&pattern)) {
        return true;
    }
    let mut pieces = value.text.split_whitespace().take(if splits { usize::MAX } else { 1 });
    value.form == Form::Dynamic
        || places.may_hold_options(value)
        || splits && value.form == Form::Pattern && !places.holds_whole_names(value)
        || pieces.any(|piece| piece.starts_with('-'))
}
