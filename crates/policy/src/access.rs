//! What a call will touch.

use std::path::PathBuf;

use crate::path::Place;

/// One thing a call will touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads a file or searches below a directory.
    Read(Place),
    /// Creates, changes or replaces a file.
    Write(Place),
    /// Runs a command.
    Exec(Script),
    /// Connects to a host.
    Net(String),
    /// Reads what an MCP server has to read; its name as it stands in rules.
    Server(String),
}

/// A shell command and where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Script {
    /// The text given to the shell.
    pub command: String,
    /// The directory it starts in.
    pub cwd: PathBuf,
}

/// A call as policy sees it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// Everything the call will touch.
    pub access: Vec<Access>,
    /// Whether the call leaves everything unchanged.
    pub read_only: bool,
}

/// The tool that types into running commands.
const TYPES: &str = "ShellInput";

impl Request {
    /// Whether it types into a running command. What that makes of the text is not known: it need not be a shell.
    pub(crate) fn types(&self) -> bool {
        self.tool == TYPES
    }

    /// The tool whose rules for commands count: what is typed may be a command.
    pub(crate) fn ruled_as(&self) -> &str {
        if self.types() { "Bash" } else { &self.tool }
    }

    /// The call in a few words: the command, or the tool with what it touches.
    #[must_use]
    pub fn describe(&self) -> String {
        let touched = self.access.iter().map(|access| match access {
            Access::Read(place) | Access::Write(place) => place.real.display().to_string(),
            Access::Exec(script) => script.command.clone(),
            Access::Net(host) => host.clone(),
            Access::Server(name) => name.clone(),
        });
        match self.access.as_slice() {
            [Access::Exec(script)] => script.command.clone(),
            _ => std::iter::once(self.tool.clone()).chain(touched).collect::<Vec<_>>().join(" "),
        }
    }
}
