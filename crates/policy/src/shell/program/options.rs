//! Options as `getopt` reads them: letters in clusters, values attached or in the next word, long names, and `--`.

use crate::shell::Word;

/// Which options a program knows.
pub(crate) struct Grammar {
    /// Letters without a value.
    pub(crate) flags: &'static str,
    /// Letters with a value, attached or in the next word.
    pub(crate) valued: &'static str,
    /// Letters whose value, if there is one, is attached.
    pub(crate) optional: &'static str,
    /// Long names without a value.
    pub(crate) long: &'static [&'static str],
    /// Long names with a value, after `=` or in the next word.
    pub(crate) long_valued: &'static [&'static str],
    /// Long names whose value, if there is one, stands after `=`.
    pub(crate) long_optional: &'static [&'static str],
}

impl Grammar {
    /// No options at all.
    pub(crate) const NONE: Self =
        Self { flags: "", valued: "", optional: "", long: &[], long_valued: &[], long_optional: &[] };
}

/// An option that was given.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// Its letter or its long name.
    pub(crate) name: &'a str,
    /// Its value.
    pub(crate) value: Option<Word>,
}

/// The options that one word begins, with the number of words they take.
type Taken<'a> = (Vec<Given<'a>>, usize);

/// Options in front of everything else.
pub(crate) struct Leading<'a> {
    pub(crate) given: Vec<Given<'a>>,
    /// Where something else begins.
    pub(crate) end: usize,
}

/// Reads the options up to the first word that is none. `None` if one of them is not understood.
pub(crate) fn leading<'a>(grammar: &Grammar, words: &'a [Word]) -> Option<Leading<'a>> {
    let mut given = Vec::new();
    let mut end = 0;
    while let Some(word) = words.get(end) {
        match word.known() {
            None if word.may_be_option() => return None,
            Some("--") => {
                end += 1;
                break;
            }
            Some(text) if text.len() > 1 && text.starts_with('-') => {
                let (options, taken) = options_at(grammar, words, end)?;
                given.extend(options);
                end += taken;
            }
            _ => break,
        }
    }
    // The last option may lack its value.
    Some(Leading { given, end: end.min(words.len()) })
}

/// What the words of a program are that takes options anywhere.
#[derive(Default)]
pub(crate) struct Sorted<'a> {
    pub(crate) given: Vec<Given<'a>>,
    /// Words that are no options, those after `--` included.
    pub(crate) operands: Vec<&'a Word>,
    /// How many of the operands stand before a `--`.
    pub(crate) before_end: usize,
    /// Words that are options or could become some, and are not understood.
    pub(crate) unclear: Vec<&'a Word>,
}

/// Tells options from other words. A word whose beginning the shell puts in, but that stays one, counts as none.
pub(crate) fn sorted<'a>(grammar: &Grammar, words: &'a [Word]) -> Sorted<'a> {
    let mut found = Sorted::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word.known() == Some("--") {
            let before = at.checked_sub(2).and_then(|before| words.get(before));
            // It may be the value of an option that nobody knows, which ends nothing.
            if before.zip(found.unclear.last()).is_some_and(|(before, last)| std::ptr::eq(before, *last)) {
                found.before_end = found.operands.len();
                found.unclear.extend(&words[at - 1..]);
                return found;
            }
            found.before_end = found.operands.len();
            found.operands.extend(&words[at..]);
            return found;
        }
        let is_option = word.text.len() > 1 && word.text.starts_with('-');
        match options_at(grammar, words, at - 1).filter(|_| is_option) {
            Some((given, taken)) => {
                found.given.extend(given);
                at += taken - 1;
            }
            None if is_option || word.splits => found.unclear.push(word),
            None => found.operands.push(word),
        }
    }
    found.before_end = found.operands.len();
    found
}

/// The words in front of the `--` that certainly ends the options, or all of them. Behind an option it may be its value.
pub(crate) fn before_end(words: &[Word]) -> &[Word] {
    let end = (0..words.len()).find(|at| ends_options(words, *at)).unwrap_or(words.len());
    &words[..end]
}

/// Whether there certainly are no options behind a word, whichever of them take a value.
pub(crate) fn ends_options(words: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    words.get(at).and_then(Word::known) == Some("--") && !before.is_some_and(Word::may_be_option)
}

fn options_at<'a>(grammar: &Grammar, words: &'a [Word], at: usize) -> Option<Taken<'a>> {
    let word = words.get(at).filter(|word| word.lead && !word.splits)?;
    match word.text.strip_prefix("--") {
        Some(long) => long_option(grammar, word, long, words.get(at + 1)),
        None => cluster(grammar, word, word.text.strip_prefix('-')?, words.get(at + 1)),
    }
}

fn long_option<'a>(
    grammar: &Grammar,
    word: &'a Word,
    long: &'a str,
    next: Option<&'a Word>,
) -> Option<Taken<'a>> {
    let (name, attached) = match long.split_once('=') {
        Some((name, value)) => (name, Some(attached(word, value))),
        None => (long, None),
    };
    let one = |value| Some((vec![Given { name, value }], 1));
    match attached {
        Some(value) if grammar.long_valued.contains(&name) || grammar.long_optional.contains(&name) => {
            one(Some(value))
        }
        None if grammar.long_valued.contains(&name) => {
            Some((vec![Given { name, value: following(next)? }], 2))
        }
        None if grammar.long.contains(&name) || grammar.long_optional.contains(&name) => one(None),
        _ => None,
    }
}

fn cluster<'a>(
    grammar: &Grammar,
    word: &'a Word,
    letters: &'a str,
    next: Option<&'a Word>,
) -> Option<Taken<'a>> {
    let mut given = Vec::new();
    for (at, letter) in letters.char_indices() {
        let (name, behind) = (&letters[at..at + letter.len_utf8()], &letters[at + letter.len_utf8()..]);
        let value = (!behind.is_empty()).then(|| attached(word, behind));
        if grammar.valued.contains(letter) {
            let taken = if value.is_some() { 1 } else { 2 };
            let value = if value.is_some() { value } else { following(next)? };
            given.push(Given { name, value });
            return Some((given, taken));
        }
        if grammar.optional.contains(letter) {
            given.push(Given { name, value });
            return Some((given, 1));
        }
        if !grammar.flags.contains(letter) {
            return None;
        }
        given.push(Given { name, value: None });
    }
    Some((given, 1))
}

/// The value in the next word, which may be missing. `None` if more than one word may come of it.
fn following(next: Option<&Word>) -> Option<Option<Word>> {
    match next {
        Some(word) if !word.is_single() => None,
        word => Some(word.cloned()),
    }
}

fn attached(word: &Word, value: &str) -> Word {
    Word { text: value.to_owned(), lead: word.is_literal(), tilde: false, ..word.clone() }
}
