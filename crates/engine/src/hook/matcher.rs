//! For which cases of an event a hook runs.

use std::sync::atomic::{AtomicBool, Ordering};

use regex::Regex;
use tiller_protocol::tool::{canonical, other_name};

/// What the settings call a matcher.
#[derive(Debug)]
pub(super) enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Regex),
    /// A text that is no regular expression: it matches nothing.
    Invalid(Invalid),
}

#[derive(Debug)]
pub(super) struct Invalid {
    pub(super) why: String,
    told: AtomicBool,
}

impl Matcher {
    pub(super) fn new(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Self::All;
        }
        if text.chars().all(|letter| letter.is_alphanumeric() || "_-|, ".contains(letter)) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Self::Names(names.map(str::to_owned).collect());
        }
        match Regex::new(text) {
            Ok(pattern) => Self::Pattern(pattern),
            Err(error) => {
                let why =
                    format!("the matcher \"{text}\" is not a regular expression: {}", last_line(&error));
                Self::Invalid(Invalid { why, told: AtomicBool::new(false) })
            }
        }
    }

    /// Whether it matches. Where an event has nothing to compare with, everything but an invalid matcher does.
    pub(super) fn matches(&self, subject: Option<&str>) -> bool {
        match (self, subject) {
            (Self::Invalid(_), _) => false,
            (Self::All, _) | (_, None) => true,
            (Self::Names(names), Some(subject)) => {
                names.iter().any(|name| name == subject || canonical(name) == subject)
            }
            (Self::Pattern(pattern), Some(subject)) => {
                pattern.is_match(subject) || other_name(subject).is_some_and(|name| pattern.is_match(name))
            }
        }
    }

    /// What is wrong with it, for the first one who asks.
    pub(super) fn problem(&self) -> Option<&str> {
        match self {
            Self::Invalid(invalid) if !invalid.told.swap(true, Ordering::Relaxed) => Some(&invalid.why),
            _ => None,
        }
    }
}

/// The last line of such an error says what is wrong; those before draw an arrow.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // HOOK-17
    #[test]
    fn names_alternatives_expressions_and_everything_match() {
        for (matcher, yes, no) in [
            ("", &["Bash", "anything"][..], &[][..]),
            ("*", &["Bash"], &[]),
            ("Bash", &["Bash"], &["BashOutput", "bash", "MyBash"]),
            ("Edit|Write", &["Edit", "Write"], &["NotebookEdit", "Edit|Write"]),
            (" Edit , Write ", &["Edit", "Write"], &["Read"]),
            ("code-reviewer", &["code-reviewer"], &["code"]),
            ("Notebook.*", &["NotebookEdit", "Notebook", "MyNotebook"], &["Note"]),
            ("^Bash$", &["Bash"], &["BashOutput"]),
            ("Agent", &["Task"], &["Agents"]),
            ("^Agent$|^Bash$", &["Task"], &["TaskOutput"]),
            ("mcp__.*__write", &["mcp__fs__write_file"], &["mcp__fs__read"]),
            ("^Edit$|mcp__.*", &["Edit", "mcp__a__b"], &["NotebookEdit"]),
        ] {
            let matcher = Matcher::new(matcher);
            yes.iter().for_each(|name| assert!(matcher.matches(Some(name)), "{matcher:?} {name}"));
            no.iter().for_each(|name| assert!(!matcher.matches(Some(name)), "{matcher:?} {name}"));
            assert!(matcher.matches(None) && matcher.problem().is_none());
        }
    }

    #[test]
    fn a_text_that_is_no_expression_matches_nothing_and_is_told_once() {
        let matcher = Matcher::new("Bash(");
        assert!(!matcher.matches(Some("Bash")) && !matcher.matches(None));
        let problem = matcher.problem().unwrap();
        assert!(problem.contains("\"Bash(\"") && problem.contains("unclosed group"), "{problem}");
        assert_eq!(matcher.problem(), None);
    }
}
