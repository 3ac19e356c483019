//! Options whose value is a character between pieces of a line. A `/`, `.` or `~` there names no file.

use super::options::{Grammar, sorted};
use crate::shell::Word;

/// A program with such options.
struct Cutter {
    name: &'static str,
    options: Grammar,
    /// The letters and long names of those options.
    separators: &'static [&'static str],
}

const CUTTERS: &[Cutter] = &[
    Cutter {
        name: "column",
        options: Grammar {
            flags: "Letx",
            valued: "cos",
            long: &["table"],
            long_valued: &["output-separator", "output-width", "separator"],
            ..Grammar::NONE
        },
        separators: &["o", "s", "output-separator", "separator"],
    },
    Cutter {
        name: "cut",
        options: Grammar {
            flags: "nsz",
            valued: "bcdf",
            long: &["complement", "only-delimited", "zero-terminated"],
            long_valued: &["bytes", "characters", "delimiter", "fields", "output-delimiter"],
            ..Grammar::NONE
        },
        separators: &["d", "delimiter", "output-delimiter"],
    },
    Cutter {
        name: "file",
        options: Grammar { flags: "Lbik", valued: "F", long_valued: &["separator"], ..Grammar::NONE },
        separators: &["F", "separator"],
    },
    Cutter {
        name: "join",
        options: Grammar { flags: "iz", valued: "12aeotv", ..Grammar::NONE },
        separators: &["t"],
    },
    Cutter {
        name: "nl",
        options: Grammar { flags: "p", valued: "bdfhilnsvw", ..Grammar::NONE },
        separators: &["d", "s"],
    },
    Cutter {
        name: "paste",
        options: Grammar {
            flags: "sz",
            valued: "d",
            long: &["serial", "zero-terminated"],
            long_valued: &["delimiters"],
            ..Grammar::NONE
        },
        separators: &["d", "delimiters"],
    },
    Cutter {
        name: "sort",
        options: Grammar {
            flags: "CMRVbcdfghimnrsuz",
            valued: "Skt",
            long: &[
                "dictionary-order",
                "general-numeric-sort",
                "human-numeric-sort",
                "ignore-case",
                "ignore-leading-blanks",
                "numeric-sort",
                "reverse",
                "stable",
                "unique",
                "version-sort",
                "zero-terminated",
            ],
            long_valued: &["field-separator", "key"],
            ..Grammar::NONE
        },
        separators: &["t", "field-separator"],
    },
];

/// The words of a call that may be files, without separators. `None` if there are none or its options are not understood.
pub(super) fn files(name: &str, rest: &[Word]) -> Option<Vec<Word>> {
    let cutter = CUTTERS.iter().find(|cutter| cutter.name == name)?;
    let found = sorted(&cutter.options, rest);
    found.unclear.is_empty().then_some(())?;
    let (separators, others): (Vec<_>, Vec<_>) = found
        .given
        .iter()
        .filter_map(|given| Some((given.name, given.value.clone()?)))
        .partition(|(name, value)| cutter.separators.contains(name) && is_separator(value));
    // Other values are left for what they may be to other programs of that name.
    let values = others.into_iter().map(|(_, value)| value);
    let operands = found.operands.into_iter().cloned();
    (!separators.is_empty()).then(|| operands.chain(values).collect())
}

/// Whether a value is one character that is no letter: no file of a project that matters bears such a name.
fn is_separator(value: &Word) -> bool {
    let mut characters = value.text.chars();
    let first = characters.next().filter(|first| first.is_ascii_punctuation());
    value.is_literal() && first.is_some() && characters.next().is_none()
}
