//! What words become when the shell has put in the values of variables: that may be an option, several words, or nothing at
//! all.

use std::collections::BTreeMap;

use super::place::Places;
use crate::shell::{
    self, Command, Dirs, Form, GLOBS, Gaps, Number, Word, counts_up, ends, is_computed, parameter,
    program_name, summed,
};

/// So many ways to put values in are looked at.
const MOST: usize = 64;
/// Numbers that stand for all of them; negative ones look like options.
const NUMBERS: &[&str] = &["0", "7", "123456", "-3"];
/// Braces that count further than this are not spelt out.
const FURTHEST: i64 = 20;

/// A command in every way that values are put into its words, where all of them are known; nothing otherwise. The program
/// itself is not put in.
pub(super) fn filled(command: &Command, places: &Places<'_>) -> Vec<Command> {
    Filler { places, dirs: &command.dirs }.command(command).unwrap_or_default()
}

/// The one word that a word becomes, in every way that values are put into it; nothing if that is not known.
pub(super) fn fillings(word: &Word, dirs: &Dirs, places: &Places<'_>) -> Option<Vec<Word>> {
    let filler = Filler { places, dirs };
    let mut words = Vec::new();
    for way in filler.ways(filler.fillable(word).into_iter())? {
        let [spelt] = filler.spell(word, &way)?.try_into().ok()?;
        let [one] = spelt.try_into().ok()?;
        words.push(one);
        if way.values().any(|value| value.is_sample) {
            return None;
        }
    }
    (!words.is_empty()).then_some(words)
}

/// What an expansion puts in.
#[derive(Clone, Debug)]
struct Value {
    text: String,
    form: Form,
    tilde: bool,
    /// Whether it stands for any number.
    is_sample: bool,
    /// Whether each name that it stands for as a pattern is one word without quotes.
    stays_whole: bool,
}

impl Value {
    fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            form: Form::Literal,
            tilde: false,
            is_sample: false,
            stays_whole: false,
        }
    }

    fn samples(number: Number) -> Vec<Self> {
        let fits = |sample: &&&str| number == Number::Any || !sample.starts_with('-');
        let sample = |number: &&str| Self { is_sample: true, ..Self::text(number) };
        NUMBERS.iter().filter(fits).map(sample).collect()
    }

    /// Every value that a word may be that a variable was set to; nothing if nobody can tell.
    fn all_of(word: &Word, places: &Places<'_>) -> Option<Vec<Self>> {
        if let Some(number) = word.as_number() {
            return Some(Self::samples(number));
        }
        if let Some(numbers) = counted(word) {
            return Some(numbers.map(|number| Self::text(&number.to_string())).collect());
        }
        let stays_whole = places.holds_whole_names(word);
        let value = Self { form: word.form, tilde: word.tilde, stays_whole, ..Self::text(&word.text) };
        (word.form <= Form::Pattern).then(|| vec![value])
    }
}

