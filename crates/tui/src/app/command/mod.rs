//! Slash commands: a table, from which completion and help are made.

mod choose;
mod nearest;
mod report;
mod run;

use std::sync::Arc;

use super::{App, mcp};
use crate::menu::Candidate;
use nearest::nearest;
pub(super) use report::{agents as agents_at_work, no_tasks, session_rules};
pub(super) use run::{AGENTS, PERMISSIONS, PLAN, Verb};

/// A command as data.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) hint: &'static str,
    pub(super) help: &'static str,
    pub(super) verb: Verb,
}

/// Other names for commands, by which they are known as well.
const ALIASES: [(&str, &str); 1] = [("quit", "exit")];

/// Every command, in the order of the help.
pub(super) const TABLE: &[Row] = &[
    row("help", "", "Commands and keys", Verb::Help),
    row("clear", "", "Start over with an empty conversation", Verb::Clear),
    row("compact", "[wish | undo]", "Fold the conversation into a summary, or undo that", Verb::Compact),
    row("resume", "[words]", "Continue another session of this project", Verb::Resume),
    row("rewind", "", "Go back to before an earlier prompt: conversation, files or both", Verb::Rewind),
    row(
        "plan",
        "[what | open]",
        "Enter plan mode; in plan mode, show the plan or open it in $EDITOR",
        Verb::Plan,
    ),
    row("mode", "[name]", "Switch the permission mode, or list the modes", Verb::Mode),
    row("delegate", "", "Let the agent delegate all work and only read; again to end this", Verb::Delegate),
    row("model", "[name]", "Switch the model", Verb::Model),
    row("output-style", "[name]", "Choose the style of answers", Verb::OutputStyle),
    row("context", "", "What fills the context", Verb::Context),
    row("cost", "", "What the session has cost", Verb::Cost),
    row("steering", "", "What Tiller itself has told the model", Verb::Steering),
    row("todos", "", "The todo list", Verb::Todos),
    row("tasks", "[stop ID]", "What runs in the background", Verb::Tasks),
    row("agents", "", "Running sub-agents, and all that can be delegated to", Verb::Agents),
    row("permissions", "", "What is allowed, asked and refused, and by which file", Verb::Permissions),
    row("hooks", "", "The hooks in effect", Verb::Hooks),
    row("config", "[key [value]]", "Show settings and their sources, or change one", Verb::Config),
    row("mcp", "", "MCP servers: state, offer, start, stop, sign in", Verb::Mcp),
    row("memory", "", "Edit the instruction files for the agent", Verb::Memory),
    row("init", "", "Let the agent write instructions for this project", Verb::Init),
    row(
        "export",
        "[file]",
        "Write the session to a page (.html), as text (.md) or as its log (.jsonl)",
        Verb::Export,
    ),
    row("status", "", "This session: id, model, mode, confinement, cost", Verb::Status),
    row("doctor", "", "Check Tiller's setup on this machine", Verb::Doctor),
    row("theme", "[name]", "Colours: dark, light, no-color, or auto to match the terminal", Verb::Theme),
    row("vim", "", "Vim keys on or off", Verb::Vim),
    row("exit", "", "Leave", Verb::Exit),
];

const fn row(name: &'static str, hint: &'static str, help: &'static str, verb: Verb) -> Row {
    Row { name, hint, help, verb }
}

impl App {
    /// Lets menu and help follow what commands there are.
    pub(super) fn renew_commands(&mut self) {
        let commands = self.commands();
        self.input.set_commands(commands);
    }

    /// All commands: those of the table, then those that the session carries out.
    fn commands(&self) -> Arc<[Candidate]> {
        let is_new = |command: &&Candidate| TABLE.iter().all(|row| row.name != command.text);
        let others = self.info.commands.iter().filter(is_new).cloned();
        own().chain(others).chain(mcp::candidates(self.servers.values())).collect()
    }

    /// Whether a text calls for something that the session carries out. What a plugin brings may be called by the part of
    /// its name behind the colon.
    pub(super) fn is_for_session(&self, text: &str) -> bool {
        let Some((name, _)) = split(text) else { return false };
        let is_called = |full: &str| {
            full.eq_ignore_ascii_case(name)
                || full.rsplit_once(':').is_some_and(|(_, short)| short.eq_ignore_ascii_case(name))
        };
        self.names_of_others().any(is_called)
    }

    /// The names of everything that the session carries out.
    fn names_of_others(&self) -> impl Iterator<Item = &str> {
        let prompts = self.servers.values().flat_map(|server| &server.prompts);
        let names = self.info.commands.iter().map(|command| command.text.as_str());
        names.chain(prompts.map(|prompt| prompt.name.as_str()))
    }

    /// What to say about a text that looks like a command and is none.
    pub(super) fn unknown(&self, text: &str) -> Option<String> {
        if recognise(text).is_some() || self.is_for_session(text) {
            return None;
        }
        let name = looks_like_a_name(text)?;
        let own = TABLE.iter().map(|row| row.name).chain(ALIASES.iter().map(|(alias, _)| *alias));
        let meant = nearest(name, own.chain(self.names_of_others()));
        let meant = meant.map(|meant| format!(" Did you mean /{meant}?")).unwrap_or_default();
        Some(format!(
            "There is no command /{name}.{meant} /help lists them. To send it to the agent, put a space before it."
        ))
    }
}

/// The commands of the table for menu and help.
fn own() -> impl Iterator<Item = Candidate> {
    let candidate = |row: &Row| Candidate {
        text: row.name.to_owned(),
        hint: row.hint.to_owned(),
        help: row.help.to_owned(),
        source: String::new(),
    };
    TABLE.iter().map(candidate)
}

/// The command that a text is, and what follows its name.
pub(super) fn recognise(text: &str) -> Option<(&'static str, &str)> {
    let (name, rest) = split(text)?;
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    let row = TABLE.iter().find(|row| row.name == name)?;
    Some((row.name, rest))
}

/// The name that a text begins with, if it could be one of a command.
fn looks_like_a_name(text: &str) -> Option<&str> {
    let (name, _) = split(text)?;
    // Paths begin with a slash, too.
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_name.then_some(name)
}

fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some((name, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_paths_and_typing_errors() {
        assert_eq!(recognise("/plan fix it"), Some(("plan", "fix it")));
        assert_eq!(recognise("/exit"), Some(("exit", "")));
        assert_eq!(recognise("/quit"), Some(("exit", "")));
        assert_eq!(recognise("plan"), None);
        assert_eq!(looks_like_a_name("/hepl me"), Some("hepl"));
        assert_eq!(looks_like_a_name("/etc/passwd is odd"), None);
        assert_eq!(looks_like_a_name(" /hepl"), None);
    }

    #[test]
    fn every_command_has_help_and_a_name_of_its_own() {
        for (at, row) in TABLE.iter().enumerate() {
            assert!(!row.help.is_empty() && !row.help.ends_with('.'), "{}", row.name);
            assert!(TABLE[..at].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }
}
