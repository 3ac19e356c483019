//! What commands do.

use std::sync::Arc;

use tiller_protocol::command::{Command, TaskState};
use tiller_protocol::entry::{Delivery, Level};
use tiller_protocol::mode::Mode;

use super::super::{App, Effect, Exit};
use super::{TABLE, report};
use crate::cell;
use crate::host::Request;
use crate::panel::{Help, Panel, Steering};
use crate::theme::Palette;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Verb {
    Help,
    Clear,
    Resume,
    Rewind,
    Plan,
    Model,
    Context,
    Cost,
    Steering,
    Todos,
    Tasks,
    Agents,
    Permissions,
    Hooks,
    Config,
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
pub(in crate::app) const PERMISSIONS: &str = "Permissions";

const INIT: &str = include_str!("init.md");
const MEMORY: &str = include_str!("memory.md");

impl App {
    /// Runs a command of the table.
    pub(in crate::app) fn run_command(&mut self, name: &str, rest: &str) -> Vec<Effect> {
        let Some(row) = TABLE.iter().find(|row| row.name == name) else { return Vec::new() };
        match row.verb {
            Verb::Help => self.open(Panel::Help(Help::new(Arc::clone(&self.keys), super::candidates()))),
            Verb::Clear => self.quit(Exit::Cleared),
            Verb::Resume => vec![Effect::Ask(Request::Sessions)],
            Verb::Rewind => self.choose_prompt(),
            Verb::Plan => self.plan(rest),
            Verb::Model => self.choose_model(rest),
            Verb::Context => self.open_report("Context", report::context),
            Verb::Cost => self.open_report("Cost", report::cost),
            Verb::Steering => self.steering(),
            Verb::Todos => self.show_todos(),
            Verb::Tasks => self.tasks(rest),
            Verb::Agents => self.reported(AGENTS, &["agents", "list"]),
            Verb::Permissions => self.reported(PERMISSIONS, &["permissions", "list"]),
            Verb::Hooks => self.reported("Hooks", &["hooks", "list"]),
            Verb::Config => self.reported("Settings", &["config", "list"]),
            Verb::Memory => self.say(MEMORY),
            Verb::Init => vec![self.send(INIT.trim(), &[], Delivery::Queue)],
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

    fn say(&mut self, text: &str) -> Vec<Effect> {
        self.tell(Level::Info, text.trim());
        Vec::new()
    }

    fn steering(&mut self) -> Vec<Effect> {
        let additions = self.additions.iter().cloned().collect();
        self.open(Panel::Steering(Steering::new(additions, &self.ledger, Arc::clone(&self.keys))))
    }

    fn plan(&mut self, what: &str) -> Vec<Effect> {
        let mut effects = vec![Effect::Send(Command::SetMode(Mode::Plan))];
        if !what.is_empty() {
            effects.push(self.send(what, &[], Delivery::Steer));
        }
        effects
    }

    fn choose_model(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() {
            let text = format!(
                "The model is {}. /model NAME takes another one: sonnet, opus, haiku, fable, opusplan, or a full id.",
                self.model()
            );
            return self.say(&text);
        }
        name.clone_into(&mut self.info.model);
        self.tell(Level::Info, &format!("The model is {name} from now on."));
        vec![Effect::Send(Command::SetModel(name.to_owned()))]
    }

    fn show_todos(&mut self) -> Vec<Effect> {
        if self.state.todos.is_empty() {
            return self.say("The todo list is empty.");
        }
        self.open_report("Todo list", |app| cell::todos(&app.state.todos, usize::MAX, &app.look.paper()))
    }

    fn tasks(&mut self, rest: &str) -> Vec<Effect> {
        if let Some(id) = rest.strip_prefix("stop ").map(str::trim) {
            let runs = self.live.tasks.get(id).is_some_and(|task| task.state == TaskState::Running);
            if !runs {
                self.tell(
                    Level::Warning,
                    &format!("Nothing named {id} runs in the background; /tasks lists what does."),
                );
                return Vec::new();
            }
            return vec![Effect::Send(Command::StopTask(id.to_owned()))];
        }
        self.open_report("Background tasks", report::tasks)
    }

    fn export(&mut self, file: &str) -> Vec<Effect> {
        let id = self.info.id.to_string();
        let file = if file.is_empty() { format!("tiller-{id}.html") } else { file.to_owned() };
        self.tell(Level::Info, &format!("The session is written to {file}"));
        self.reported("Export", &["inspect", &id, "--html", &file])
    }

    fn theme(&mut self, name: &str) -> Vec<Effect> {
        match Palette::named(name) {
            Some(palette) => self.set_palette(palette),
            None if name.is_empty() => self.choose_palette(),
            None => self.say("There are the themes dark, light and no-color."),
        }
    }

    fn toggle_vim(&mut self) -> Vec<Effect> {
        self.vim = !self.vim;
        self.input.set_vim(self.vim);
        self.tell(Level::Info, if self.vim { "Vim keys are on." } else { "Vim keys are off." });
        vec![Effect::Ask(Request::Keep { key: "terminal.vim".to_owned(), value: self.vim.to_string() })]
    }
}
