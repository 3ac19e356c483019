//! Problems, as language servers report them and as Tiller keeps them.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// Characters of a message that are kept.
const LONGEST_MESSAGE: usize = 600;
/// Characters of the name of who reports a problem.
const LONGEST_SOURCE: usize = 80;

/// One problem in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The line, counted from 1.
    pub line: u64,
    /// The column, counted from 1 in the server's units.
    pub column: u64,
    /// What is wrong.
    pub message: String,
    /// Who says so and by which rule, e.g. `rustc E0308`.
    pub source: Option<String>,
}

/// How bad a problem is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It has to be mended.
    Error,
    /// It should be looked at.
    Warning,
    /// It is worth knowing.
    Info,
}

/// The problems of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblems {
    /// The absolute path.
    pub path: PathBuf,
    /// Its problems, worst first.
    pub problems: Vec<Problem>,
}

#[derive(Deserialize)]
struct Reported {
    range: Range,
    severity: Option<u64>,
    code: Option<Value>,
    source: Option<String>,
    message: Value,
}

#[derive(Deserialize)]
struct Range {
    start: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u64,
    character: u64,
}

impl Problem {
    /// Reads a list of diagnostics. What is not one, and hints, are left out: editors grey code out with hints, which is
    /// no news to anybody else.
    pub(crate) fn read_all(list: &Value) -> Vec<Self> {
        list.as_array().into_iter().flatten().filter_map(Self::read).collect()
    }

    fn read(diagnostic: &Value) -> Option<Self> {
        let Reported { range, severity, code, source, message } = Reported::deserialize(diagnostic).ok()?;
        let severity = match severity {
            // The protocol leaves the absent case to us; what a server does not rank may be serious.
            None | Some(1) => Severity::Error,
            Some(2) => Severity::Warning,
            Some(3) => Severity::Info,
            Some(_) => return None,
        };
        let message = message.as_str().or_else(|| message["value"].as_str())?;
        Some(Self {
            severity,
            line: range.start.line.saturating_add(1),
            column: range.start.character.saturating_add(1),
            message: beginning(message.trim(), LONGEST_MESSAGE),
            source: named(source.as_deref(), code.as_ref()),
        })
    }
}

fn named(source: Option<&str>, code: Option<&Value>) -> Option<String> {
    let code = match code {
        Some(Value::String(code)) => Some(code.clone()),
        Some(Value::Number(code)) => Some(code.to_string()),
        _ => None,
    };
    let parts: Vec<&str> = [source, code.as_deref()].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| beginning(&parts.join(" "), LONGEST_SOURCE))
}

fn beginning(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(line: u64, character: u64) -> Value {
        json!({"start": {"line": line, "character": character}, "end": {"line": line, "character": character}})
    }

    #[test]
    fn diagnostics_are_read_as_far_as_they_are_some() {
        let list = json!([
            {"range": at(2, 4), "severity": 1, "code": "E0308", "source": "rustc", "message": "mismatched types\n"},
            {"range": at(0, 0), "message": {"kind": "markdown", "value": "unranked"}},
            {"range": at(0, 0), "severity": 2, "code": 17, "message": "by number"},
            {"range": at(0, 0), "severity": 4, "message": "code is inactive"},
            {"severity": 1, "message": "nowhere"},
            "nonsense",
        ]);
        let problem = |severity, line, column, message: &str, source: Option<&str>| Problem {
            severity,
            line,
            column,
            message: message.to_owned(),
            source: source.map(str::to_owned),
        };
        assert_eq!(
            Problem::read_all(&list),
            [
                problem(Severity::Error, 3, 5, "mismatched types", Some("rustc E0308")),
                problem(Severity::Error, 1, 1, "unranked", None),
                problem(Severity::Warning, 1, 1, "by number", Some("17")),
            ]
        );
        assert_eq!(Problem::read_all(&json!({"not": "a list"})), []);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let list = json!([{"range": at(u64::MAX, 0), "message": "ä".repeat(2 * LONGEST_MESSAGE)}]);
        let problems = Problem::read_all(&list);
        assert_eq!(problems[0].message.chars().count(), LONGEST_MESSAGE + 1);
        assert_eq!(problems[0].line, u64::MAX);
    }
}
