//! Programs that unpack: what they can be asked so that they only show what is inside, and which files they then read.

use crate::shell::Word;

/// Endings that a program puts behind the name of a file that it does not find.
const ENDINGS: &[(&[&str], &[&str])] = &[
    (&["gunzip", "gzip", "zcat", "zgrep"], &[".gz", ".z", "-z", ".Z"]),
    (&["unzip", "zipinfo"], &[".zip", ".ZIP"]),
];

/// Programs that replace a file by what it holds, unless they are to print that.
const UNPACKERS: &[&str] = &["bunzip2", "bzip2", "gunzip", "gzip", "unxz", "unzstd", "xz", "zstd"];

/// Programs that print what files hold, unless an option tells otherwise.
const PRINTERS: &[&str] = &["bzcat", "lzcat", "xzcat", "zstdcat"];

/// Whether a call only shows what is inside; `None` for programs that are none of these.
pub(super) fn looks(name: &str, rest: &[Word]) -> Option<bool> {
    let looks = match name {
        "gzip" if matches!(first(rest), Some("-l" | "-t" | "-lv" | "-tv")) => are_names(&rest[1..]),
        "tar" => shows_archive(rest),
        "unzip" => {
            matches!(first(rest), Some("-l" | "-p" | "-v" | "-Z" | "-Z1")) && names_archive(&rest[1..])
        }
        "zipinfo" => names_archive(&rest[usize::from(matches!(first(rest), Some("-1" | "-l" | "-s")))..]),
        "zgrep" => searches(rest),
        _ if PRINTERS.contains(&name) => are_names(rest),
        _ if UNPACKERS.contains(&name) => prints(rest),
        _ => return None,
    };
    Some(looks)
}

/// The files that a call reads that only looks.
pub(super) fn files(name: &str, rest: &[Word]) -> Vec<Word> {
    let names = rest.iter().filter(|word| !word.text.starts_with('-')).skip(usize::from(name == "zgrep"));
    names.cloned().collect()
}

/// The files that are read instead of one that is not there.
pub(super) fn in_its_place(name: &str, file: &Word) -> Vec<Word> {
    let endings = ENDINGS.iter().find(|(programs, _)| programs.contains(&name)).map(|(_, endings)| *endings);
    let endings = endings.filter(|_| file.is_literal()).unwrap_or_default();
    endings.iter().map(|ending| Word { text: format!("{}{ending}", file.text), ..file.clone() }).collect()
}

fn first(rest: &[Word]) -> Option<&str> {
    rest.first().and_then(Word::known)
}

/// `tar`, asked for nothing but a list or what its members hold.
fn shows_archive(rest: &[Word]) -> bool {
    let Some((first, names)) = rest.split_first() else { return false };
    let Some(text) = first.known() else { return false };
    if text == "--list" {
        return names.first().and_then(Word::known) == Some("-f") && are_names(&names[1..]);
    }
    // Behind a dash, what follows the `f` at once is the name.
    let letters = match text.strip_prefix('-') {
        Some(letters) if !letters.ends_with('f') => return false,
        Some(letters) => letters,
        None => text,
    };
    let known = if letters.contains('x') { "xOvzjJf" } else { "tvzjJf" };
    let shows = letters.contains('t') || letters.contains('x') && letters.contains('O');
    let names_one = letters.matches('f').count() == 1;
    shows && names_one && letters.chars().all(|letter| known.contains(letter)) && are_names(names)
}

/// Whether what files hold is printed and the files stay.
fn prints(rest: &[Word]) -> bool {
    let mut to_output = false;
    rest.iter().all(|word| match word.known() {
        Some("--stdout") => {
            to_output = true;
            true
        }
        Some("--decompress" | "--keep" | "--quiet") => true,
        Some(option) if option.starts_with('-') => {
            to_output |= option.contains('c');
            option.len() > 1 && option[1..].chars().all(|letter| "cdfkqv".contains(letter))
        }
        _ => are_names(std::slice::from_ref(word)),
    }) && to_output
}

/// `zgrep` is a script that puts commands together from what it is given.
fn searches(rest: &[Word]) -> bool {
    let is_option = |word: &&Word| word.text.starts_with('-');
    let (options, others): (Vec<_>, Vec<_>) = rest.iter().partition(is_option);
    let is_flag = |letter: char| "EFGHLPachilnoqsvwx".contains(letter);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+@ :=,".contains(c);
    options
        .iter()
        .all(|word| word.known().is_some_and(|option| option.len() > 1 && option[1..].chars().all(is_flag)))
        && others.iter().all(|word| word.known().is_some_and(|text| text.chars().all(is_plain)))
}

/// Whether the first word names one archive. `unzip` looks for those that fit a pattern by itself.
fn names_archive(words: &[Word]) -> bool {
    are_names(words) && words.first().is_some_and(|archive| !archive.text.contains(['*', '?', '[']))
}

/// Whether words are names on this machine and no options.
fn are_names(words: &[Word]) -> bool {
    words.iter().all(|word| word.is_literal() && !word.text.starts_with('-') && !word.text.contains(':'))
}
