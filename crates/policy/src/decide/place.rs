//! Where the words of a command lead.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::listed::{Torn, comes_apart, fits_name, is_torn};
use super::made::Made;
use crate::context::Context;
use crate::path::Place;
use crate::shell::{
    Analysis, Command, Dirs, Form, Listings, Word, alternatives, before_end, gives_meaning, has_meaning,
    program_name,
};

/// Where a word leads.
#[derive(Clone, Debug)]
pub(crate) enum Where {
    /// To one of these, depending on where the command runs.
    Known(Vec<Place>),
    /// To files below one of these, with names of this shape.
    Below(Vec<Place>, String),
    /// To something that is judged elsewhere.
    Elsewhere,
    /// Nobody can tell.
    Unknown,
}

/// The pattern for everything below a directory.
pub(crate) const ANY_DEPTH: &str = "**";

/// Finds where words lead.
pub(crate) struct Places<'a> {
    pub(crate) cx: &'a Context,
    pub(crate) variables: &'a BTreeMap<String, Option<Vec<Word>>>,
    pub(crate) listings: &'a Listings,
    /// Where anything of the script may run.
    everywhere: Dirs,
    pub(super) analysis: &'a Analysis,
    /// Which names the script makes that are taken for others.
    pub(super) made: OnceCell<Made>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(cx: &'a Context, analysis: &'a Analysis) -> Self {
        let dirs: Option<Vec<_>> = analysis.commands.iter().map(|command| command.dirs.as_ref()).collect();
        let everywhere = dirs.map(|dirs| {
            let all: BTreeSet<&PathBuf> = dirs.into_iter().flatten().collect();
            all.into_iter().cloned().collect()
        });
        Self {
            cx,
            variables: &analysis.variables,
            listings: &analysis.listings,
            everywhere,
            analysis,
            made: OnceCell::new(),
        }
    }

    pub(crate) fn of(&self, word: &Word, dirs: &Dirs) -> Where {
        match word.form {
            Form::Found => Where::Elsewhere,
            Form::Literal => match self.absolute(&word.text, word.tilde, dirs) {
                Some(paths) => Where::Known(self.places(&paths, dirs)),
                None => Where::Unknown,
            },
            Form::Pattern => self.pattern(word, dirs),
            Form::Dynamic => self.variable(word, dirs),
        }
    }

    /// Where one of several words leads; unknown unless each is known.
    pub(super) fn of_all(&self, words: &[Word], dirs: &Dirs) -> Where {
        let mut known = Vec::new();
        for word in words {
            match self.of(word, dirs) {
                Where::Known(places) => known.extend(places),
                other if words.len() == 1 => return other,
                _ => return Where::Unknown,
            }
        }
        Where::Known(known)
    }

    pub(super) fn absolute(&self, text: &str, tilde: bool, dirs: &Dirs) -> Option<Vec<PathBuf>> {
        if tilde {
            let below = text.strip_prefix('~')?;
            let below = if below.is_empty() { "" } else { below.strip_prefix('/')? };
            return (!self.cx.home.as_os_str().is_empty()).then(|| vec![self.cx.home.join(below)]);
        }
        if text.starts_with('/') {
            return Some(vec![PathBuf::from(text)]);
        }
        Some(dirs.as_ref()?.iter().map(|dir| dir.join(text)).collect())
    }

    /// Every word that braces make.
    fn pattern(&self, word: &Word, dirs: &Dirs) -> Where {
        alternatives(&word.text).map_or(Where::Unknown, |texts| self.names(&texts, word.tilde, dirs))
    }

    /// For each text the directory before its first special character, with the names below.
    fn names(&self, texts: &[String], tilde: bool, dirs: &Dirs) -> Where {
        let mut known = Vec::new();
        let mut below = Vec::new();
        let mut shape: Option<&str> = None;
        for text in texts {
            let cut = text.find(['*', '?', '[', '(']).map(|special| &text[..special]);
            let cut = cut.map(|plain| plain.rfind('/').map_or(0, |slash| slash + 1));
            let (dir, names) = text.split_at(cut.unwrap_or(text.len()));
            let dir = if dir.is_empty() { "." } else { dir };
            let paths = self.absolute(dir, tilde, dirs).filter(|_| text.starts_with('~') == tilde);
            let Some(paths) = paths.filter(|_| !leads_up(names)) else { return Where::Unknown };
            if cut.is_none() {
                known.extend(self.places(&paths, dirs));
                continue;
            }
            let links = paths.iter().map(|path| self.cx.resolver.links(path, names));
            let Some(links) = links.collect::<Option<Vec<_>>>() else { return Where::Unknown };
            below.extend(self.places(&paths, dirs).into_iter().chain(self.places(&links.concat(), dirs)));
            // A pattern that fits nothing is the name of a file itself.
            let itself = self.absolute(text, tilde, dirs).unwrap_or_default();
            below.extend(self.places(&itself, dirs).into_iter().filter(|place| place.real != place.written));
            if shape.replace(names).is_some_and(|before| before != names) {
                return Where::Unknown;
            }
        }
        match shape {
            None => Where::Known(known),
            Some(names) if known.is_empty() => Where::Below(below, names.to_owned()),
            Some(_) => Where::Unknown,
        }
    }

    /// Everything below where the command runs, with what links among it lead to.
    fn listed_below(&self, dirs: &Dirs) -> Option<Where> {
        let here = self.absolute(".", false, dirs)?;
        // Names that come apart are those of something else.
        let is_plain = |place: &Place| {
            let odd = self.odd_names(&place.real);
            odd.is_some_and(|odd| !odd.iter().any(|name| is_torn(name, &place.real, Torn::OrOption)))
        };
        self.places(&here, dirs).iter().all(is_plain).then_some(())?;
        let links = here.iter().map(|dir| self.cx.resolver.links(dir, ANY_DEPTH));
        let links = links.collect::<Option<Vec<_>>>()?.concat();
        let places = self.places(&here, dirs).into_iter().chain(self.places(&links, dirs)).collect();
        Some(Where::Below(places, "*/*".to_owned()))
    }

    /// Whether a variable holds a pattern that may stand for hidden files, or for some in other directories: those are not
    /// changed by what only the directory tells.
    pub(crate) fn holds_hidden(&self, word: &Word) -> bool {
        let is_hidden = |text: &String| {
            let special = text.find(['*', '?', '[', '(']);
            let names =
                special.map(|special| &text[text[..special].rfind('/').map_or(0, |slash| slash + 1)..]);
            names.is_some_and(|names| names.contains(['/', '{']) || names.starts_with(['.', '[']))
        };
        let mut patterns = self.values(word).into_iter().flatten().filter(|value| is_pattern(value));
        patterns.any(|value| alternatives(&value.text).is_none_or(|texts| texts.iter().any(is_hidden)))
    }

    /// The words that a word stands for: the values of a variable, or the word itself.
    pub(crate) fn each(&self, word: &Word) -> Vec<Word> {
        let values =
            self.values(word).filter(|values| values.iter().all(|value| value.form <= Form::Pattern));
        let form = |value: &Word| if word.splits && is_pattern(value) { Form::Pattern } else { value.form };
        match values {
            Some(values) => values.iter().map(|value| Word { form: form(value), ..value.clone() }).collect(),
            None => vec![word.clone()],
        }
    }

    fn values(&self, word: &Word) -> Option<&Vec<Word>> {
        let is_variable = word.form == Form::Dynamic;
        word.parameter().filter(|_| is_variable).and_then(|name| self.variables.get(name))?.as_ref()
    }

    /// A variable that got nothing but plain values in this very text.
    fn variable(&self, word: &Word, dirs: &Dirs) -> Where {
        if lists_files_below(&word.text) {
            return self.listed_below(dirs).unwrap_or(Where::Unknown);
        }
        let Some(Some(values)) = word.parameter().and_then(|name| self.variables.get(name)) else {
            return self.below_variable(word, dirs).map_or(Where::Unknown, Where::Known);
        };
        let mut known = Vec::new();
        for value in values {
            if value.text.contains(char::is_whitespace) || value.form == Form::Dynamic {
                return Where::Unknown;
            }
            // Without quotes, the shell takes what it has put in for a pattern, in which nobody knows what a backslash
            // means, and braces mean nothing.
            if word.splits && value.text.contains('\\') {
                return Where::Unknown;
            }
            let found = match is_pattern(value) && value.is_literal() {
                true => self.names(std::slice::from_ref(&value.text), value.tilde, dirs),
                false => self.of(value, dirs),
            };
            match found {
                Where::Known(places) => known.extend(places),
                // What a pattern stands for lies below its directory, which is all that counts here.
                Where::Below(places, names) => {
                    if word.splits && value.form == Form::Pattern {
                        let Some(others) = self.come_apart(&places, &names, dirs) else {
                            return Where::Unknown;
                        };
                        known.extend(others);
                    }
                    known.extend(places);
                }
                Where::Elsewhere | Where::Unknown => return Where::Unknown,
            }
        }
        Where::Known(known)
    }

    /// A plain path below what a variable holds, or below where the shell is.
    fn below_variable(&self, word: &Word, dirs: &Dirs) -> Option<Vec<Place>> {
        let (name, behind) = word.beginning()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./@+,=".contains(c);
        if !behind.chars().all(is_plain) || !(behind.is_empty() || behind.starts_with('/')) {
            return None;
        }
        let paths = match self.variables.get(name) {
            None if name == "PWD" => dirs.clone()?,
            known => {
                let values = known?.as_ref().filter(|values| values.iter().all(is_one_name))?;
                let paths = values.iter().map(|value| self.absolute(&value.text, value.tilde, dirs));
                paths.collect::<Option<Vec<_>>>()?.concat()
            }
        };
        let behind = behind.trim_start_matches('/');
        Some(self.places(&paths.iter().map(|path| path.join(behind)).collect::<Vec<_>>(), dirs))
    }

    /// What the names that a pattern stands for may lead to where they are put in without quotes: they come apart at blanks,
    /// and what looks like a pattern stands for other names. `None` if nobody can tell.
    pub(super) fn come_apart(&self, places: &[Place], names: &str, dirs: &Dirs) -> Option<Vec<Place>> {
        let resolver = &self.cx.resolver;
        let is_whole = |place: &Place| self.odd_names(&place.real).is_some_and(|odd| odd.is_empty());
        if places.iter().all(is_whole) {
            return Some(Vec::new());
        }
        // Without a slash, the pieces of a name are names of what is here.
        if names.contains('/') {
            return None;
        }
        let here = self.absolute(".", false, dirs).map(|here| self.places(&here, dirs))?;
        let links = here.iter().chain(places).map(|dir| resolver.links(&dir.real, "*"));
        let links = links.collect::<Option<Vec<_>>>()?.concat();
        Some(self.places(&links, dirs))
    }
}

