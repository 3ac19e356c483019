//! What ends the names that one command lists and another takes.

use super::find;
use super::lookers::program_name;
use super::options::Given;
use crate::shell::Word;

/// What a name ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The end of a line.
    #[default]
    Line,
    /// A character that no name holds.
    Nul,
    /// Nobody can tell.
    Unclear,
}

/// What ends the names that a command lists.
pub(crate) fn of_listed(words: &[Word]) -> Ends {
    let Some((program, rest)) = words.split_first() else { return Ends::Line };
    let ends_by_nul = match program_name(program).unwrap_or_default() {
        "find" | "gfind" => return of_found(rest),
        "git" => has_option(rest, &["--null"], 'z', ""),
        "grep" | "egrep" | "fgrep" => has_option(rest, &["--null"], 'Z', "efABCdDm"),
        "rg" => has_option(rest, &["--null"], '0', "ABCEMTdefgjmrt"),
        "fd" => has_option(rest, &["--print0"], '0', "EScdejtx"),
        "printf" => rest.first().is_some_and(|format| format.text.ends_with("\\0")),
        _ => false,
    };
    if ends_by_nul { Ends::Nul } else { Ends::Line }
}

/// Where some names end in one way and some in the other, those are taken together that stand between.
fn of_found(rest: &[Word]) -> Ends {
    let actions = find::actions(rest);
    match (actions.contains(&"-print0"), actions.contains(&"-print")) {
        (true, true) => Ends::Unclear,
        (true, false) => Ends::Nul,
        (false, _) => Ends::Line,
    }
}

/// What `xargs` takes for the end of a name: the end of a line is one even where blanks are as well.
pub(super) fn of_taken(options: &[Given<'_>]) -> Ends {
    let ends = options.iter().filter_map(|given| match given.name {
        "0" | "null" => Some(Ends::Nul),
        "d" | "delimiter" => Some(match given.value.as_ref().and_then(Word::known) {
            Some("\n" | "\\n") => Ends::Line,
            Some("\\0") => Ends::Nul,
            _ => Ends::Unclear,
        }),
        _ => None,
    });
    // The last one counts.
    ends.reduce(|before, end| if before == end { end } else { Ends::Unclear }).unwrap_or_default()
}

/// Long options with a value that may stand in the next word.
const VALUED: &[&str] =
    &["--exclude", "--exclude-dir", "--extension", "--glob", "--iglob", "--include", "--regexp", "--type"];

/// Whether there is an option by one of its long names or its letter. What stands behind one of the `valued` letters is a
/// text, here or in the next word.
pub(crate) fn has_option(rest: &[Word], long: &[&str], letter: char, valued: &str) -> bool {
    let mut words = rest.iter().map(|word| word.text.as_str()).take_while(|text| *text != "--");
    while let Some(text) = words.next() {
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
            if long.contains(&text) {
                return true;
            }
            if VALUED.contains(&text) {
                words.next();
            }
            continue;
        };
        let value = letters.find(|letter| valued.contains(letter));
        if letters[..value.unwrap_or(letters.len())].contains(letter) {
            return true;
        }
        if value.is_some_and(|at| at + 1 == letters.len()) {
            words.next();
        }
    }
    false
}
