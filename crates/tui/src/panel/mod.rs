//! Views that commands open: the context, the steering ledger, help, earlier sessions, the agents at work.
//!
//! * [`ContextUse`] draws `/context`; it is made from [`tiller_protocol::ledger::Sent`] and takes no keys.
//! * [`Steering`] is `/steering`: hand it the additions that `Ledger::apply` gave out, and the ledger for its totals.
//! * [`Help`] is `/help`: keys from the table, commands from the list that the input has.
//! * [`Resume`] is the picker of sessions, with search.
//! * [`Models`] is the list of `/model`, with search.
//! * [`Prompts`] is the list of `/rewind`.
//! * [`Results`] lists what calls gave, and unfolds it.
//! * [`Page`] frames what is only read.
//! * [`agent_tree`] draws agents below the agent that started them.
//!
//! Those that take keys can be held as a [`Panel`], whichever it is; its outcome says when it is to be closed.

mod agents;
mod context;
mod help;
mod list;
mod models;
mod page;
mod prompts;
mod results;
mod resume;
mod search;
mod steering;
mod tasks;

pub use agents::{AgentRow, AgentState, agent_tree};
pub use context::{ContextPart, ContextUse};
pub use help::Help;
pub(crate) use list::window;
pub use models::Models;
pub use page::Page;
pub use prompts::{PromptRow, Prompts};
pub use results::{ResultRow, Results};
pub use resume::{Resume, SessionRow};
pub use steering::Steering;
pub use tasks::{TaskRow, Tasks};

use crossterm::event::KeyEvent;
use tiller_protocol::id::SessionId;
use tiller_protocol::rewind::RewindTarget;

use crate::dialog::{Form, Said};
use crate::theme::Theme;
use crate::view::View;

/// What a key leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelOutcome {
    /// The key was taken.
    Handled,
    /// The key means nothing here.
    Ignored,
    /// The user has seen enough.
    Closed,
    /// Go on with this session.
    Resume(SessionId),
    /// Ask this model, by its place in the list.
    Model(usize),
    /// Look for the words in what was said in sessions.
    Search,
    /// Show what the marked task has printed.
    ShowTask,
    /// Stop the marked task.
    StopTask,
    /// Show what going back would change.
    GoBack(RewindTarget),
}

/// A view that has the keys for itself until it is closed.
#[derive(Debug)]
pub enum Panel {
    /// What Tiller added.
    Steering(Steering),
    /// Commands and keys.
    Help(Help),
    /// Earlier sessions.
    Resume(Resume),
    /// Models to choose from.
    Models(Models),
    /// Earlier prompts.
    Prompts(Prompts),
    /// What calls gave.
    Results(Results),
    /// What runs in the background.
    Tasks(Tasks),
}

impl Panel {
    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> PanelOutcome {
        match self {
            Self::Steering(panel) => panel.handle(key),
            Self::Help(panel) => panel.handle(key),
            Self::Resume(panel) => panel.handle(key),
            Self::Models(panel) => panel.handle(key),
            Self::Prompts(panel) => panel.handle(key),
            Self::Results(panel) => panel.handle(key),
            Self::Tasks(panel) => panel.handle(key),
        }
    }

    /// Takes a paste, if there is a field for it; says whether that was so.
    pub fn paste(&mut self, text: &str) -> bool {
        match self {
            Self::Resume(panel) => {
                panel.paste(text);
                true
            }
            Self::Models(panel) => {
                panel.paste(text);
                true
            }
            Self::Steering(_) | Self::Help(_) | Self::Prompts(_) | Self::Results(_) | Self::Tasks(_) => false,
        }
    }

    /// What a line can answer: most views are only read.
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Steering(_) | Self::Help(_) | Self::Results(_) | Self::Tasks(_) => Form::default(),
            Self::Resume(panel) => panel.form(),
            Self::Models(panel) => panel.form(),
            Self::Prompts(panel) => panel.form(),
        }
    }

    /// Takes the answer of a line.
    pub(crate) fn say(&self, said: &Said) -> PanelOutcome {
        match self {
            Self::Steering(_) | Self::Help(_) | Self::Results(_) | Self::Tasks(_) => PanelOutcome::Closed,
            Self::Resume(panel) => panel.say(said),
            Self::Models(panel) => panel.say(said),
            Self::Prompts(panel) => panel.say(said),
        }
    }

    /// What is shown.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        match self {
            Self::Steering(panel) => panel.view(columns, height, theme),
            Self::Help(panel) => panel.view(columns, height, theme),
            Self::Resume(panel) => panel.view(columns, height, theme),
            Self::Models(panel) => panel.view(columns, height, theme),
            Self::Prompts(panel) => panel.view(columns, height, theme),
            Self::Results(panel) => panel.view(columns, height, theme),
            Self::Tasks(panel) => panel.view(columns, height, theme),
        }
    }
}

#[cfg(test)]
mod tests;