impl Places<'_> {
    /// A command of which it is certain what begins the names that its patterns stand for. Nothing if that could be an
    /// option, or something else that is no name to the program. `dirs`: where the shell lists the names.
    pub(super) fn led<'c>(&self, command: &'c Command, dirs: &Dirs) -> Option<Cow<'c, Command>> {
        let program = command.words().first().and_then(program_name).unwrap_or_default();
        let gives_meaning = gives_meaning(program);
        let is_open = |word: &Word| word.form == Form::Pattern && (gives_meaning || !word.lead);
        if !command.words().iter().any(is_open) {
            return Some(Cow::Borrowed(command));
        }
        let mut led = command.clone();
        let words = &mut led.layers.last_mut()?.words;
        let options = before_end(words).len();
        for word in words.iter_mut().take(options).filter(|word| is_open(word)) {
            if self.may_name_more(program, word, dirs) {
                return None;
            }
            word.lead = true;
        }
        Some(Cow::Owned(led))
    }

    /// Whether a program could take names that a pattern stands for for options, or for what else is no name to it.
    fn may_name_more(&self, program: &str, word: &Word, dirs: &Dirs) -> bool {
        let Some(texts) = alternatives(&word.text) else { return true };
        texts.iter().any(|text| {
            let (first, behind) = text.split_at(text.find('/').unwrap_or(text.len()));
            // With a slash behind it, the name may be no operator any more.
            let means =
                |name: &str| name.starts_with('-') || has_meaning(program, &format!("{name}{behind}"));
            let is_meant =
                |name: &PathBuf| means(&name.to_string_lossy()) && fits_name(first, name.as_os_str());
            text.starts_with('-') || !text.starts_with('/') && self.some_name(dirs, is_meant)
        })
    }

    /// Whether a program takes some name right in a directory for something else, or may do so.
    pub(super) fn holds_meaning(&self, program: &str, dir: &Path) -> bool {
        let names = self.names_in(dir);
        names.is_none_or(|names| names.iter().any(|name| has_meaning(program, &name.to_string_lossy())))
    }

    /// Where anything of the script may run.
    pub(super) fn everywhere(&self) -> &Dirs {
        &self.everywhere
    }

    /// The same for what a variable holds, wherever in the script it got that.
    pub(super) fn may_hold_options(&self, value: &Word) -> bool {
        value.form == Form::Pattern && !value.lead && self.may_name_more("", value, &self.everywhere)
    }

    /// Whether each name that a variable may hold stays one word where it is put in without quotes.
    pub(super) fn holds_whole_names(&self, value: &Word) -> bool {
        // Where no name fits, the pattern itself is put in.
        let is_simple = value.form == Form::Pattern
            && !value.text.contains(['{', '\\', '('])
            && !comes_apart(&value.text);
        let (dir, last) = value.text.rsplit_once('/').unwrap_or(("", &value.text));
        let is_odd = |name: &PathBuf| {
            let text = name.to_string_lossy();
            comes_apart(&text) || text.contains(['*', '?', '['])
        };
        let is_meant = |name: &PathBuf| is_odd(name) && fits_name(last, name.as_os_str());
        let dirs = self.absolute(if dir.is_empty() { "." } else { dir }, value.tilde, &self.everywhere);
        is_simple
            && !dir.contains(['*', '?', '['])
            && !self.some_name_of(&dirs, |dir| self.whole_names_in(dir), is_meant)
    }

    /// Whether there is such a name right in one of these directories, or may be.
    fn some_name(&self, dirs: &Dirs, is_such: impl Fn(&PathBuf) -> bool) -> bool {
        self.some_name_of(dirs, |dir| self.names_in(dir), is_such)
    }

    fn some_name_of(
        &self,
        dirs: &Dirs,
        names_in: impl Fn(&Path) -> Option<Vec<PathBuf>>,
        is_such: impl Fn(&PathBuf) -> bool,
    ) -> bool {
        let Some(dirs) = dirs else { return true };
        let names = |dir: &PathBuf| names_in(&self.cx.place(dir).real);
        dirs.iter().any(|dir| names(dir).is_none_or(|names| names.iter().any(&is_such)))
    }

    /// Where a word might lead of which only a part is known: as it is written, and with the values that the variable at its
    /// beginning gets in this very text.
    pub(crate) fn shown(&self, word: &Word, dirs: &Dirs) -> Vec<Place> {
        let name = beginning(&word.text);
        let with_value = |value: &Word, behind: &str| Word {
            text: format!("{}{behind}", value.text),
            form: Form::Literal,
            ..value.clone()
        };
        let values = name.and_then(|(name, behind)| Some((self.variables.get(name)?.as_ref()?, behind)));
        let words =
            values.iter().flat_map(|(values, behind)| values.iter().map(|value| with_value(value, behind)));
        let as_written = Word { form: Form::Literal, ..word.clone() };
        // Nobody may know where the command runs, or whose home is meant.
        let anywhere = Some(self.cx.roots.clone());
        let paths = words.chain([as_written]).filter_map(|word| {
            let path = self.absolute(&word.text, word.tilde, dirs);
            path.or_else(|| self.absolute(&word.text, false, &anywhere))
        });
        paths.flat_map(|paths| self.places(&paths, dirs)).collect()
    }
}

