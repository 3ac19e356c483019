//! A session task that works for another one.

use std::path::{Path, PathBuf};

use tiller_config::AgentDefinition;
use tiller_model::name::Names;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{AgentInfo, Event};
use tiller_protocol::effect::{Effect, FileSeen};
use tiller_protocol::entry::{AgentOpened, Body, CallResult, Level, Notice, Opened, Origin, Outcome};
use tiller_protocol::id::{AgentId, EntryId, SessionId};
use tiller_protocol::state::Spent;
use tiller_steering::compaction::Standing;
use tiller_tools::{Recall, Tool, todo_file};
use tokio::sync::{mpsc, watch};

use super::assembly::Beginning;
use super::compaction::MakingRoom;
use super::history::{Audience, History};
use super::{Fixed, Lead, PromptChoice, Role, Task};
use crate::archive::Archive;
use crate::hook::StartSource;
use crate::journal::{Journal, VERSION};
use crate::services::Services;
use crate::store::{LogWriter, SessionPaths, StoreError, load};

/// What all agents of a session have in common.
#[derive(Clone)]
pub(crate) struct Template {
    pub(super) fixed: Fixed,
    pub(super) paths: SessionPaths,
    pub(super) session: SessionId,
    pub(super) events: mpsc::UnboundedSender<Event>,
}

/// What an agent is to do.
pub(crate) struct Commission {
    pub(crate) definition: AgentDefinition,
    pub(crate) model: String,
    pub(crate) prompt: String,
    /// Whether it goes on where it ended before.
    pub(crate) resume: bool,
    /// Whoever it works for.
    pub(crate) lead: Lead,
}

/// How an agent ended.
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    /// The text of its last answer.
    pub(crate) words: String,
    pub(crate) spent: Spent,
    /// Calls it made.
    pub(crate) calls: usize,
}

impl Finished {
    /// Stopped before it began.
    pub(crate) fn stopped() -> Self {
        Self { outcome: Outcome::Interrupted, words: String::new(), spent: Spent::default(), calls: 0 }
    }

    /// By a defect of Tiller's.
    pub(crate) fn broken() -> Self {
        let message = "something went wrong inside of Tiller".to_owned();
        Self { outcome: Outcome::Error { message, status: None }, ..Self::stopped() }
    }

    fn failed(error: &StoreError) -> Self {
        let outcome = Outcome::Error { message: error.to_string(), status: None };
        Self { outcome, ..Self::stopped() }
    }

    /// Tokens read and written.
    pub(crate) fn tokens(&self) -> u64 {
        self.spent.by_model.values().map(|model| model.usage.total()).sum()
    }
}

impl Template {
    pub(crate) fn names(&self) -> &Names {
        &self.fixed.names
    }

    /// Where copies of the project are checked out for agents that work apart. The directories of Tiller's own are
    /// closed to commands, so it is not one of those.
    pub(crate) fn worktrees(&self) -> PathBuf {
        let env = &self.fixed.env;
        let caches = env.var("XDG_CACHE_HOME").map_or_else(|| env.home.join(".cache"), PathBuf::from);
        caches.join("tiller/worktrees").join(self.session.to_string())
    }

    /// What an agent of this session was made as.
    pub(crate) fn known_kind(&self, id: &str) -> Result<String, String> {
        let unknown = || format!("There is no agent {id} in this session; start a new one without resume.");
        let is_plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric());
        let log = is_plain.then(|| self.log_of(&AgentId::from(id))).flatten().ok_or_else(unknown)?;
        let mut kind = None;
        let read = load(&log, |entry| {
            if let Body::Opened(Opened { agent: Some(agent), .. }) = entry.body {
                kind = Some(agent.kind);
            }
        });
        read.ok().and(kind).ok_or_else(unknown)
    }

    /// Lets an agent work to its end.
    pub(crate) async fn work(
        &self,
        commission: Commission,
        info: &AgentInfo,
        services: Services,
    ) -> Finished {
        let prompt = commission.prompt.clone();
        let mut task = match self.open(commission, info, services) {
            Ok(task) => task,
            Err(error) => return Finished::failed(&error),
        };
        let finished = task.work(prompt).await.unwrap_or_else(|error| Finished::failed(&error));
        if let Err(error) = task.journal.sync().await {
            tracing::error!("{error}");
        }
        finished
    }

    fn log_of(&self, agent: &AgentId) -> Option<PathBuf> {
        self.fixed.keeps_logs.then(|| self.paths.agent_log(agent))
    }

    fn open(&self, commission: Commission, info: &AgentInfo, services: Services) -> Result<Task, StoreError> {
        let Commission { definition, model, resume, lead, .. } = commission;
        let log = self.log_of(&info.id);
        let mut writer =
            log.as_deref().map(|log| LogWriter::open(log, &format!("agent {}", info.id))).transpose()?;
        let history = match &log {
            Some(log) if resume => History::read(log, writer.as_mut(), Audience::Nobody)?,
            _ => History::default(),
        };
        let fixed = self.fixed_for(&definition, &info.id, &services);
        let History { state, conversation, past, room, epoch, drop_thinking, .. } = history;
        let folds = (state, conversation, past, room);
        let archive = Archive::new(log.clone());
        let (_, inbox) = mpsc::channel(1);
        let (_, asides) = mpsc::unbounded_channel();
        let (own_lead, lead_now) = watch::channel(Lead::new(model, None, log.clone()));
        let env = services.env.clone();
        let mut task = Task::new(Beginning {
            paths: SessionPaths { log: log.unwrap_or_default(), ..self.paths.clone() },
            scratch: None,
            journal: Journal::new(env, self.session, folds, (archive.clone(), writer), self.events.clone())
                .of_agent(info.id.clone()),
            making_room: MakingRoom::new(fixed.compaction, fixed.recall && definition.allows(Recall::NAME)),
            services: Services { lead: lead_now, archive, ..services },
            role: Role::Sub,
            inbox,
            asides,
            start_source: StartSource::Startup,
            lead: own_lead,
            drop_thinking,
            fixed,
        });
        if let Some(epoch) = epoch {
            task.take_epoch(epoch);
        }
        task.offer_recall();
        task.begin_agent(&definition, info, resume, &lead)?;
        Ok(task)
    }

    fn fixed_for(&self, definition: &AgentDefinition, id: &AgentId, services: &Services) -> Fixed {
        let mut fixed = self.fixed.clone();
        fixed.env = services.env.clone();
        fixed.prompt = PromptChoice::default();
        fixed.persona = Some(definition.clone());
        fixed.limits.max_turns = match (definition.max_turns, fixed.limits.max_turns) {
            (Some(own), Some(all)) => Some(own.min(all)),
            (own, all) => own.or(all),
        };
        fixed.steering.critical_reminder = definition.critical_reminder.clone();
        fixed.steering.style = None;
        fixed.todo_file = fixed
            .todo_file
            .is_some()
            .then(|| todo_file::path_of(&fixed.config_dir, self.session, id.as_str()));
        fixed.notes_dir = None;
        fixed
    }
}

