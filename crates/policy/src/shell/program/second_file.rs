//! Programs that write to a second file if they are given one.

use crate::shell::Word;

/// How such a program is called.
struct Filter {
    name: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with a number.
    numbered: &'static str,
    /// Other options, whole or up to a `=`.
    long: &'static [&'static str],
    /// Whether all that follows the first file is a file.
    ends_options: bool,
}

const FILTERS: &[Filter] = &[
    Filter {
        name: "uniq",
        flags: "Dcdiuz",
        numbered: "fsw",
        long: &["--all-repeated", "--count", "--group", "--ignore-case", "--repeated", "--unique"],
        ends_options: false,
    },
    Filter { name: "xxd", flags: "Cabdeipru", numbered: "cglos", long: &["-ps"], ends_options: true },
];

/// Whether a call names one file at most. An option that is not understood could take a word, or leave one to be a file.
pub(crate) fn is_spared(name: &str, rest: &[Word]) -> bool {
    let Some(filter) = FILTERS.iter().find(|filter| filter.name == name) else { return false };
    let Some(texts) = rest.iter().map(Word::known).collect::<Option<Vec<_>>>() else { return false };
    let mut files = 0;
    let mut at = 0;
    while let Some(text) = texts.get(at) {
        at += match filter.words_of(text) {
            // Behind it, every word is a file.
            _ if *text == "--" => {
                files += texts.len() - at - 1;
                break;
            }
            _ if text.len() < 2 || !text.starts_with('-') => {
                let taken = if filter.ends_options { texts.len() - at } else { 1 };
                files += taken;
                taken
            }
            Some(2) if !texts.get(at + 1).is_some_and(|number| is_number(number)) => return false,
            Some(taken) => taken,
            None => return false,
        };
    }
    files <= 1
}

impl Filter {
    /// How many words an option takes; `None` if it is not known.
    fn words_of(&self, option: &str) -> Option<usize> {
        if self.long.contains(&option.split('=').next().unwrap_or(option)) {
            return Some(1);
        }
        let letters = option.strip_prefix('-')?;
        let number = letters.strip_prefix(|letter| self.numbered.contains(letter));
        match number {
            Some("") => Some(2),
            Some(number) => is_number(number).then_some(1),
            None => letters.chars().all(|letter| self.flags.contains(letter)).then_some(1),
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (text.starts_with("0x") || text.bytes().all(|byte| byte.is_ascii_digit()))
}
