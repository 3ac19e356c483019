//! Permission rules: `Tool` or `Tool(content)`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use globset::GlobBuilder;

use crate::access::Access;
use crate::shell;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool it speaks of.
    pub tool: String,
    /// What of the tool: a command, a path pattern, a domain. Absent: all of it.
    pub content: Option<String>,
}

/// A rule that cannot be understood.
#[derive(Debug, PartialEq, Eq)]
pub struct RuleError(String);

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not a rule; write Tool or Tool(content), for example Bash(git log:*)", self.0)
    }
}

impl std::error::Error for RuleError {}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let error = || RuleError(text.to_owned());
        let (tool, content) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(error)?)),
        };
        let named = !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-*".contains(c));
        if !named {
            return Err(error());
        }
        let content = content.filter(|content| !content.is_empty() && *content != "*");
        Ok(Self { tool: tool.to_owned(), content: content.map(str::to_owned) })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            None => f.write_str(&self.tool),
            Some(content) => write!(f, "{}({content})", self.tool),
        }
    }
}

/// Rules by behaviour.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Allowed without asking.
    pub allow: Vec<Rule>,
    /// Always asked.
    pub ask: Vec<Rule>,
    /// Never allowed.
    pub deny: Vec<Rule>,
}

/// How a rule is read: an allow rule must cover all of an access, a deny rule any part of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Covers,
    Touches,
}

impl Rule {
    /// Whether the rule names the tool as a whole.
    pub(crate) fn is_whole_tool(&self, tool: &str) -> bool {
        self.content.is_none() && self.names(tool)
    }

    fn names(&self, tool: &str) -> bool {
        self.tool == tool || (self.tool == "Edit" && matches!(tool, "Write" | "NotebookEdit"))
    }

    /// Whether the rule's content speaks of this access.
    pub(crate) fn matches(&self, tool: &str, access: &Access, roots: &[PathBuf], reading: Reading) -> bool {
        let Some(content) = self.content.as_deref() else { return false };
        match access {
            Access::Exec(script) if self.tool == tool => {
                shell::matches_rule(content, &script.command, reading == Reading::Touches)
            }
            Access::Net(host) if self.tool == tool => {
                content.strip_prefix("domain:").is_some_and(|domain| domain.eq_ignore_ascii_case(host))
            }
            Access::Read(path) | Access::Write(path) if self.names(tool) => {
                path_matches(content, path, roots)
            }
            _ => false,
        }
    }
}

/// A path pattern: `/abs/**`, or relative to a working directory.
fn path_matches(pattern: &str, path: &Path, roots: &[PathBuf]) -> bool {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() else { return false };
    let matcher = glob.compile_matcher();
    if pattern.starts_with('/') {
        return matcher.is_match(path);
    }
    roots.iter().any(|root| path.strip_prefix(root).is_ok_and(|relative| matcher.is_match(relative)))
}

/// Splits a comma-separated list; commas and blanks inside parentheses belong to a rule.
#[must_use]
pub fn split_list(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' | '\n' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        for text in ["Bash", "Bash(git log:*)", "mcp__srv__tool", "WebFetch(domain:example.org)"] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        for text in ["", "(x)", "Bash(git", "Ba sh"] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }

    #[test]
    fn lists_split_outside_parentheses_only() {
        assert_eq!(split_list("Read,Bash(git log:*, -n) Edit"), ["Read", "Bash(git log:*, -n)", "Edit"]);
        assert!(split_list("").is_empty());
    }
}
