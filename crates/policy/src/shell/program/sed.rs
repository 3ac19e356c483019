//! What `sed` can be asked without changing anything: scripts that neither write files nor run programs.

use super::effects::{self, Deed};
use super::lookers::is_option;
use super::options::{Grammar, sorted};
use crate::shell::Word;

const SED: Grammar = Grammar {
    flags: "nErsuz",
    valued: "efl",
    optional: "i",
    long: &[
        "debug",
        "follow-symlinks",
        "null-data",
        "posix",
        "quiet",
        "regexp-extended",
        "sandbox",
        "separate",
        "silent",
        "unbuffered",
    ],
    long_valued: &["expression", "file", "line-length"],
    long_optional: &["in-place"],
};

/// Whether a call of `sed` only looks. `rest`: the words after `sed`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let mut scripts = 0;
    let mut words = rest.iter();
    let mut operands = Vec::new();
    while let Some(word) = words.next() {
        if !word.lead || word.splits {
            return false;
        }
        match word.text.as_str() {
            "-n" | "-E" | "-r" | "-u" | "-z" | "-s" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet"
            | "--silent" | "--regexp-extended" | "--posix" | "--debug" | "--" => {}
            "-e" | "-ne" | "-Ee" | "-re" | "-nEe" | "--expression" => {
                match words.next().and_then(Word::known) {
                    Some(script) if is_harmless(script) => scripts += 1,
                    _ => return false,
                }
            }
            option if option.len() > 1 && option.starts_with('-') => return false,
            _ => operands.push(word),
        }
    }
    scripts > 0 || operands.first().and_then(|word| word.known()).is_some_and(is_harmless)
}

/// Whether a call of `sed` may run other programs, whatever it does to files.
pub(crate) fn may_run(rest: &[Word]) -> bool {
    let is_given =
        |word: &Word| word.text.starts_with("--e") || word.text.starts_with('-') && word.text.ends_with('e');
    let after =
        rest.iter().skip(1).zip(rest).filter(|(_, option)| is_given(option)).map(|(script, _)| script);
    let mut scripts: Vec<&Word> = after.collect();
    if scripts.is_empty() {
        scripts.extend(rest.iter().find(|word| !word.text.starts_with('-')));
    }
    scripts.iter().any(|script| !script.known().is_some_and(is_harmless))
        || rest.iter().any(|word| word.text.starts_with("--expression=") || is_option(&word.text, "-f"))
}

/// The files that the scripts of a call read and write.
pub(crate) fn files(rest: &[Word]) -> Vec<(Deed, Word)> {
    let found = sorted(&SED, rest);
    let given = |names: &'static [&str]| found.given.iter().filter(|given| names.contains(&given.name));
    let mut scripts: Vec<Word> =
        given(&["e", "expression"]).filter_map(|given| given.value.clone()).collect();
    // What is not understood may hold one.
    scripts.extend(found.unclear.iter().flat_map(|word| effects::operands(std::slice::from_ref(*word))));
    if scripts.is_empty() && given(&["f", "file"]).next().is_none() {
        // To some kinds, the word behind `-i` is an ending, and mostly empty.
        scripts.extend(found.operands.iter().find(|word| !word.text.is_empty()).map(|word| (*word).clone()));
    }
    let named = scripts.iter().flat_map(|script| {
        let word = |name: &str| script.piece(name);
        named(&script.text).into_iter().map(move |(deed, name)| (deed, word(name)))
    });
    named.filter(|(_, word)| !word.text.is_empty()).collect()
}

/// The files that the commands of a script name, each to the end of its line. From where it is not understood, every letter
/// that could be such a command counts.
fn named(script: &str) -> Vec<(Deed, &str)> {
    let mut found = Vec::new();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return found;
        }
        if let Some(after) = after_command(rest).or_else(|| after_jump(rest)) {
            rest = after;
        } else if let Some((deed, name, after)) = after_addresses(rest).and_then(file_command) {
            found.push((deed, name));
            rest = after;
        } else if let Some(command) = after_addresses(rest).and_then(|text| text.strip_prefix('e')) {
            // What is run may read whatever its words name.
            let (line, after) = command.split_once('\n').unwrap_or((command, ""));
            found.extend(line.split_whitespace().map(|name| (Deed::Read, name)));
            rest = after;
        } else {
            let letters = rest.char_indices().filter_map(|(at, _)| file_command(&rest[at..]));
            found.extend(letters.map(|(deed, name, _)| (deed, name)));
            return found;
        }
    }
}

