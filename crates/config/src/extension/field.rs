//! The fields of one definition, whatever it defines.

use serde_json::Value;

use crate::error::Problem;
use crate::origin::{Origin, Place};

/// A name is typed and stands in lists.
const LONGEST_NAME: usize = 64;

/// Reads one definition and says what is wrong with it. What restricts and is not understood makes it unusable; other such
/// fields are left out.
pub(crate) struct Decoder<'a> {
    pub(crate) origin: &'a Origin,
    /// What is defined, e.g. `agent`.
    pub(crate) what: &'static str,
    /// The way to the definition, for those that do not stand in a file of their own.
    pub(crate) key: &'a str,
    /// Where a field stands.
    pub(crate) place: &'a dyn Fn(&str) -> Option<Place>,
    pub(crate) problems: &'a mut Vec<Problem>,
}

impl Decoder<'_> {
    pub(crate) fn text(&mut self, name: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => self.unusable(name, "is no text"),
        }
    }

    pub(crate) fn yes_or_no(&mut self, name: &str, value: &Value) -> Option<bool> {
        match value {
            Value::Bool(said) => Some(*said),
            _ => self.unusable(name, "is neither true nor false"),
        }
    }

    /// A list, or names separated by commas or blanks.
    pub(crate) fn names(&mut self, name: &str, value: &Value) -> Option<Vec<String>> {
        let names: Option<Vec<String>> = match value {
            Value::String(text) => Some(split_names(text)),
            Value::Array(items) => {
                items.iter().map(|item| item.as_str().map(str::trim).map(str::to_owned)).collect()
            }
            _ => None,
        };
        names
            .or_else(|| self.unusable(name, "is neither a list of tools nor their names separated by commas"))
    }

    pub(crate) fn unusable<T>(&mut self, field: &str, reason: &str) -> Option<T> {
        let what = self.what;
        self.problem(field, &format!("{reason}; the {what} is left out"));
        None
    }

    pub(crate) fn problem(&mut self, field: &str, text: &str) {
        let way = [self.key, field].into_iter().filter(|step| !step.is_empty());
        self.problems.push(Problem {
            origin: self.origin.clone(),
            place: (self.place)(field),
            key: way.collect::<Vec<_>>().join("."),
            text: text.to_owned(),
        });
    }
}

/// A field's name without what people write in several ways: `disallowedTools`, `disallowed-tools` and
/// `disallowed_tools` are the same.
pub(crate) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_'));
    letters.collect::<String>().to_ascii_lowercase()
}

/// What is wrong with a name, if anything is.
pub(crate) fn wrong_name(name: &str) -> Option<String> {
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
    if name.is_empty() {
        Some("is empty".to_owned())
    } else if let Some(odd) = name.chars().find(|letter| !fits(*letter)) {
        Some(format!("has the character {odd:?}; letters, digits, `-`, `_`, `:` and `.` are possible"))
    } else if name.chars().count() > LONGEST_NAME {
        Some(format!("has more than {LONGEST_NAME} characters"))
    } else {
        None
    }
}

/// Splits at commas and blanks outside of parentheses.
fn split_names(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut names = vec![String::new()];
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match names.last_mut() {
            Some(_) if depth == 0 && (letter == ',' || letter.is_whitespace()) => names.push(String::new()),
            Some(name) => name.push(letter),
            None => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_commas_or_blanks() {
        let expected = ["Read", "Bash(git log:*, x)", "Grep"];
        assert_eq!(split_names("Read, Bash(git log:*, x),,Grep "), expected);
        assert_eq!(split_names("Read Bash(git log:*, x)\tGrep"), expected);
        assert_eq!(split_names(" "), [""; 0]);
    }
}
