//! A session: one task that owns the journal, takes commands and runs turns.

mod after_sampling;
mod assembly;
mod bench;
mod commands;
mod compaction;
mod cut_call;
mod epoch;
mod history;
mod hooks;
mod host_agents;
mod host_hooks;
mod ingredients;
mod invoke;
mod open;
mod permissions;
mod plan;
mod refusal;
mod replay;
mod rewind;
mod sample;
mod servers;
mod settle;
mod steering;
mod sub_agent;
mod suggestion;
mod tasks;
mod turn;
mod void;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;
use tiller_config::{AgentDefinition, HookEvent, HookGroup, Places, Recipe, Sourced};
use tiller_model::name::Names;
use tiller_model::{Effort, Model, Thinking};
use tiller_policy::{Context, Rules};
use tiller_protocol::ask::Answer;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::compaction::{Folded, Wish};
use tiller_protocol::entry::{
    Body, Delivery, Dequeued, Entry, Epoch, Level, Notice, Origin, Queued, Reading,
};
use tiller_protocol::env::Env;
use tiller_protocol::id::{AskId, ChainId, EntryId, SessionId};
use tiller_protocol::mode::Mode;
use tiller_protocol::rewind::Stretch;
use tiller_protocol::state::{Files, State};
use tiller_steering::pipeline::Pipeline;
use tiller_tools::{Registry, Vault};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::budget::Limits;
use crate::cache_watch::CacheWatch;
use crate::confinement::SandboxChoice;
use crate::hook::{Ending, StartSource};
use crate::journal::Journal;
use crate::mailbox::Inbox;
use crate::mcp::McpChoice;
use crate::plan::Plans;
use crate::services::Services;
use crate::store::{SessionPaths, StoreError};
pub use bench::{WorkDone, Workbench};
pub use compaction::CompactionChoice;
use compaction::MakingRoom;
use history::Audience;
pub(crate) use hooks::Aside;
use open::Before;
pub(crate) use refusal::{PART_LEFT_OUT, REASONING_LEFT_OUT};
pub(crate) use replay::Reel;
pub use steering::SteeringChoice;
pub(crate) use sub_agent::{Commission, Finished, Template};
use turn::Turn;

/// Commands that may wait.
const INBOX: usize = 256;
/// How long the end of a session waits for its tasks.
const END_GRACE: Duration = Duration::from_secs(5);

/// Everything a session needs to begin.
pub struct Setup {
    /// Time, ids, variables, directories.
    pub env: Env,
    /// Where sessions and settings are kept.
    pub config_dir: PathBuf,
    /// New, resumed or forked.
    pub start: Start,
    /// Working directories besides the current one.
    pub additional_dirs: Vec<PathBuf>,
    /// Whether the session is kept on disk.
    pub persist: bool,
    /// The model to talk to.
    pub model: Arc<dyn Model>,
    /// How model names are understood.
    pub names: Names,
    /// The model the user chose, as written.
    pub model_setting: Option<String>,
    /// The model to switch to when the chosen one is overloaded.
    pub fallback_model: Option<String>,
    /// The tools on offer.
    pub registry: Registry,
    /// Permission rules.
    pub rules: Rules,
    /// How commands are confined.
    pub sandbox: SandboxChoice,
    /// What runs at certain moments.
    pub hooks: BTreeMap<HookEvent, Vec<Sourced<HookGroup>>>,
    /// The permission mode, if one was named.
    pub mode: Option<Mode>,
    /// The mode of a session for which none was named and that was not left while planning.
    pub default_mode: Mode,
    /// Whether the session may be switched to asking nothing.
    pub bypass_available: bool,
    /// Whether somebody can answer questions.
    pub interactive: bool,
    /// Whether credentials in what tools give out are masked.
    pub mask_secrets: bool,
    /// Whether only this machine may be contacted.
    pub offline: bool,
    /// Changes to the system prompt.
    pub prompt: PromptChoice,
    /// Whether instruction files and git status are told to the model.
    pub user_context: bool,
    /// What the session may consume.
    pub limits: Limits,
    /// The agents that work can be delegated to.
    pub agents: Vec<AgentDefinition>,
    /// Skills and slash commands.
    pub recipes: Vec<Recipe>,
    /// Folders of the user's outside of the working directories that may be read: those of skills and plugins.
    pub readable: Vec<PathBuf>,
    /// Whether calls start while the model is still writing.
    pub streaming_tools: bool,
    /// Whether the front end wants the model's raw streaming events; each one wakes it up.
    pub stream_events: bool,
    /// How the model should think.
    pub thinking: Thinking,
    /// How much effort it should spend.
    pub effort: Option<Effort>,
    /// Beta features to ask for.
    pub betas: Vec<String>,
    /// What the model is told beside the prompt.
    pub steering: SteeringChoice,
    /// When the conversation is folded by itself.
    pub compaction: CompactionChoice,
    /// MCP servers.
    pub mcp: McpChoice,
}