/// What a command does to which file, and what follows it.
fn file_command(text: &str) -> Option<(Deed, &str, &str)> {
    let text = text
        .strip_prefix('s')
        .and_then(after_substitution)
        .filter(|flags| flags.starts_with('w'))
        .unwrap_or(text);
    let mut letters = text.chars();
    let deed = match letters.next()? {
        'r' | 'R' => Deed::Read,
        'w' | 'W' => Deed::Write,
        _ => return None,
    };
    let behind = letters.as_str();
    let (name, rest) = behind.split_once('\n').unwrap_or((behind, ""));
    Some((deed, name.trim_start(), rest))
}

/// What follows text that goes on behind each escaped end of a line.
fn after_lines(text: &str) -> &str {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            '\n' => break,
            _ => {}
        }
    }
    chars.as_str()
}

/// What follows a comment, text that is put in, a label or a jump to one.
fn after_jump(text: &str) -> Option<&str> {
    if text.starts_with('#') {
        return Some(text.split_once('\n').map_or("", |(_, rest)| rest));
    }
    let text = after_addresses(text)?;
    if let Some(added) = text.strip_prefix(['a', 'i', 'c']) {
        return Some(after_lines(added));
    }
    let label = text.strip_prefix([':', 'b', 't', 'T'])?;
    Some(label.find(['\n', ';', '}']).map_or("", |at| &label[at..]))
}

/// Whether a script has only commands that print, select and substitute.
fn is_harmless(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return true;
        }
        match after_command(rest) {
            Some(after) => rest = after,
            None => return false,
        }
    }
}

/// What follows one harmless command.
fn after_command(text: &str) -> Option<&str> {
    let text = after_addresses(text)?;
    let mut chars = text.chars();
    let rest = match chars.next()? {
        'p' | 'd' | '=' | 'l' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'P' | 'D' => chars.as_str(),
        'q' | 'Q' => chars.as_str().trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
        's' => after_substitution(chars.as_str())?,
        'y' => after_delimited(chars.as_str(), 2, |_| false)?,
        '{' => return Some(chars.as_str()),
        ':' | 'b' | 't' | 'T' => after_label(chars.as_str())?,
        'a' | 'i' | 'c' => return after_added(chars.as_str()),
        _ => return None,
    };
    let rest = rest.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with([';', '\n', '}'])).then_some(rest)
}

/// What follows a label. To some kinds of `sed` it goes on to the end of its line: what follows there may be missed, but
/// nothing of it may reach into the next line.
fn after_label(text: &str) -> Option<&str> {
    let line = text.split('\n').next().unwrap_or_default();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!line.ends_with('\\')).then(|| text.trim_start_matches([' ', '\t']).trim_start_matches(is_of_name))
}

/// What follows a line of text that is put in. An escape could make it go on.
fn after_added(text: &str) -> Option<&str> {
    let text = text.strip_prefix("\\\n").unwrap_or(text);
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    (!line.trim().is_empty() && !line.contains('\\')).then_some(rest)
}

fn after_addresses(text: &str) -> Option<&str> {
    let mut rest = after_address(text)?;
    if let Some(second) = rest.strip_prefix(',') {
        rest = after_address(second.trim_start_matches(' '))?;
    }
    Some(rest.trim_start_matches([' ', '!']))
}

fn after_address(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '~' | '+'));
    if number.len() < text.len() {
        return Some(number);
    }
    match text.chars().next() {
        Some('$') => Some(&text[1..]),
        // No command is called so.
        Some('/') => {
            after_delimited(text, 1, |other| other.starts_with(']')).map(|rest| rest.trim_start_matches('I'))
        }
        _ => Some(text),
    }
}

fn after_substitution(text: &str) -> Option<&str> {
    let rest = after_delimited(text, 2, begins_no_flag)?;
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'I' | 'i')))
}

