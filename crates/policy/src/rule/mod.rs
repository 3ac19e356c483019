//! Permission rules: `Tool` or `Tool(content)`.

pub(crate) mod command;
mod list;
pub(crate) mod pattern;
mod server;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use list::split_list;
pub use tiller_protocol::permission::Behavior;
use tiller_protocol::tool::canonical;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool it speaks of.
    pub tool: String,
    /// What of the tool: a command, a path pattern, a domain. Absent: all of it.
    pub content: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a rule comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The kind of place.
    pub source: Source,
    /// The settings file, if it is one.
    pub file: Option<PathBuf>,
}

/// The kinds of places that rules come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The command line.
    #[default]
    Flag,
    /// The administrator's policy.
    Managed,
    /// The project's settings for this machine.
    Local,
    /// The project's settings.
    Project,
    /// The user's settings.
    User,
    /// This session only.
    Session,
    /// A skill or command, as long as it is followed.
    Turn,
}

/// A rule that cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is not written like a rule.
    #[error("\"{0}\" is not a rule; write Tool or Tool(content), for example Bash(git log:*)")]
    Form(String),
    /// It is in words, but of a tool whose calls are not compared with words.
    #[error(
        "\"{0}\" is not a rule: only commands can be described in words, as in Bash(prompt: run the tests)"
    )]
    Words(String),
    /// It has a content, but is of a tool of a server.
    #[error(
        "\"{rule}\" would fit nothing: what the tools of servers are given is not compared; write {tool}"
    )]
    Content {
        /// As it was written.
        rule: String,
        /// The tool or server.
        tool: String,
    },
    /// It is to speak of hosts, but names none.
    #[error("\"{rule}\" would fit nothing: hosts are written WebFetch(domain:{meant})")]
    Host {
        /// As it was written.
        rule: String,
        /// What was probably meant.
        meant: String,
    },
    /// Its pattern is none.
    #[error(
        "\"{rule}\" would fit nothing: {why}; patterns are those of .gitignore, as in Read(src/**) or Edit(*.lock)"
    )]
    Pattern {
        /// As it was written.
        rule: String,
        /// What is wrong with it.
        why: String,
    },
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let error = || RuleError::Form(text.to_owned());
        let (tool, content) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(error)?)),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let named = match tool.starts_with(server::PREFIX) {
            true => server::is_name(tool) && tool.chars().all(|c| is_plain(c) || c == '*'),
            false => !tool.is_empty() && tool.chars().all(is_plain),
        };
        if !named {
            return Err(error());
        }
        let tool = known(tool);
        let content = content.map(str::trim).filter(|content| !content.is_empty() && *content != "*");
        match content.and_then(|content| content.strip_prefix("prompt:")) {
            Some(words) if words.trim().is_empty() => return Err(error()),
            Some(_) if tool != COMMANDS => return Err(RuleError::Words(text.to_owned())),
            Some(_) => {}
            None => content.map_or(Ok(()), |content| understood(tool, content, text))?,
        }
        Ok(Self {
            tool: canonical(tool).to_owned(),
            content: content.map(str::to_owned),
            origin: Origin::default(),
        })
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

/// Whether the content of a rule can be compared with anything.
fn understood(tool: &str, content: &str, rule: &str) -> Result<(), RuleError> {
    if tool == FETCHER {
        let host = content.strip_prefix("domain:").map(str::trim);
        let is_host = |host: &str| !host.is_empty() && !host.contains(['/', '@', ' ']);
        if !host.is_some_and(is_host) {
            return Err(RuleError::Host { rule: rule.to_owned(), meant: host_in(content) });
        }
    }
    if tool.starts_with(server::PREFIX) {
        return Err(RuleError::Content { rule: rule.to_owned(), tool: tool.to_owned() });
    }
    if READERS.contains(&tool) || EDITORS.contains(&tool) {
        doubtful_path(content)
            .map_or(Ok(()), Err)
            .and_then(|()| pattern::check(content))
            .map_err(|why| RuleError::Pattern { rule: rule.to_owned(), why })?;
    }
    Ok(())
}

/// Why a path pattern would not mean what it says.
fn doubtful_path(content: &str) -> Option<String> {
    let why = match content {
        _ if content.starts_with('!') => "there are no exceptions from a rule",
        _ if content.starts_with("domain:") => "hosts are contacted, as in WebFetch(domain:example.org)",
        _ if content.contains(", ") => "a rule has one pattern, so write one rule for each",
        _ => return None,
    };
    Some(why.to_owned())
}

/// The name of a tool that rules with a content are for, whatever its letters' case.
fn known(tool: &str) -> &str {
    let names = [COMMANDS, FETCHER].into_iter().chain(READERS.iter().chain(EDITORS).copied());
    names.into_iter().find(|name| name.eq_ignore_ascii_case(tool)).unwrap_or(tool)
}

