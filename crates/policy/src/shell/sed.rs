//! What `sed` can be asked without changing anything: scripts that neither write files nor run programs.

use super::Word;
use super::lookers::is_option;

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
        'y' => after_delimited(chars.as_str(), 2)?,
        '{' => return Some(chars.as_str()),
        'a' | 'i' | 'c' => return after_added(chars.as_str()),
        _ => return None,
    };
    let rest = rest.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with([';', '\n', '}'])).then_some(rest)
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
        Some('/') => after_delimited(text, 1).map(|rest| rest.trim_start_matches('I')),
        _ => Some(text),
    }
}

fn after_substitution(text: &str) -> Option<&str> {
    let rest = after_delimited(text, 2)?;
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'I' | 'i')))
}

/// What follows `parts` texts between delimiters, of which the first character is one.
fn after_delimited(text: &str, parts: usize) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| c.is_ascii_punctuation() && !"\\[]".contains(*c))?;
    let mut left = parts;
    let mut rest = text.get(1..)?;
    loop {
        let mut chars = rest.chars();
        rest = match chars.next()? {
            '\n' => return None,
            '\\' => {
                chars.next()?;
                chars.as_str()
            }
            '[' => after_bracket(chars.as_str(), delimiter)?,
            c if c == delimiter && left == 1 => return Some(chars.as_str()),
            c => {
                left -= usize::from(c == delimiter);
                chars.as_str()
            }
        };
    }
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
            let (name, after) = class.get(1..)?.split_once(&format!("{mark}]"))?;
            name.chars().all(|c| c.is_ascii_alphanumeric()).then_some(())?;
            rest = after;
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
