//! What commands do.

use std::sync::Arc;

use tiller_protocol::command::Command;
use tiller_protocol::entry::{Delivery, Level};
use tiller_protocol::mode::Mode;

use super::super::{App, Effect, Exit};
use super::{TABLE, report};
use crate::host::Request;
use crate::input::Image;
use crate::panel::{Help, Panel, Steering};

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Verb {
    Help,
    Clear,
    Compact,
    Resume,
    Rewind,
    Plan,
    Mode,
    Delegate,
    Model,
    OutputStyle,
    Context,
    Cost,
    Steering,
    Todos,
    Tasks,
    Agents,
    Permissions,
    Hooks,
    Config,
    Mcp,
    Memory,
    Init,
    Export,
    Status,
    Doctor,
    Theme,
    Vim,
    Exit,
}

/// Pages with more than another command of the program prints.
pub(in crate::app) const AGENTS: &str = "Agents";
pub(in crate::app) const PLAN: &str = "The plan";
pub(in crate::app) const PERMISSIONS: &str = "Permissions";

const INIT: &str = include_str!("init.md");

impl App {
    /// Runs a command of the table.
    pub(in crate::app) fn run_command(&mut self, name: &str, rest: &str, images: &[Image]) -> Vec<Effect> {
        let Some(row) = TABLE.iter().find(|row| row.name == name) else { return Vec::new() };
        match row.verb {
            Verb::Help => self.open(Panel::Help(Help::new(Arc::clone(&self.keys), self.commands()))),
            Verb::Clear => self.clear(),
            Verb::Compact => self.compact(rest),
            Verb::Resume => vec![Effect::Ask(Request::Sessions(rest.to_owned()))],
            Verb::Rewind => self.choose_prompt(),
            Verb::Plan => self.plan(rest, images),
            Verb::Mode => self.mode(rest),
            Verb::Delegate => self.delegate(),
            Verb::Model => self.choose_model(rest),
            Verb::OutputStyle if rest.is_empty() => vec![Effect::Ask(Request::Styles)],
            Verb::OutputStyle => vec![Effect::Ask(Request::Style(rest.to_owned()))],
            Verb::Context => self.open_report("Context", report::context),
            Verb::Cost => self.open_report("Cost", report::cost),
            Verb::Steering => self.steering(),
            Verb::Todos => self.open_report("Todo list", report::todos),
            Verb::Tasks => self.tasks(rest),
            Verb::Agents => self.reported(AGENTS, &["agents", "list"]),
            Verb::Permissions => self.reported(PERMISSIONS, &["permissions", "list"]),
            Verb::Hooks => self.reported("Hooks", &["hooks", "list"]),
            Verb::Config => self.config(rest),
            Verb::Mcp => self.choose_server(),
            Verb::Memory => vec![Effect::Ask(Request::Memory)],
            Verb::Init => self.send(INIT.trim(), &[], Delivery::Queue),
            Verb::Export => self.export(rest),
            Verb::Status => self.open_report("Status", report::status),
            Verb::Doctor => self.reported("Doctor", &["doctor"]),
            Verb::Theme => self.theme(rest),
            Verb::Vim => self.toggle_vim(),
            Verb::Exit => self.quit(Exit::Quit),
        }
    }

    /// Asks for what another command of the program prints, to be read on a page.
    fn reported(&mut self, title: &'static str, words: &[&str]) -> Vec<Effect> {
        self.remark("one moment …");
        let words = words.iter().map(|&word| word.to_owned()).collect();
        vec![Effect::Ask(Request::Report { title, words })]
    }

    /// Lets another command of the program do something.
    fn done_by(&mut self, words: &[&str], done: String) -> Vec<Effect> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        vec![Effect::Ask(Request::Run { words, done })]
    }

    pub(super) fn say(&mut self, text: &str) -> Vec<Effect> {
        self.tell(Level::Info, text.trim());
        Vec::new()
    }

    fn steering(&mut self) -> Vec<Effect> {
        let additions = self.additions.iter().cloned().collect();
        self.open(Panel::Steering(Steering::new(additions, &self.ledger, Arc::clone(&self.keys))))
    }

    fn plan(&mut self, what: &str, images: &[Image]) -> Vec<Effect> {
        let slug = self.state.plan_slug.clone();
        match (what, slug) {
            ("open", Some(slug)) => {
                vec![Effect::EditFile(self.info.plans.join(format!("{slug}.md")))]
            }
            ("open", None) => self.say("There is no plan yet; /plan WHAT lets the agent make one."),
            ("", Some(slug)) if self.state.mode == Mode::Plan => {
                self.reported(PLAN, &["plans", "show", &slug])
            }
            ("", _) => self.set_mode(Mode::Plan),
            (what, _) => [self.set_mode(Mode::Plan), self.send(what, images, Delivery::Steer)].concat(),
        }
    }

    /// In delegate mode the agent hands work out and does none itself.
    fn delegate(&mut self) -> Vec<Effect> {
        let (mode, text) = match self.state.mode {
            Mode::Delegate => (Mode::Default, "The agent does its own work again."),
            _ => (
                Mode::Delegate,
                "The agent now delegates all work and only reads. /delegate again ends this.",
            ),
        };
        self.tell(Level::Info, text);
        vec![Effect::Send(Command::SetMode(mode))]
    }

    /// All settings, one of them, or a new value for it.
    fn config(&mut self, rest: &str) -> Vec<Effect> {
        match rest.split_once(char::is_whitespace) {
            _ if rest.is_empty() => self.reported("Settings", &["config", "list", "--provenance"]),
            None => self.reported("Setting", &["config", "get", rest]),
            Some((key, value)) => {
                let (key, value) = (key.trim(), value.trim());
                let done = format!("{key} is {value} in your settings; it applies to new sessions.");
                self.done_by(&["config", "set", key, value, "--user"], done)
            }
        }
    }

    /// The session as a page, as text for people (`.md`, `.txt`), or as its log (`.jsonl`).
    fn export(&mut self, file: &str) -> Vec<Effect> {
        let id = self.info.id.to_string();
        let file = match file.strip_prefix("~/") {
            Some(below) => self.info.home.join(below).to_string_lossy().into_owned(),
            None if file.is_empty() => format!("tiller-{id}.html"),
            None => file.to_owned(),
        };
        let done = format!("The session was written to {file}");
        match file.rsplit('.').next() {
            Some("md" | "txt") => self.done_by(&["sessions", "export", &id, "--output", &file], done),
            Some("jsonl") => self.done_by(&["sessions", "export", &id, "--json", "--output", &file], done),
            _ => self.done_by(&["inspect", &id, "--html", &file], done),
        }
    }

    fn toggle_vim(&mut self) -> Vec<Effect> {
        self.vim = !self.vim;
        self.input.set_vim(self.vim);
        self.tell(Level::Info, if self.vim { "Vim keys are on." } else { "Vim keys are off." });
        vec![Effect::Ask(Request::Keep { key: "terminal.vim".to_owned(), value: self.vim.to_string() })]
    }
}
