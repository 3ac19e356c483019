//! Programs that write files which their words name, beside those that do nothing else.

use super::lookers::is_option;
use super::options::before_end;
use super::{effects, second_file};
use crate::shell::Word;

/// How such a program is called.
struct Writer {
    names: &'static [&'static str],
    /// Options whose value is written.
    options: &'static [&'static str],
    operands: Written,
}

/// Which words that are no options are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    None,
    All,
    Last,
    /// All but the first.
    Further,
}

const fn writer(
    names: &'static [&'static str],
    options: &'static [&'static str],
    operands: Written,
) -> Writer {
    Writer { names, options, operands }
}

/// Programs that put a file in the place of another whose name has an ending more or less.
const PACKERS: &[&str] = &[
    "brotli",
    "bunzip2",
    "bzip2",
    "compress",
    "gunzip",
    "gzip",
    "lz4",
    "lzip",
    "lzma",
    "pbzip2",
    "pigz",
    "pixz",
    "uncompress",
    "unlz4",
    "unlzma",
    "unpigz",
    "unxz",
    "unzstd",
    "xz",
    "zstd",
];

/// Of these, and of programs that call them, those that add an ending to a name which they do not find.
const UNPACKERS: &[&str] = &[
    "gunzip",
    "gzip",
    "pigz",
    "uncompress",
    "unpigz",
    "zcat",
    "zcmp",
    "zdiff",
    "zegrep",
    "zfgrep",
    "zgrep",
    "zless",
    "zmore",
];
const ENDINGS: [&str; 6] = [".gz", ".z", "-gz", "-z", "_z", ".Z"];

const WRITERS: &[Writer] = &[
    writer(&["base32", "base64", "iconv", "sort", "shuf"], &["-o", "--output"], Written::None),
    writer(&["diff"], &["--output"], Written::None),
    writer(&["tree"], &["-o"], Written::None),
    writer(&["split", "csplit"], &[], Written::Further),
    writer(
        &["curl"],
        &["-o", "-c", "-D", "--output", "--output-dir", "--cookie-jar", "--dump-header"],
        Written::None,
    ),
    writer(
        &["wget"],
        &["-O", "-P", "-a", "-o", "--output-document", "--directory-prefix", "--output-file"],
        Written::None,
    ),
    writer(&["rsync", "scp"], &[], Written::Last),
    writer(&["patch"], &["-o", "-d", "--output", "--directory"], Written::All),
    writer(&["tar", "bsdtar"], &["-C", "--directory"], Written::None),
    writer(&["unzip"], &["-d"], Written::None),
    writer(PACKERS, &["-o", "--output"], Written::All),
    writer(&["gh"], &["-D", "-O", "--dir", "--output"], Written::None),
    writer(&["cargo"], &["--artifact-dir", "--out-dir", "--root", "--target-dir"], Written::None),
    writer(&["ed", "ex", "vi", "vim", "nvim", "nano", "emacs"], &[], Written::All),
];

/// The words that name files which a call writes. `name`: without its directory; `rest`: the words after it.
pub(crate) fn written(name: &str, rest: &[Word]) -> Vec<Word> {
    let operands = |kept: Written| -> Vec<Word> {
        let operands: Vec<Word> = effects::operands(rest).collect();
        let first = match kept {
            Written::None => operands.len(),
            Written::All => 0,
            Written::Last => operands.len().saturating_sub(1),
            Written::Further => 1.min(operands.len()),
        };
        operands[first..].to_vec()
    };
    match name {
        // Behind its first file nothing is an option.
        "xxd" if !second_file::is_spared(name, rest) => {
            rest.iter().skip_while(|word| word.text.starts_with('-')).skip(1).cloned().collect()
        }
        "uniq" if !second_file::is_spared(name, rest) => operands(Written::Further),
        "cargo" if makes_package(rest) => operands(Written::Further),
        // Its options `-p`, `-i` and `-e` stand in clusters.
        "perl" | "ruby" if rest.iter().any(|word| is_option(&word.text, "-i")) => operands(Written::All),
        _ => {
            let Some(writer) = WRITERS.iter().find(|writer| writer.names.contains(&name)) else {
                return Vec::new();
            };
            let mut all = values(rest, writer.options);
            all.extend(operands(writer.operands));
            if PACKERS.contains(&name) {
                if has_any(rest, &["-c", "--stdout", "--to-stdout"]) {
                    return values(rest, writer.options);
                }
                all.extend(all.clone().iter().filter_map(unpacked));
            }
            all
        }
    }
}

/// Whether `cargo` is to make a package at a place that it is told.
fn makes_package(rest: &[Word]) -> bool {
    let subcommand = rest.iter().find(|word| !word.text.starts_with(['-', '+']));
    subcommand.is_some_and(|word| matches!(word.text.as_str(), "init" | "new" | "vendor"))
}

/// The files that a program may read in the place of those that it is told.
pub(crate) fn packed(name: &str, rest: &[Word]) -> Vec<Word> {
    if !UNPACKERS.contains(&name) {
        return Vec::new();
    }
    let literal = effects::operands(rest).filter(Word::is_literal);
    let with =
        |word: Word| ENDINGS.map(|ending| Word { text: format!("{}{ending}", word.text), ..word.clone() });
    literal.flat_map(with).collect()
}

/// The name without its last ending.
fn unpacked(word: &Word) -> Option<Word> {
    let (name, ending) = word.text.rsplit_once('.')?;
    (!ending.contains('/')).then(|| Word { text: name.to_owned(), ..word.clone() })
}

/// The values of options: behind a letter or `=`, or in the next word.
pub(crate) fn values(rest: &[Word], options: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, word) in before_end(rest).iter().enumerate() {
        for option in options.iter().filter(|option| is_option(&word.text, option)) {
            let attached = match option.strip_prefix("--") {
                Some(_) => word.text.split_once('=').map(|(_, value)| value),
                None => option
                    .strip_prefix('-')
                    .and_then(|letter| word.text.split_once(letter))
                    .map(|(_, value)| value),
            };
            match attached.filter(|value| !value.is_empty()) {
                Some(value) => found.push(Word { text: value.to_owned(), lead: true, ..word.clone() }),
                None => found.extend(rest.get(at + 1).cloned()),
            }
        }
    }
    found
}

/// Whether one of these options is given.
pub(crate) fn has_any(rest: &[Word], options: &[&str]) -> bool {
    rest.iter().any(|word| options.iter().any(|option| is_option(&word.text, option)))
}
