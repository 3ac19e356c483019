//! What a front end may ask of a session, and what it is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::ask::{Answer, Ask};
use crate::block::RawBlock;
use crate::compaction::Trigger;
use crate::entry::{Delivery, Entry, Reading};
use crate::hook::HostHooks;
use crate::id::{AgentId, AskId, CallId, ChainId, EntryId, MessageId};
use crate::mcp::{McpOrder, McpServer, ServerMessage};
use crate::mode::Mode;
use crate::rewind::{RewindOrder, RewindReport};
use crate::state::Spent;
use crate::usage::Usage;

/// A request by a front end.
#[derive(Clone, Debug)]
pub enum Command {
    /// Input by the user: starts a turn, or is delivered into the running one.
    Submit(UserInput),
    /// The answer to an [`Event::Asked`].
    Answer(AskId, Answer),
    /// Stop the running turn; what is finished stays.
    Interrupt,
    /// Let a running call go on in the background, so that the turn need not wait for it.
    Background(CallId),
    /// Stop a background command or agent, by the id that [`Event::TaskChanged`] tells.
    StopTask(String),
    /// Tell what a background command has printed, with [`Event::TaskOutput`].
    ShowTask(String),
    /// Drop input that waits for delivery.
    Dequeue(EntryId),
    /// Deliver waiting input at another time than was said.
    Redeliver(EntryId, Delivery),
    /// Let work be delegated to these agents, too: `{name: {description, prompt, ...}}`. Only before the first message.
    AddAgents(Value),
    /// Let the model use these servers of the Model Context Protocol, too, which are part of the host. Only before the
    /// first message.
    AddServers(Vec<String>),
    /// A server that is part of the host says something of its own accord.
    FromServer(ServerMessage),
    /// Results have to have this form, a JSON schema. Only before the first message.
    SetResultForm(Value),
    /// Let the model open these skills only. Only before the first message.
    LimitSkills(Vec<String>),
    /// Change the permission mode.
    SetMode(Mode),
    /// Go on to the next permission mode: what the mode key does.
    CycleMode,
    /// Change the main model (an alias or an id).
    SetModel(String),
    /// Let the model think with at most this many tokens, not at all with 0, and as it would by itself without a number.
    SetThinking(Option<u32>),
    /// Change the output style, starting with the next message.
    SetOutputStyle(OutputStyle),
    /// Change the system prompt; only before the first turn.
    SetPrompt {
        /// Stands in place of the default prompt.
        replace: Option<String>,
        /// Stands at its end.
        append: Option<String>,
    },
    /// Go back to before a prompt, or tell what that would change; answered by [`Event::Rewind`]. Only while no turn is
    /// running.
    Rewind(RewindOrder),
    /// Do something with a server of the Model Context Protocol; [`Event::Mcp`] tells what comes of it.
    Mcp {
        /// Its name.
        server: String,
        /// What to do.
        order: McpOrder,
    },
    /// Fold the conversation into a summary: at once, or before the next request if a turn is running. What came of it
    /// is told by [`Event::CompactionEnded`]; the entry [`Compacted`](crate::entry::Body::Compacted) says what was kept
    /// and dropped.
    Compact {
        /// What the user wants of the summary.
        instructions: Option<String>,
    },
    /// Take the last compaction back, as long as the user has said nothing since: the conversation is sent as a whole
    /// again. Only while no turn is running.
    UndoCompaction,
    /// Run hooks of the host's, too.
    AddHooks(Vec<HostHooks>),
    /// No more input will come: finish what is running and queued, agents in the background included, then end.
    Close,
    /// Stop the running turn and end, because the user begins anew: the session that follows is started as cleared.
    Clear,
    /// Stop the running turn and end, because the user leaves. What is queued stays in the log.
    Leave,
    /// The same, for any other reason.
    Shutdown,
}

/// Input by the user.
#[derive(Clone, Debug)]
pub struct UserInput {
    /// The id the message shall have, if the sender chose one.
    pub id: Option<EntryId>,
    /// Text, images, documents.
    pub content: Vec<RawBlock>,
    /// When it should be delivered if a turn is running.
    pub delivery: Delivery,
    /// How it is read.
    pub reading: Reading,
}

impl UserInput {
    /// What the user says, at its time.
    #[must_use]
    pub fn of(content: Vec<RawBlock>, delivery: Delivery) -> Self {
        Self { id: None, content, delivery, reading: Reading::Usual }
    }

