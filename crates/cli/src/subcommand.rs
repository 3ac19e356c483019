//! The commands beside the main one: from this table they are found, and from it `--help` lists them.

use tiller_protocol::env::Env;

use crate::exit::Exit;
use crate::text::hanging;
use crate::{
    agents, config, demo, doctor, hooks, inspect, mcp, message, permissions, plans, plugin, recipes, replay,
    rewind, sandbox, sessions, trust,
};

/// Runs a command with its words, the first of which is its name.
type Main = fn(&[String], &Env) -> anyhow::Result<Exit>;

/// A command such as `tiller doctor`.
struct Subcommand {
    name: &'static str,
    /// One sentence for the list.
    about: &'static str,
    main: Main,
}

const fn subcommand(name: &'static str, about: &'static str, main: Main) -> Subcommand {
    Subcommand { name, about, main }
}

const SUBCOMMANDS: &[Subcommand] = &[
    subcommand(
        "demo",
        "Watch Tiller find and fix a bug in a scratch repository; no account, no network",
        demo::main,
    ),
    subcommand(
        "doctor",
        "Check Tiller's setup on this machine; --network lists what it connects to",
        doctor::main,
    ),
    subcommand("sessions", "List, show, search, compare, verify, export and remove sessions", sessions::main),
    subcommand(
        "inspect",
        "Show everything in a session, including every byte Tiller added, as text, JSON or HTML",
        inspect::main,
    ),
    subcommand("rewind", "Go back to before a prompt: the conversation, the files, or both", rewind::main),
    subcommand(
        "replay",
        "Run a session again from its log, offline, and name the first difference",
        replay::main,
    ),
    subcommand("plans", "Show plans and how they changed", plans::main),
    subcommand("permissions", "Ask what would be allowed and why; test your rules", permissions::main),
    subcommand("trust", "Trust the settings of this project", trust::main),
    subcommand("sandbox", "Try how a command is confined", sandbox::main),
    subcommand("hooks", "List hooks and try them out", hooks::main),
    subcommand("config", "Show and change settings", config::main),
    subcommand("mcp", "Add, list, sign in to and remove MCP servers; be one", mcp::main),
    subcommand("plugin", "Install, list and remove plugins", plugin::main),
    subcommand("agents", "List the agents that work can be delegated to", agents::main),
    subcommand("skills", "List skills", recipes::main),
    subcommand("commands", "List slash commands", recipes::main),
    subcommand("message", "Leave notes for other sessions of this project, and read them", message::main),
];

/// The command of this name.
pub(crate) fn find(name: &str) -> Option<Main> {
    SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name).map(|subcommand| subcommand.main)
}

const ENVIRONMENT: &str = "\
Environment:
  ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL
                      How to reach the model
  TILLER_CONFIG_DIR   Settings and sessions, instead of ~/.tiller";

/// What `tiller --help` says behind the options.
pub(crate) fn after_help() -> String {
    let row = |name: &str, about: &str| hanging(&format!("  tiller {name:<14}"), about);
    let ways =
        [row("", "Work together at the terminal"), row("-p PROMPT", "Do one task and print the answer")];
    let listed = SUBCOMMANDS.iter().map(|subcommand| row(subcommand.name, subcommand.about));
    let last = row("help COMMAND", "Print the options of a command");
    let commands: Vec<String> = ways.into_iter().chain(listed).chain([last]).collect();
    let codes: Vec<String> = Exit::ALL.iter().map(|exit| exit_row(*exit)).collect();
    format!("Commands:\n{}\n\n{ENVIRONMENT}\n\nExit codes:\n{}", commands.join("\n"), codes.join("\n"))
}

fn exit_row(exit: Exit) -> String {
    hanging(&format!("  {:>3}  ", exit.code()), exit.meaning())
}