/// The numbers that braces count through, if they are few.
fn counted(word: &Word) -> Option<impl Iterator<Item = i64> + use<>> {
    let (first, last) = ends(word).filter(|_| word.form == Form::Pattern)?;
    let plain = |number: &str| number.parse::<i64>().ok().filter(|parsed| parsed.to_string() == number);
    let (first, last) = (plain(first)?, plain(last)?);
    let (least, most) = (first.min(last), first.max(last));
    (most.checked_sub(least)? < FURTHEST).then_some(least..=most)
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
        if rest.iter().any(|word| is_whole_variable(word) && self.fillable(word).is_none()) {
            return None;
        }
        let mut commands = Vec::new();
        let mut touched = BTreeMap::new();
        for way in self.ways(rest.iter().filter_map(|word| self.fillable(word)))? {
            let named: Vec<_> = way.iter().map(|(name, value)| (name.clone(), value.settled())).collect();
            for (at, words) in self.line(rest, &way)?.into_iter().enumerate() {
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
        (!ways[0].is_empty()).then_some(ways)
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
    fn line(&self, words: &[Word], way: &Way) -> Option<Vec<Vec<Word>>> {
        let mut lines = vec![Vec::new()];
        for word in words {
            let spelt = match self.fillable(word) {
                Some(_) => self.spell(word, way)?,
                None => vec![vec![word.clone()]],
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
        let mut spelling = Spelling { tilde: word.tilde, globs: gaps.globs, ..Spelling::default() };
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

impl Value {
    /// The same for all samples.
    fn settled(&self) -> Option<String> {
        (!self.is_sample).then(|| self.text.clone())
    }
}

/// Words as they come about.
#[derive(Default)]
struct Spelling {
    done: Vec<String>,
    text: String,
    tilde: bool,
    /// Whether some of it is a pattern.
    globs: bool,
    /// Whether some of it looks like a pattern and is none.
    is_ambiguous: bool,
}

/// Characters that mean something in patterns besides those that make one.
const SPECIAL: &[char] = &['*', '?', '[', ']', '{', '}', ',', '(', ')', '\\'];

impl Spelling {
    /// What stands in the word itself. What it means there is said by the word.
    fn plain(&mut self, text: &str) {
        self.is_ambiguous |= text.contains(['{', '(', '\\']);
        self.text.push_str(text);
    }

    /// Nothing if it becomes something else than it says.
    fn quoted(&mut self, value: &Value) -> Option<()> {
        self.begin(value)?;
        match value.form {
            // The name of some file.
            Form::Pattern => self.globs = true,
            _ => self.is_ambiguous |= value.text.contains(SPECIAL),
        }
        self.text.push_str(&value.text);
        Some(())
    }

    fn unquoted(&mut self, value: &Value) -> Option<()> {
        self.begin(value)?;
        if value.form == Form::Pattern && value.stays_whole {
            return self.quoted(value);
        }
        // The name of a file may come apart.
        if value.form == Form::Pattern || value.text.contains('\\') {
            return None;
        }
        if value.text.contains(GLOBS) {
            self.globs = true;
            self.is_ambiguous |= value.text.contains(['{', '(', ',']);
        }
        for c in value.text.chars() {
            match c {
                ' ' | '\t' | '\n' if self.text.is_empty() => {}
                ' ' | '\t' | '\n' => self.done.push(std::mem::take(&mut self.text)),
                _ => self.text.push(c),
            }
        }
        Some(())
    }

    /// A home directory is one only at the beginning.
    fn begin(&mut self, value: &Value) -> Option<()> {
        let begins = self.text.is_empty() && self.done.is_empty();
        self.tilde |= value.tilde;
        (begins || !value.tilde).then_some(())
    }

    fn end(mut self, may_vanish: bool) -> Option<Vec<Vec<Word>>> {
        if self.globs && self.is_ambiguous {
            return None;
        }
        if !self.text.is_empty() || self.done.is_empty() {
            self.done.push(self.text);
        }
        let (globs, tilde) = (self.globs, self.tilde);
        let word = |(at, text): (usize, String)| {
            let is_pattern = globs && text.contains(GLOBS);
            let form = if is_pattern { Form::Pattern } else { Form::Literal };
            Word {
                form,
                lead: !is_pattern || !text.starts_with(GLOBS),
                tilde: tilde && at == 0,
                ..Word::literal(&text)
            }
        };
        let is_nothing = self.done.iter().all(String::is_empty);
        let words: Vec<Word> = self.done.into_iter().enumerate().map(word).collect();
        // Quotes with nothing between them would make a word of it all the same.
        Some(if is_nothing && may_vanish { vec![Vec::new(), words] } else { vec![words] })
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

/// Whether a word is a variable and nothing else.
fn is_whole_variable(word: &Word) -> bool {
    word.form == Form::Dynamic && word.parameter().is_some()
}

/// Programs that only look, some of whose options read what no word names.
const PROGRAMS: &[&str] = &["ag", "du", "egrep", "fgrep", "grep", "ls", "wc"];

/// Whether a command that only looks may be given options that its words do not show.
pub(super) fn has_options(command: &Command, places: &Places<'_>) -> bool {
    let Some((program, rest)) = command.words().split_first() else { return false };
    let Some(name) = program_name(program).filter(|name| PROGRAMS.contains(name)) else { return false };
    let before_end = || rest.iter().take_while(|word| word.known() != Some("--"));
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
                // It comes from the user's environment.
                None => false,
            },
            None => is_pattern(word),
        }
    })
}

/// Whether a value, or one of the words that it comes apart into, is an option.
fn may_begin_option(value: &Word, splits: bool, places: &Places<'_>) -> bool {
    if let Some(number) = value.as_number() {
        return number == Number::Any;
    }
    let mut pieces = value.text.split_whitespace().take(if splits { usize::MAX } else { 1 });
    value.form == Form::Dynamic
        || places.may_hold_options(value)
        || splits && value.form == Form::Pattern && !places.holds_whole_names(value)
        || pieces.any(|piece| piece.starts_with('-'))
}
