//! What sources know. All of it is taken down when a run begins, so that nothing moves while they look.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::Date;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::Todo;
use tiller_protocol::entry::Attachment;
use tiller_protocol::id::{AgentId, EntryId};
use tiller_protocol::mode::{Mode, PlanFlags};
use tiller_protocol::state::Files;

use crate::attachment::{PlanReader, SelectedLinesInIde};
use crate::past::Past;

/// What is known when attachments are sampled.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The prompt, if one was just submitted.
    pub prompt: Option<Prompt>,
    /// The sub-agent; absent for the main agent.
    pub agent: Option<AgentId>,
    /// The conversation so far.
    pub past: Arc<Past>,
    /// What the model has seen of files.
    pub files: Arc<Files>,
    /// Where the session was started.
    pub start_dir: PathBuf,
    /// The permission mode.
    pub mode: Mode,
    /// What the model still has to be told of plan mode.
    pub plan_flags: PlanFlags,
    /// The plan of the session.
    pub plan: Option<Plan>,
    /// Delegate mode.
    pub delegate: Delegate,
    /// The names of the agent's tools.
    pub tools: Vec<String>,
    /// The todo list.
    pub todos: Vec<Todo>,
    /// The agents that can be asked for.
    pub agents: Vec<String>,
    /// The servers that are connected.
    pub servers: Vec<String>,
    /// What the user sent meanwhile, as far as hooks let it through.
    pub queue: Vec<Queued>,
    /// What hooks in the background have answered since the last run.
    pub hook_responses: Vec<Attachment>,
    /// Background tasks.
    pub tasks: Vec<Task>,
    /// A text that has to be repeated each time.
    pub critical_reminder: Option<String>,
    /// The output style, if it is not the usual one.
    pub style: Option<Style>,
    /// The file whose text is repeated every few turns.
    pub ultra_memory: Option<PathBuf>,
    /// Whether earlier sessions are to be told.
    pub session_memory: bool,
    /// How full the context is, if that is to be told.
    pub tokens: Option<Tokens>,
    /// Money, if it is limited.
    pub spending: Option<Spending>,
    /// The surroundings as they are.
    pub surroundings: Option<Surroundings>,
    /// The same as the prompt tells them, if it does.
    pub surroundings_in_prompt: Option<Surroundings>,
}

/// What changes by itself of that which the prompt says about the surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Today.
    pub date: Date,
    /// The model.
    pub model: String,
}

/// A prompt that was just submitted.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// What the user wrote, or what the command says that the user has called for.
    pub text: String,
    /// Whose words these are.
    pub author: Author,
    /// What an editor reports.
    pub editor: Option<Editor>,
}

/// Whose words a prompt consists of.
#[derive(Clone, Debug, Default)]
pub enum Author {
    /// The user's.
    #[default]
    User,
    /// Those of a file that somebody else has written.
    File {
        /// What of it the user has given.
        given: Vec<String>,
    },
}

/// What an editor reports.
#[derive(Clone, Debug)]
pub enum Editor {
    /// Selected lines.
    Selection(SelectedLinesInIde),
    /// A file that is open, without a selection.
    Opened(PathBuf),
}

/// The plan of the agent.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Its file.
    pub path: PathBuf,
    /// Whether the file is there.
    pub exists: bool,
    /// What the texts depend on.
    pub reader: PlanReader,
    /// The user's approval, while the work is to be held against the plan.
    pub approval: Option<Approval>,
}

/// A plan that was approved and is being carried out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Approval {
    /// Answers of the model since then.
    pub turns_since: u32,
    /// Whether the last open item of the todo list was just completed.
    pub todos_completed: bool,
    /// Reminders so far.
    pub reminders: u32,
}

/// Where delegate mode stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delegate {
    /// It is on.
    pub active: bool,
    /// It was left, and the model does not know yet.
    pub exit_notice_due: bool,
}

/// What the user sent while the agent was working.
#[derive(Clone, Debug)]
pub struct Queued {
    /// The id under which it waited.
    pub id: EntryId,
    /// What was sent.
    pub content: Vec<RawBlock>,
}

/// A task in the background.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its name.
    pub id: String,
    /// `bash` or `agent`.
    pub kind: String,
    /// `running`, `completed`, `failed` or `killed`.
    pub status: String,
    /// What it is.
    pub description: String,
    /// How its output can be had.
    pub how_to_read: String,
    /// What is new, while it runs.
    pub progress: Option<String>,
}

/// An output style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub guidelines: String,
}

/// How full the context is.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    /// Tokens of the context.
    pub used: u64,
    /// The model's window.
    pub window: u64,
}

/// Money of the session.
#[derive(Clone, Copy, Debug)]
pub struct Spending {
    /// Dollars spent.
    pub spent: f64,
    /// The limit.
    pub limit: f64,
}