/// Where a session comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new one, under a chosen id or a fresh one.
    New(Option<SessionId>),
    /// A new one, because the user has cleared the one before.
    Cleared,
    /// One that exists.
    Resume(SessionId),
    /// A copy of one that exists, under a chosen id or a fresh one.
    Fork {
        /// The session to copy.
        from: SessionId,
        /// The copy's id.
        to: Option<SessionId>,
    },
    /// The one that a log tells of, wherever it lies. It becomes a session of this project, unless nothing is kept.
    Log {
        /// The log, compressed or not.
        file: PathBuf,
        /// Id for a copy, or `None` to continue the session itself.
        to: Option<SessionId>,
    },
}

/// Changes to the system prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptChoice {
    /// Stands in place of the default prompt.
    pub replace: Option<String>,
    /// Stands at its end.
    pub append: Option<String>,
}

/// A running session, seen from outside.
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its files.
    pub paths: SessionPaths,
    /// What masks stand for, for front ends that show the user more than the model and the log get to see.
    pub secrets: Arc<Vault>,
    /// The mode in which it begins.
    pub mode: Mode,
    /// The state the session had before it was opened this time; events tell what has happened since.
    pub history: State,
    /// Takes commands.
    pub commands: mpsc::Sender<Command>,
    /// Gives events, from [`Event::Appended`] of the first entry to [`Event::Closed`].
    pub events: mpsc::UnboundedReceiver<Event>,
}

impl Session {
    /// Opens a session and starts its task. Must be called inside a runtime.
    ///
    /// # Errors
    /// When the session cannot be found, is in use, or its log cannot be written.
    pub fn start(setup: Setup) -> Result<Self, StoreError> {
        Self::open(setup, Audience::Nobody).map(|(session, _)| session)
    }

    /// The same, with the entries of the session that is continued, for a front end that shows them. What calls have
    /// returned is left out of old ones.
    ///
    /// # Errors
    /// When the session cannot be found, is in use, or its log cannot be written.
    pub fn start_with_past(setup: Setup) -> Result<(Self, Vec<Arc<Entry>>), StoreError> {
        Self::open(setup, Audience::FrontEnd)
    }

    fn open(setup: Setup, audience: Audience) -> Result<(Self, Vec<Arc<Entry>>), StoreError> {
        let (commands, inbox) = mpsc::channel(INBOX);
        let (sender, events) = mpsc::unbounded_channel();
        let (task, before) = Task::open(setup, inbox, sender, audience)?;
        let (id, paths) = (task.journal.session, task.paths.clone());
        let mode = task.journal.state.mode;
        let secrets = Arc::clone(&task.services.secrets);
        tokio::spawn(task.run());
        let Before { state: history, entries } = before;
        Ok((Self { id, paths, secrets, mode, history, commands, events }, entries))
    }
}

/// What sub-agents take over from the agent that calls upon them.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    /// Its model, unless the mode says otherwise.
    pub(crate) main_model: String,
    /// The model as the user chose it.
    pub(crate) setting: Option<String>,
    /// The turn and the step that are under way.
    pub(crate) step: (ChainId, u32),
    /// The last entry before the answer that is being written.
    pub(crate) seq: u64,
    /// Its log, if it has one.
    pub(crate) log: Option<PathBuf>,
    /// Stretches of the log that are no part of its conversation.
    pub(crate) abandoned: Vec<Stretch>,
    /// Where its conversation was last folded.
    pub(crate) folded: Option<Folded>,
    /// What it has seen of files.
    pub(crate) files: Arc<Files>,
}

/// Where an agent stands in its session.
enum Role {
    /// It is the session's own: mode and rules are changed here, and here the user is asked.
    Main { policy: watch::Sender<Arc<Context>> },
    /// It works for another one. What concerns the whole session is told to the session.
    Sub,
}