    /// Plain text that steers a running turn.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::of(vec![RawBlock::text(text)], Delivery::Steer)
    }
}

/// How answers shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputStyle {
    /// Its name.
    pub name: String,
    /// What it asks for; absent for the usual way to answer.
    pub guidelines: Option<String>,
}

/// A sub-agent at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInfo {
    /// Which.
    pub id: AgentId,
    /// Its type, e.g. `Explore`.
    pub kind: String,
    /// What it does, in a few words.
    pub description: String,
    /// The model it talks to.
    pub model: String,
    /// The agent that started it; absent for the main agent.
    pub parent: Option<AgentId>,
    /// The call that started it.
    pub call: CallId,
    /// Whether the call has been answered already, and the agent goes on by itself.
    pub background: bool,
}

/// A command or agent that runs beside the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundTask {
    /// The id by which it is read and stopped, e.g. `bash_1`.
    pub id: String,
    /// What it is.
    pub kind: TaskKind,
    /// The command, or the agent's description.
    pub description: String,
    /// Where it stands.
    pub state: TaskState,
    /// The call that started it.
    pub call: CallId,
    /// The file that holds its output, once it has ended and if there is any.
    pub output: Option<PathBuf>,
}

/// What runs in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// A command.
    Command,
    /// A sub-agent.
    Agent,
}

/// Where a background task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// At work.
    Running,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Stopped before its end.
    Stopped,
}

/// What a front end is told: appended entries, and live news that leaves no trace.
#[derive(Clone, Debug)]
pub enum Event {
    /// An entry was appended.
    Appended(Arc<Entry>),
    /// A turn begins.
    TurnStarted,
    /// A step begins: the model is about to be asked.
    StepStarted {
        /// The turn's chain.
        chain: ChainId,
        /// The step's number, from 0.
        depth: u32,
        /// The model asked.
        model: String,
    },
    /// The model begins to answer, and this is what it has consumed so far.
    Answering {
        /// The answer.
        message: MessageId,
        /// What it has consumed.
        usage: Usage,
    },
    /// A raw streaming event of the provider.
    Stream(Arc<str>),
    /// A call began to run.
    CallStarted(CallId),
    /// A call left the set of running ones.
    CallStopped(CallId),
    /// Output of a running call.
    Progress {
        /// The call.
        call: CallId,
        /// What it reports.
        data: Value,
    },
    /// The provider is asked again after a pause.
    Retrying {
        /// Which attempt comes next.
        attempt: u32,
        /// How many there are at most.
        max: u32,
        /// The pause before it.
        delay: Duration,
        /// The status that made it necessary.
        status: Option<u16>,
        /// What went wrong.
        error: String,
    },
    /// A hook begins to run; its end is an entry with the same id.
    HookStarted {
        /// The id of the entry that tells its end.
        id: EntryId,
        /// What it runs for.
        event: String,
        /// The hook.
        name: String,
    },
    /// A sub-agent begins to work.
    AgentStarted(AgentInfo),
    /// News of a sub-agent: everything but its questions, which come as those of the main agent do.
    Agent(AgentId, Box<Event>),
    /// A sub-agent has ended.
    AgentEnded {
        /// Which.
        id: AgentId,
        /// What it consumed.
        spent: Spent,
        /// How.
        state: TaskState,
        /// Its last words, or what went wrong.
        outcome: Result<String, String>,
    },
    /// A background command or agent began, changed or ended.
    TaskChanged(BackgroundTask),
    /// What a background command has printed and the model has not read yet, or the end of it.
    TaskOutput {
        /// The task.
        id: String,
        /// The text.
        text: String,
    },
    /// A server of the Model Context Protocol is known, or something about it has changed.
    Mcp(Box<McpServer>),
    /// The user is asked.
    Asked(AskId, Ask),
    /// A question no longer needs an answer.
    Resolved(AskId),
    /// The conversation is being folded into a summary.
    CompactionStarted {
        /// Who wants it.
        trigger: Trigger,
        /// An estimate of the tokens of a request so far.
        tokens: u64,
    },
    /// That is over. Entries tell what it has done.
    CompactionEnded {
        /// Why the conversation was not folded, if it was not.
        failure: Option<String>,
    },
    /// What going back has changed, or would change.
    Rewind(Box<RewindReport>),
    /// What the user may want to say next.
    Suggestion(String),
    /// A command could not be carried out.
    Rejected(String),
    /// Nothing is running and nothing is queued.
    Idle,
    /// The session is over; no event follows.
    Closed,
}
