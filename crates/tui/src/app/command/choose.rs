//! Commands that let the user choose: a mode, a model, an output style, a file of instructions, colours.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_protocol::command::{Command, OutputStyle};
use tiller_protocol::entry::Level;
use tiller_protocol::mode::Mode;

use super::super::overlay::{AUTO, Overlay, Subject};
use super::super::{App, Effect, ModelRow, status};
use crate::dialog::ChoiceOption;
use crate::host::{InstructionRow, Request, StyleRow};
use crate::panel::{Models, Panel};
use crate::theme::Palette;

/// Characters of an edited file that the model is told; it can read the rest itself.
const LONGEST_FILE: usize = 8_000;
/// What asks for a longer window than usual.
const LONG_CONTEXT: &str = "[1m]";

impl App {
    /// The model that a name means; what follows it is no part of the name.
    fn known_model(&self, name: &str) -> Option<&ModelRow> {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_suffix(LONG_CONTEXT).unwrap_or(&lower);
        self.info.models.iter().find(|row| row.name == plain || row.id == plain)
    }

    /// How many tokens the model that is asked now can take.
    pub(in crate::app) fn context_window(&self) -> Option<u64> {
        self.known_model(self.model()).and_then(|row| row.window).or(self.info.context_window)
    }

    pub(super) fn choose_model(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() {
            return self.offer_models();
        }
        if self.known_model(name).is_none() {
            let known: Vec<&str> = self.info.models.iter().map(|row| row.name.as_str()).collect();
            let text = format!(
                "There is no model {name}. Known models: {}. For another one, start with --model or set \"model\" in the \
                 settings.",
                known.join(", ")
            );
            self.tell(Level::Warning, &text);
            return Vec::new();
        }
        self.set_model(name)
    }

    fn offer_models(&mut self) -> Vec<Effect> {
        let rows = self.info.models.iter().map(|row| (row.name.clone(), row.detail.clone())).collect();
        let current = self.info.models.iter().position(|row| row.id == self.model()).unwrap_or(0);
        let title = format!("Which model? Current: {}", self.model());
        self.open(Panel::Models(Models::new(&title, rows, current, Arc::clone(&self.keys))))
    }

    pub(in crate::app) fn set_model(&mut self, name: &str) -> Vec<Effect> {
        let id = self.known_model(name).map_or(name, |row| &row.id).to_owned();
        self.tell(Level::Info, &format!("The model is now {id}."));
        self.info.model = id;
        self.chosen_model = Some(name.to_owned());
        vec![Effect::Send(Command::SetModel(name.to_owned()))]
    }

    pub(in crate::app) fn choose_style(&mut self, styles: &[StyleRow]) {
        if !self.may_open("/output-style") {
            return;
        }
        let option =
            |style: &StyleRow| ChoiceOption { label: style.name.clone(), detail: style.source.clone() };
        let current = styles.iter().position(|style| style.is_current).unwrap_or(0);
        let choice = self
            .choice("Which style should answers have?", styles.iter().map(option).collect())
            .marking(current);
        let names = styles.iter().map(|style| style.name.clone()).collect();
        self.overlay = Some(Overlay::Choice(choice, Subject::Style(names)));
    }

    /// A style was found: it holds for this session and for new ones.
    pub(in crate::app) fn set_style(&mut self, style: OutputStyle) -> Vec<Effect> {
        self.tell(Level::Info, &format!("The output style is {} from your next message on.", style.name));
        let keep = Request::Keep { key: "outputStyle".to_owned(), value: style.name.clone() };
        vec![Effect::Send(Command::SetOutputStyle(style)), Effect::Ask(keep)]
    }

    pub(in crate::app) fn choose_instructions(&mut self, files: &[InstructionRow]) {
        if !self.may_open("/memory") {
            return;
        }
        let paper = self.look.paper();
        let option = |file: &InstructionRow| ChoiceOption {
            label: paper.path(&file.path.to_string_lossy()),
            detail: file.detail.clone(),
        };
        let options = files.iter().map(option).collect();
        let choice = self.choice("Instructions for the agent: which file do you want to edit?", options);
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        self.overlay = Some(Overlay::Choice(choice, Subject::File(paths)));
    }

    /// A file was edited.
    pub fn on_file_edited(&mut self, path: &std::path::Path, edited: Result<String, String>) {
        let shown = self.look.paper().path(&path.to_string_lossy());
        match edited {
            Ok(text) => {
                let lines = match text.lines().count() {
                    1 => "1 line".to_owned(),
                    count => format!("{count} lines"),
                };
                let told = format!("{shown} now has {lines}; the agent is told with your next message.");
                self.tell(Level::Info, &told);
                let said = text.chars().take(LONGEST_FILE).collect::<String>();
                self.tell_with_next_prompt(path, &format!("I have edited {shown}. It says now:\n{said}"));
            }
            Err(problem) => self.tell(Level::Error, &problem),
        }
    }

    /// Another mode, with the same steps as the mode key; without a name, all of them.
    pub(super) fn mode(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() {
            return self.offer_modes();
        }
        match Mode::ALL.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name)) {
            Some(mode) => self.set_mode(mode),
            None => {
                let names = Mode::ALL.map(Mode::name).join(", ");
                self.tell(Level::Warning, &format!("There is no mode {name}. Known modes: {names}."));
                Vec::new()
            }
        }
    }

    fn offer_modes(&mut self) -> Vec<Effect> {
        let option = |mode: Mode| {
            let (words, _) = status::mode(mode, &self.look.theme);
            let level = self.info.confinement.level(mode).word();
            ChoiceOption { label: mode.name().to_owned(), detail: format!("{words} · commands {level}") }
        };
        let modes = self.modes();
        let current = modes.iter().position(|mode| *mode == self.state.mode).unwrap_or(0);
        let title = format!("Which mode? Current: {}", self.state.mode);
        let options = modes.iter().map(|mode| option(*mode)).collect();
        let choice = self.choice(&title, options).marking(current);
        self.overlay = Some(Overlay::Choice(choice, Subject::Mode(modes)));
        Vec::new()
    }

    /// The modes that the session may have.
    fn modes(&self) -> Vec<Mode> {
        let is_available = |mode: &Mode| *mode != Mode::BypassPermissions || self.info.bypass_available;
        Mode::ALL.into_iter().filter(is_available).collect()
    }

    pub(in crate::app) fn set_mode(&mut self, mode: Mode) -> Vec<Effect> {
        vec![Effect::Send(Command::SetMode(mode))]
    }

    pub(super) fn theme(&mut self, name: &str) -> Vec<Effect> {
        match Palette::named(name) {
            Some(palette) => self.set_palette(palette),
            None if name.is_empty() => self.choose_palette(),
            None if name == AUTO => self.follow_terminal(),
            None => {
                let names: Vec<&str> =
                    Palette::ALL.iter().map(|palette| palette.name()).chain([AUTO]).collect();
                self.tell(
                    Level::Warning,
                    &format!("There is no theme {name}. Known themes: {}.", names.join(", ")),
                );
                Vec::new()
            }
        }
    }
}