/// The settings of a session that do not change.
#[derive(Clone)]
struct Fixed {
    env: Env,
    config_dir: PathBuf,
    names: Names,
    fallback_model: Option<String>,
    prompt: PromptChoice,
    /// Who a sub-agent is, in place of what Tiller says of itself.
    persona: Option<AgentDefinition>,
    /// Whether logs are kept.
    keeps_logs: bool,
    user_context: bool,
    limits: Limits,
    streaming_tools: bool,
    stream_events: bool,
    thinking: Thinking,
    effort: Option<Effort>,
    betas: Vec<String>,
    steering: SteeringChoice,
    compaction: CompactionChoice,
    /// Whether models may look up what was folded.
    recall: bool,
    todo_file: Option<PathBuf>,
    inbox: Inbox,
    /// Where plans are kept.
    plans: Plans,
    /// Where settings are written to.
    places: Places,
    /// How long the first request waits for MCP servers.
    servers_wait: Duration,
    /// Where it is noted what the user has used; a session that is not kept leaves no such trace.
    notes_dir: Option<PathBuf>,
}

/// Whether what is queued waits until the user speaks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It does not.
    No,
    /// It does: the session was opened, and nothing was said yet.
    UntilFirstWord,
    /// It does: the user has interrupted a turn.
    UntilNextWord,
}

/// The task that owns a session.
struct Task {
    fixed: Fixed,
    paths: SessionPaths,
    /// Removed with the session, if it is not kept.
    _scratch: Option<TempDir>,
    journal: Journal,
    services: Services,
    pipeline: Arc<Pipeline>,
    role: Role,
    inbox: mpsc::Receiver<Command>,
    inbox_open: bool,
    asides: mpsc::UnboundedReceiver<Aside>,
    /// How the session came about, for hooks.
    start_source: StartSource,
    /// How it will end, for hooks.
    ending: Ending,
    /// Hooks were told that the session has begun.
    hooks_have_begun: bool,
    closing: bool,
    /// The session ends without what is still queued.
    shut_down: bool,
    queue_held: Held,
    /// Background tasks whose end has started a turn.
    woken_by: HashSet<String>,
    /// Whether the last turn has ended as it should.
    has_succeeded: bool,
    /// Turns that nobody asked for since the user has last said something.
    woken: u32,
    /// Until when the end waits for agents, once it does; they may take as long as they need if there is no such time.
    outwaits_until: Option<Option<Instant>>,
    lead: watch::Sender<Lead>,
    epoch: Option<Arc<Epoch>>,
    /// `system` and `tools` of the epoch, ready to be sent.
    head: (Bytes, Bytes),
    epoch_checked: bool,
    /// The provider was told to drop reasoning that no longer fits.
    drop_thinking: bool,
    /// Models the provider was asked about.
    asked_about: HashSet<String>,
    cache_watch: CacheWatch,
    making_room: MakingRoom,
    /// What the model knows of MCP servers.
    known_servers: servers::KnownServers,
    asks: HashMap<AskId, oneshot::Sender<Answer>>,
    /// The last of the changes to files of the user that are made beside the session.
    writing: Option<JoinHandle<()>>,
    turn: Turn,
    /// Whether a turn is running.
    in_turn: bool,
}

impl Task {
    async fn run(mut self) {
        if let Err(error) = self.serve().await {
            tracing::error!("{error}");
            self.journal.tell(Event::Rejected(error.to_string()));
        }
        self.end().await;
    }

    async fn serve(&mut self) -> Result<(), StoreError> {
        while let Some((id, content, origin)) = self.next_input().await? {
            self.in_turn = true;
            let outcome = self.turn(id, content, origin).await?;
            self.in_turn = false;
            self.suggest(&outcome);
        }
        Ok(())
    }

    /// What starts the next turn: queued input first, then whatever comes.
    async fn next_input(&mut self) -> Result<Option<(EntryId, Vec<RawBlock>, Origin)>, StoreError> {
        let mut announced = false;
        loop {
            if self.shut_down {
                return Ok(None);
            }
            if let Some(instructions) = self.making_room.wanted.take() {
                self.compact_now(instructions).await?;
                announced = false;
                continue;
            }
            if let Some(queued) = self.first_queued() {
                if let Some(wish) = Wish::of(&queued.content).filter(|_| queued.reading.is_usual()) {
                    self.append(Body::Dequeued(Dequeued { ids: vec![queued.id] }))?;
                    self.grant_wish(wish).await?;
                    announced = false;
                    continue;
                }
                let origin = origin(queued.reading, Origin::Queued);
                return Ok(Some((queued.id, queued.content, origin)));
            }
            if let Some(start) = self.wake() {
                return Ok(Some(start));
            }
            if !announced {
                self.journal.tell(Event::Idle);
                announced = true;
            }
            if self.closing || !self.inbox_open {
                match self.outwait_agents().await? {
                    true => continue,
                    false => return Ok(None),
                }
            }
            let command = tokio::select! {
                biased;
                Some(aside) = self.asides.recv() => {
                    // What has ended may have been the last thing that somebody waits for.
                    announced &= !matches!(aside, Aside::TaskEnded);
                    self.on_aside(aside)?;
                    continue;
                }
                command = self.inbox.recv() => command,
            };
            match command {
                Some(Command::Submit(input)) => {
                    self.woken = 0;
                    if self.has_to_queue(&input) {
                        self.queue(input)?;
                        continue;
                    }
                    self.queue_held = Held::No;
                    let id = input.id.unwrap_or_else(|| EntryId(self.fixed.env.fresh()));
                    return Ok(Some((id, input.content, origin(input.reading, Origin::Typed))));
                }
                Some(Command::Rewind(order)) => self.rewind(order).await?,
                Some(Command::UndoCompaction) => {
                    self.undo_compaction_now().await?;
                    announced = false;
                }
                command => self.on_command(command)?,
            }
        }
    }