/// The host that an address names, as far as there is one.
fn host_in(content: &str) -> String {
    let address = content.strip_prefix("domain:").unwrap_or(content).trim();
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = address.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default().trim();
    if host.is_empty() { "example.org".to_owned() } else { host.to_owned() }
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

impl Rules {
    /// The rules that say one thing.
    #[must_use]
    pub fn of(&self, behavior: Behavior) -> &[Rule] {
        match behavior {
            Behavior::Allow => &self.allow,
            Behavior::Ask => &self.ask,
            Behavior::Deny => &self.deny,
        }
    }

    /// Whether all that a tool does is denied.
    #[must_use]
    pub fn denies_tool(&self, tool: &str) -> bool {
        self.deny.iter().any(|rule| rule.is_whole_tool(tool))
    }

    /// Whether all that an MCP server offers is denied.
    #[must_use]
    pub fn denies_server(&self, server: &str) -> bool {
        self.deny.iter().any(|rule| rule.names_server(server))
    }

    /// Whether something that a tool offers by name is denied, such as a skill: that name alone, or the whole tool.
    #[must_use]
    pub fn denies_named(&self, tool: &str, name: &str) -> bool {
        let is_meant = |content: &Option<String>| content.as_deref().is_none_or(|content| content == name);
        self.deny.iter().any(|rule| rule.tool == tool && is_meant(&rule.content))
    }

    pub(crate) fn of_mut(&mut self, behavior: Behavior) -> &mut Vec<Rule> {
        match behavior {
            Behavior::Allow => &mut self.allow,
            Behavior::Ask => &mut self.ask,
            Behavior::Deny => &mut self.deny,
        }
    }
}

/// How a rule is read: an allow rule must cover all of an access, a deny or ask rule any part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Covers,
    Touches,
}

/// The tool that runs commands.
const COMMANDS: &str = "Bash";
/// The tool that fetches pages.
const FETCHER: &str = "WebFetch";
/// Tools that read files.
const READERS: &[&str] = &["Read", "Grep", "Glob", "LS", "NotebookRead"];
/// Tools that change files.
const EDITORS: &[&str] = &["Edit", "Write", "NotebookEdit", "MultiEdit"];

