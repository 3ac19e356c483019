//! Questions that the user answers with a key, each in its own dialog.
//!
//! The app shows [`Pending`], which holds everything that a session asks. [`Choice`] and [`Trust`] are questions of the
//! program itself.

mod choice;
mod choices;
mod feedback;
mod form;
mod line;
mod pending;
mod permission;
#[cfg(test)]
pub(crate) mod picture;
mod plan;
mod question;
mod server;
mod sheet;
mod trust;

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use tiller_protocol::ask::{Answer, Ask, Asker};
use tiller_protocol::mcp::{ElicitationAsk, Wanted};

pub use choice::{Choice, ChoiceOption, ChoiceOutcome, Tone};
pub use form::FormDialog;
pub(crate) use line::{Form, Said};
pub use pending::{Attention, Pending, PendingOutcome};
pub use permission::Permission;
pub(crate) use permission::change_in_words;
pub use plan::{PlanApproval, PlanEntry};
pub use question::Questions;
pub use server::ServerQuestion;
pub use sheet::Render;
pub(crate) use sheet::{Body, Scroll, title, wrapped_title};
pub use trust::{Trust, TrustOutcome, TrustQuestion};

use crate::keys::Keymap;
use crate::text::{visible_line, wrap};
use crate::theme::Theme;
use crate::view::View;

/// The tool that asks for plan mode.
const ENTER_PLAN_MODE: &str = "EnterPlanMode";

/// Who asks: what the agent does says more than its id.
fn asker_rows(agent: &Asker, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let which = match agent.description.trim() {
        "" => agent.id.to_string(),
        description => format!("\"{description}\""),
    };
    let line = visible_line(&format!("asked by the {} agent {which}", agent.kind));
    wrap(&Line::styled(line, theme.user), columns, 2)
}

/// What a key leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The key was taken.
    Handled,
    /// The key means nothing here.
    Ignored,
    /// The user has answered.
    Answered(Answer),
    /// Open the plan in the user's editor.
    EditPlan(PathBuf),
    /// The user has agreed to visit this page: open it.
    Visit(String),
}

/// The dialog of one question of a session.
#[derive(Debug)]
enum Dialog {
    Permission(Box<Permission>),
    PlanEntry(PlanEntry),
    Plan(Box<PlanApproval>),
    Questions(Questions),
    Form(Box<FormDialog>),
    Server(Box<ServerQuestion>),
}

impl Dialog {
    fn of(ask: Ask, keys: &Arc<Keymap>) -> Option<Self> {
        let keys = Arc::clone(keys);
        match ask {
            Ask::Permission(ask) if ask.tool == ENTER_PLAN_MODE => {
                Some(Self::PlanEntry(PlanEntry::new(&ask, keys)))
            }
            Ask::Permission(ask) => Some(Self::Permission(Box::new(Permission::new(ask, keys)))),
            Ask::Question(ask) => Some(Self::Questions(Questions::new(ask, keys))),
            Ask::Plan(ask) => Some(Self::Plan(Box::new(PlanApproval::new(ask, keys)))),
            Ask::Elicitation(ElicitationAsk { server, message, wanted }) => Some(match wanted {
                Wanted::Form { fields, .. } => {
                    Self::Form(Box::new(FormDialog::new(&server, &message, fields, keys)))
                }
                Wanted::Visit { url, .. } => {
                    Self::Server(Box::new(ServerQuestion::visit(&server, &message, &url, keys)))
                }
            }),
            Ask::Sampling(ask) => Some(Self::Server(Box::new(ServerQuestion::sampling(ask, keys)))),
            Ask::Hook(_) | Ask::Server(_) => None,
        }
    }

    fn handle(&mut self, key: KeyEvent) -> Outcome {
        match self {
            Self::Permission(dialog) => dialog.handle(key),
            Self::PlanEntry(dialog) => dialog.handle(key),
            Self::Plan(dialog) => dialog.handle(key),
            Self::Questions(dialog) => dialog.handle(key),
            Self::Form(dialog) => dialog.handle(key),
            Self::Server(dialog) => dialog.handle(key),
        }
    }

    fn form(&self) -> Form {
        match self {
            Self::Permission(dialog) => dialog.form(),
            Self::PlanEntry(dialog) => dialog.form(),
            Self::Plan(dialog) => dialog.form(),
            Self::Questions(dialog) => dialog.form(),
            Self::Form(dialog) => dialog.form(),
            Self::Server(dialog) => dialog.form(),
        }
    }

    fn say(&mut self, said: Said) -> Outcome {
        match self {
            Self::Permission(dialog) => dialog.say(said),
            Self::PlanEntry(dialog) => dialog.say(&said),
            Self::Plan(dialog) => dialog.say(said),
            Self::Questions(dialog) => dialog.say(said),
            Self::Form(dialog) => dialog.say(said),
            Self::Server(dialog) => dialog.say(&said),
        }
    }

    /// Takes a paste, if there is a field for it; says whether that was so.
    fn paste(&mut self, text: &str) -> bool {
        match self {
            Self::Permission(dialog) => dialog.paste(text),
            Self::PlanEntry(_) | Self::Server(_) => false,
            Self::Plan(dialog) => dialog.paste(text),
            Self::Questions(dialog) => dialog.paste(text),
            Self::Form(dialog) => dialog.paste(text),
        }
    }

    fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        match self {
            Self::Permission(dialog) => dialog.view(columns, height, theme),
            Self::PlanEntry(dialog) => dialog.view(columns, height, theme),
            Self::Plan(dialog) => dialog.view(columns, height, theme),
            Self::Questions(dialog) => dialog.view(columns, height, theme),
            Self::Form(dialog) => dialog.view(columns, height, theme),
            Self::Server(dialog) => dialog.view(columns, height, theme),
        }
    }
}

#[cfg(test)]
mod tests;