impl Task {
    fn begin_agent(
        &mut self,
        definition: &AgentDefinition,
        info: &AgentInfo,
        resume: bool,
        lead: &Lead,
    ) -> Result<(), StoreError> {
        self.append(Body::Opened(Opened {
            source: if resume { "resume" } else { "startup" }.to_owned(),
            cwd: self.fixed.env.cwd.clone(),
            version: VERSION.to_owned(),
            additional_dirs: Vec::new(),
            forked_from: None,
            agent: Some(AgentOpened {
                kind: info.kind.clone(),
                description: info.description.clone(),
                model: info.model.clone(),
                call: info.call.clone(),
            }),
        }))?;
        self.mend(&[], true)?;
        let files: Vec<FileSeen> = lead.files.iter().cloned().collect();
        if !resume && !files.is_empty() {
            self.append(Body::Effect(Effect::FilesTakenOver { files }))?;
        }
        if definition.fork_context && !resume {
            self.take_over(lead)?;
        }
        Ok(())
    }

    /// Takes over what was said between the user and the agent that this one works for.
    fn take_over(&mut self, lead: &Lead) -> Result<(), StoreError> {
        let Some(log) = lead.log.as_deref() else {
            let content = "The session is not kept, so the agent does not know the conversation.".to_owned();
            self.append(Body::Notice(Notice {
                subtype: "fork_context".to_owned(),
                level: Level::Warning,
                content,
            }))?;
            return Ok(());
        };
        for body in said(log, lead)? {
            self.append(body)?;
        }
        Ok(())
    }

    /// Does what it was asked to do.
    async fn work(&mut self, prompt: String) -> Result<Finished, StoreError> {
        let before = self.journal.state.call_ids.len();
        let id = EntryId(self.fixed.env.fresh());
        let outcome = self.turn(id, vec![RawBlock::text(&prompt)], Origin::Typed).await?;
        let words = std::mem::take(&mut self.turn.last_words);
        let calls = self.journal.state.call_ids.len() - before;
        Ok(Finished { outcome, words, spent: self.journal.state.spent.clone(), calls })
    }
}

/// The conversation of another agent before the answer that is being written: what was said and seen, without what it did
/// to that session.
fn said(log: &Path, lead: &Lead) -> Result<Vec<Body>, StoreError> {
    let mut standing = Standing::default();
    load(log, |entry| {
        if entry.seq <= lead.seq && !lead.abandoned.iter().any(|stretch| stretch.holds(entry.seq)) {
            standing.push(entry);
        }
    })?;
    let said = standing.into_messages().into_iter().map(|entry| entry.body);
    Ok(said.filter(is_said).map(harmless).collect())
}

fn is_said(body: &Body) -> bool {
    matches!(body, Body::User(_) | Body::Assistant(_) | Body::Result(_) | Body::Attachment(_))
}

/// The same without changes of state, apart from files that were seen.
fn harmless(body: Body) -> Body {
    let seen = |effects: Vec<Effect>| -> Vec<Effect> {
        effects.into_iter().filter(|effect| matches!(effect, Effect::FileSeen(_))).collect()
    };
    match body {
        Body::Result(result) => {
            let effects = seen(result.effects);
            Body::Result(CallResult { effects, ..result })
        }
        Body::Attachment(attachment) => {
            let effects = seen(attachment.effects.clone());
            Body::Attachment(tiller_protocol::entry::Attachment { effects, ..attachment })
        }
        other => other,
    }
}