impl Rule {
    /// The same rule with another origin.
    #[must_use]
    pub fn from_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// What is to be said of a rule that forbids nothing, or less than it seems to.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let content = self.content.as_deref()?;
        let tool = self.tool.as_str();
        if tool != "Read" && READERS.contains(&tool) {
            return Some(format!(
                "{self} speaks of {tool} alone; Read({content}) speaks of every way to read a file"
            ));
        }
        let compares =
            [COMMANDS, FETCHER].contains(&tool) || READERS.contains(&tool) || EDITORS.contains(&tool);
        (!compares).then(|| {
            format!(
                "{self} fits nothing, because calls of {tool} are not compared with a content; write {tool}"
            )
        })
    }

    /// The description of a purpose that commands are compared with by a model, if it is such a rule.
    #[must_use]
    pub fn prompt(&self) -> Option<&str> {
        self.content.as_deref()?.strip_prefix("prompt:").map(str::trim)
    }

    /// The content, unless only a model can match it.
    pub(crate) fn plain_content(&self) -> Option<&str> {
        self.content.as_deref().filter(|_| self.prompt().is_none())
    }

    /// Whether the rule names the tool as a whole.
    pub(crate) fn is_whole_tool(&self, tool: &str) -> bool {
        self.content.is_none() && (self.names(tool) || server::names_tool(&self.tool, tool))
    }

    fn names(&self, tool: &str) -> bool {
        self.tool == tool
            || (self.tool == "Edit" && EDITORS.contains(&tool))
            || (self.tool == "Read" && READERS.contains(&tool))
    }

    /// Whether the rule speaks of all that a server offers.
    pub(crate) fn names_server(&self, server: &str) -> bool {
        self.content.is_none() && server::names_server(&self.tool, server)
    }

    /// Whether the content of this rule is a path pattern that speaks of reading by a tool. No tool: by a command.
    pub(crate) fn judges_reads(&self, tool: Option<&str>) -> bool {
        self.tool == "Read" || Some(self.tool.as_str()) == tool
    }

    /// Whether the content of this rule is a path pattern that speaks of changes by a tool. No tool: by a command. A
    /// rule that forbids writing a file forbids every way of changing it.
    pub(crate) fn judges_writes(&self, tool: Option<&str>, reading: Reading) -> bool {
        self.tool == "Edit"
            || Some(self.tool.as_str()) == tool
            || (reading == Reading::Touches && EDITORS.contains(&self.tool.as_str()))
    }

    /// Whether the rule speaks of a host: itself and everything below it.
    pub(crate) fn matches_host(&self, tool: &str, host: &str) -> bool {
        let Some(domain) = self.content.as_deref().and_then(|content| content.strip_prefix("domain:")) else {
            return false;
        };
        let (domain, host) =
            (domain.trim().to_ascii_lowercase(), host.trim_end_matches('.').to_ascii_lowercase());
        let domain = domain.strip_prefix("*.").unwrap_or(&domain);
        let below = host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
        self.tool == tool && !domain.is_empty() && (host == *domain || below)
    }

    /// The directory that a pattern with one leading `/` starts from.
    pub(crate) fn settings_root(&self) -> Option<&Path> {
        let dir = self.origin.file.as_deref()?.parent()?;
        let is_settings_dir = dir.file_name().is_some_and(|name| name == ".tiller" || name == ".claude");
        if is_settings_dir { dir.parent() } else { Some(dir) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    #[test]
    fn rules_are_read_and_written() {
        for text in [
            "Bash",
            "Bash(git log:*)",
            "mcp__srv__tool",
            "WebFetch(domain:example.org)",
            "Bash(prompt: run tests)",
        ] {
            assert_eq!(rule(text).to_string(), text);
        }
        for text in [
            "",
            "(x)",
            "Bash(git",
            "Ba sh",
            "Bash(prompt: )",
            "Read(prompt: x)",
            "Edit([a)",
            "Read(a{b)",
            "*",
            "B*",
            "mcp__",
            "mcp____",
            "Read(!.env)",
            "Read(.env, secrets)",
            "Edit(domain:x)",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }

    #[test]
    fn blanks_and_the_case_of_a_tool_do_not_matter() {
        for (text, meant) in [
            ("Read( .env)", "Read(.env)"),
            ("Read(.env )", "Read(.env)"),
            (" Bash( rm:* ) ", "Bash(rm:*)"),
            ("bash(rm:*)", "Bash(rm:*)"),
            ("READ(.env)", "Read(.env)"),
            ("Bash( )", "Bash"),
        ] {
            assert_eq!(rule(text).to_string(), meant);
        }
    }

    // A rule that can never fit is an error that says what to write.
    #[test]
    fn rules_for_hosts_name_them_as_domains() {
        for (text, meant) in [
            ("WebFetch(docs.rs)", "docs.rs"),
            ("WebFetch(https://docs.rs/tokio?x)", "docs.rs"),
            ("WebFetch(domain:https://docs.rs)", "docs.rs"),
            ("WebFetch(domain:)", "example.org"),
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(&format!("WebFetch(domain:{meant})")), "{text}: {error}");
        }
        assert!("WebFetch(domain:*.docs.rs)".parse::<Rule>().is_ok());
    }

    #[test]
    fn what_forbids_nothing_is_doubted() {
        assert!(rule("Glob(src/**)").doubt().unwrap().contains("Read(src/**)"));
        assert!(rule("TodoWrite(x)").doubt().unwrap().contains("write TodoWrite"));
        assert!(
            "mcp__srv__tool(x)".parse::<Rule>().unwrap_err().to_string().contains("write mcp__srv__tool")
        );
        for fine in ["Glob", "Read(x)", "Bash(x)", "Write(x)", "WebFetch(domain:x.org)", "mcp__srv"] {
            assert_eq!(rule(fine).doubt(), None, "{fine}");
        }
    }

    #[test]
    fn a_server_rule_speaks_of_its_tools_only() {
        for (text, tool, expected) in [
            ("mcp__srv", "mcp__srv__a", true),
            ("mcp__srv__*", "mcp__srv__a", true),
            ("mcp__srv__a", "mcp__srv__a", true),
            ("mcp__srv__a", "mcp__srv__ab", false),
            ("mcp__srv", "mcp__srv2__a", false),
            ("Edit", "NotebookEdit", true),
            ("Read", "Grep", true),
            ("Write", "Edit", false),
        ] {
            assert_eq!(rule(text).is_whole_tool(tool), expected, "{text} {tool}");
        }
    }

    #[test]
    fn a_domain_covers_what_is_below_it() {
        let domain = rule("WebFetch(domain:example.org)");
        for (host, expected) in [
            ("example.org", true),
            ("docs.Example.org", true),
            ("notexample.org", false),
            ("example.org.evil.net", false),
            ("org", false),
        ] {
            assert_eq!(domain.matches_host("WebFetch", host), expected, "{host}");
        }
        assert!(!domain.matches_host("WebSearch", "example.org"));
    }

    // PERM-12
    #[test]
    fn a_prompt_rule_is_kept_as_text() {
        assert_eq!(rule("Bash(prompt:  run the tests )").prompt(), Some("run the tests"));
        assert_eq!(rule("Bash(prompt: x)").plain_content(), None);
        assert_eq!(rule("Bash(git log)").prompt(), None);
    }
}