/// The variable that a text seems to begin with, and what stands behind that.
fn beginning(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('$')?;
    Some(match rest.strip_prefix('{') {
        Some(braced) => braced.split_once('}').unwrap_or((braced, "")),
        None => {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            rest.split_at(end)
        }
    })
}

/// Whether a value is one word wherever it is put in, and means itself.
pub(super) fn is_one_name(value: &Word) -> bool {
    let is_special = |c: char| c.is_whitespace() || "*?[{\\".contains(c);
    value.is_literal() && !value.text.is_empty() && !value.text.contains(is_special)
}

/// Whether a value is a pattern where it is put in without quotes.
fn is_pattern(value: &Word) -> bool {
    value.form == Form::Pattern || value.text.contains(['*', '?', '['])
}

/// Whether a part of a pattern could stand for `..`, or for what only some shells understand.
fn leads_up(names: &str) -> bool {
    // No second dot, or a third character. Not every shell takes `[^.]` for that.
    let is_other = |rest: &str| ["[!.]", "??"].iter().any(|begin| rest.starts_with(begin));
    let could = |part: &str| {
        part == ".."
            || part.strip_prefix('.').is_some_and(|rest| rest.starts_with(['*', '?', '[']) && !is_other(rest))
    };
    names.contains('(') || names.split('/').any(could)
}

/// Whether a word is what `git ls-files` prints: names of files below the directory it runs in. What it is asked must not
/// lead elsewhere.
fn lists_files_below(text: &str) -> bool {
    let command = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')).map(str::trim);
    let Some(asked) = command.and_then(|command| command.strip_prefix("git ls-files")) else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-./*'\"".contains(c);
    let is_inside = |word: &str| {
        let word = word.trim_matches(['\'', '"']);
        !word.starts_with(['/', '-']) && !word.contains("..")
    };
    (asked.is_empty() || asked.starts_with(' '))
        && asked.chars().all(is_plain)
        && asked.split_whitespace().all(is_inside)
}
