//! Words as they come about where values are put in.

use super::place::Places;
use crate::shell::{Form, GLOBS, Gaps, Number, Word, ends};

/// Numbers that stand for all of them; negative ones look like options.
const NUMBERS: &[&str] = &["0", "7", "123456", "-3"];
/// Braces that count further than this are not spelt out.
const FURTHEST: i64 = 20;

/// What an expansion puts in.
#[derive(Clone, Debug)]
pub(super) struct Value {
    text: String,
    form: Form,
    tilde: bool,
    /// Whether it stands for any number.
    pub(super) is_sample: bool,
    /// Whether each name that it stands for as a pattern is one word without quotes.
    stays_whole: bool,
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            form: Form::Literal,
            tilde: false,
            is_sample: false,
            stays_whole: false,
        }
    }

    pub(super) fn samples(number: Number) -> Vec<Self> {
        let fits = |sample: &&&str| number == Number::Any || !sample.starts_with('-');
        let sample = |number: &&str| Self { is_sample: true, ..Self::text(number) };
        NUMBERS.iter().filter(fits).map(sample).collect()
    }

    /// Every value that a word may be that a variable was set to; nothing if nobody can tell.
    pub(super) fn all_of(word: &Word, places: &Places<'_>) -> Option<Vec<Self>> {
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

    /// The same for all samples.
    pub(super) fn settled(&self) -> Option<String> {
        (!self.is_sample).then(|| self.text.clone())
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

/// Words as they come about.
#[derive(Default)]
pub(super) struct Spelling {
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
    /// Of what a word becomes.
    pub(super) fn of(word: &Word, gaps: &Gaps) -> Self {
        Self { tilde: word.tilde, globs: gaps.globs, ..Self::default() }
    }

    /// What stands in the word itself. What it means there is said by the word.
    pub(super) fn plain(&mut self, text: &str) {
        self.is_ambiguous |= text.contains(['{', '(', '\\']);
        self.text.push_str(text);
    }

    /// Nothing if it becomes something else than it says.
    pub(super) fn quoted(&mut self, value: &Value) -> Option<()> {
        self.begin(value)?;
        match value.form {
            // The name of some file.
            Form::Pattern => self.globs = true,
            _ => self.is_ambiguous |= value.text.contains(SPECIAL),
        }
        self.text.push_str(&value.text);
        Some(())
    }

    pub(super) fn unquoted(&mut self, value: &Value) -> Option<()> {
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

    pub(super) fn end(mut self, may_vanish: bool) -> Option<Vec<Vec<Word>>> {
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