    /// What stands first in the queue and starts a turn, if it may.
    fn first_queued(&self) -> Option<Queued> {
        self.starting().next().filter(|_| self.queue_held == Held::No).cloned()
    }

    fn starting(&self) -> impl Iterator<Item = &Queued> {
        self.journal.state.queue.iter().filter(|queued| queued.delivery != Delivery::WithNext)
    }

    /// Whether input waits although nothing is running: behind what was said before it, or because it starts no turn.
    fn has_to_queue(&self, input: &UserInput) -> bool {
        let is_wish = input.reading.is_usual() && Wish::of(&input.content).is_some();
        is_wish || input.delivery == Delivery::WithNext || self.starting().next().is_some()
    }

    async fn grant_wish(&mut self, wish: Wish) -> Result<(), StoreError> {
        match wish {
            Wish::Fold { instructions } => self.compact_now(instructions).await,
            Wish::Undo => self.undo_compaction_now().await,
        }
    }

    /// Nothing survives the session: background commands and running calls end with it.
    async fn end(&mut self) {
        if let Err(error) = self.session_end_hooks().await {
            tracing::error!("{error}");
        }
        self.services.ended.cancel();
        self.services.hooks.end_all().await;
        // Those that were ended have their place in the log as well.
        if let Err(error) = self.take_hook_responses() {
            tracing::error!("{error}");
        }
        self.services.shells.end_all().await;
        if let Some(languages) = &self.services.languages {
            languages.end().await;
        }
        if let Some(servers) = &self.services.mcp {
            servers.end().await;
        }
        self.services.tasks.close();
        if tokio::time::timeout(END_GRACE, self.services.tasks.wait()).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
        while let Ok(aside) = self.asides.try_recv() {
            if let Err(error) = self.on_aside(aside) {
                tracing::error!("{error}");
            }
        }
        self.remove_layers().await;
        if let Some(keeper) = self.services.keeper.clone() {
            let saved = tokio::task::spawn_blocking(move || keeper.save());
            if tokio::time::timeout(END_GRACE, saved).await.is_err() {
                tracing::warn!("what was learned of files was not written down in time");
            }
        }
        if let Err(error) = self.journal.sync().await {
            tracing::error!("{error}");
        }
        self.journal.release();
        self.journal.tell(Event::Closed);
    }

    /// What is not removed in time, the next session removes.
    async fn remove_layers(&self) {
        let confiner = Arc::clone(&self.services.confiner);
        let removed = tokio::task::spawn_blocking(move || confiner.end());
        if tokio::time::timeout(END_GRACE, removed).await.is_err() {
            tracing::warn!("layers over caches were not removed in time");
        }
    }

    /// Appends a fact, and lets everything that depends on state follow.
    fn append(&mut self, body: Body) -> Result<Arc<Entry>, StoreError> {
        let id = EntryId(self.fixed.env.fresh());
        self.append_as(id, body)
    }

    fn append_as(&mut self, id: EntryId, body: Body) -> Result<Arc<Entry>, StoreError> {
        let entry = self.journal.append_as(id, body)?;
        self.follow(&entry);
        self.name_plan()?;
        Ok(entry)
    }

    fn notice(&mut self, subtype: &str, level: Level, content: String) -> Result<(), StoreError> {
        self.append(Body::Notice(Notice { subtype: subtype.to_owned(), level, content }))?;
        Ok(())
    }
}

/// The origin of input; `AsWritten` always means that a program composed it.
fn origin(reading: Reading, usual: Origin) -> Origin {
    match reading {
        Reading::Usual => usual,
        Reading::AsWritten => Origin::Composed,
    }
}