/// Whether what stands behind a substitution is none of its options, to whichever `sed`, and does not end it.
fn begins_no_flag(text: &str) -> bool {
    let may_follow = |c: char| c.is_ascii_alphanumeric() || c.is_whitespace() || ";{}#".contains(c);
    text.chars().next().is_some_and(|c| c.is_ascii() && !may_follow(c))
}

/// What follows `parts` texts between delimiters, of which the first character is one. A delimiter in a set of characters
/// does not count for everyone: where that makes a difference, the other reading must be a mistake.
fn after_delimited(text: &str, parts: usize, is_mistake: impl Fn(&str) -> bool) -> Option<&str> {
    let with_sets = after_parts(text, parts, true)?;
    let without = after_parts(text, parts, false)?;
    (with_sets.len() == without.len() || is_mistake(without)).then_some(with_sets)
}

fn after_parts(text: &str, parts: usize, knows_sets: bool) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| c.is_ascii_punctuation() && !"\\[]".contains(*c))?;
    let mut left = parts;
    let mut rest = text.get(1..)?;
    loop {
        // Of two parts, the last is what is put in: some take brackets for sets there as well.
        let is_pattern = left == parts;
        let mut chars = rest.chars();
        rest = match chars.next()? {
            '\n' => return None,
            '\\' => {
                chars.next()?;
                chars.as_str()
            }
            '[' if knows_sets && is_pattern => after_set(chars.as_str(), delimiter)?,
            '[' if knows_sets => after_bracket(chars.as_str(), delimiter)?,
            c if c == delimiter && left == 1 => return Some(chars.as_str()),
            c => {
                left -= usize::from(c == delimiter);
                chars.as_str()
            }
        };
    }
}

/// What follows a set of characters, of which the bracket is gone. Where there is a delimiter in it, nothing else may be that
/// somebody could take for its end, or for what hides that.
fn after_set(text: &str, delimiter: char) -> Option<&str> {
    let after = set_end(text)?;
    let inner = text.strip_suffix(after)?.strip_suffix(']')?;
    (!inner.contains(delimiter) || !inner.contains(['[', ']', '\\'])).then_some(after)
}

/// What follows the end of a set. Right at the beginning, that character is one of the set.
fn set_end(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('^').unwrap_or(text);
    let mut rest = inner.strip_prefix(']').unwrap_or(inner);
    loop {
        let named = rest.strip_prefix('[').and_then(|class| Some((class, class.chars().next()?)));
        if let Some((class, mark)) = named.filter(|(_, mark)| ":.=".contains(*mark)) {
            rest = after_named(class, mark)?;
            continue;
        }
        let mut chars = rest.chars();
        match chars.next()? {
            ']' => return Some(chars.as_str()),
            '\n' => return None,
            // Whether it hides the end is not the same everywhere.
            '\\' if chars.as_str().starts_with(']') => return None,
            _ => rest = chars.as_str(),
        }
    }
}

/// What follows `:alpha:]` and the like.
fn after_named(class: &str, mark: char) -> Option<&str> {
    let (name, after) = class.get(1..)?.split_once(&format!("{mark}]"))?;
    name.chars().all(|c| c.is_ascii_alphanumeric()).then_some(after)
}

/// What follows a set of characters, of which the bracket is gone. A set may hold a delimiter that does not count for
/// everyone: too unclear, and so is a set that begins with its own end.
pub(crate) fn after_bracket(text: &str, delimiter: char) -> Option<&str> {
    let mut rest = text.strip_prefix('^').unwrap_or(text);
    if rest.starts_with(']') {
        return None;
    }
    loop {
        let named = rest.strip_prefix('[').and_then(|class| Some((class, class.chars().next()?)));
        if let Some((class, mark)) = named.filter(|(_, mark)| ":.=".contains(*mark)) {
            rest = after_named(class, mark)?;
            continue;
        }
        let mut chars = rest.chars();
        match chars.next()? {
            ']' => return Some(chars.as_str()),
            '\n' => return None,
            '\\' if chars.as_str().starts_with(']') => return None,
            c if c == delimiter => return None,
            _ => rest = chars.as_str(),
        }
    }
}
