//! Opening a session: new, resumed or forked, and mended where the last run was cut off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tiller_protocol::command::{Command, Event};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{
    Body, Cause, Dequeued, EndMarker, EndReason, Entry, Level, Opened, Outcome, TurnEnd,
};
use tiller_protocol::env::Env;
use tiller_protocol::id::{EntryId, SessionId};
use tiller_protocol::mode::Mode;
use tiller_protocol::state::State;
use tiller_tools::{Recall, Tool, todo_file};
use tokio::sync::{mpsc, watch};

use super::assembly::{Beginning, Wires};
use super::compaction::MakingRoom;
use super::history::{Audience, History};
use super::sample::THINKING_DROPPED;
use super::{Lead, Role, Setup, Start, Task, Template};
use crate::agent::Agents;
use crate::archive::Archive;
use crate::executor::{Stop, synthetic};
use crate::hook::StartSource;
use crate::journal::{Journal, VERSION};
use crate::mailbox::{Mailbox, SESSION_VARIABLE};
use crate::plan::{Plans, Slug};
use crate::policy::resolved;
use crate::store::{
    Damage, LogWriter, SessionPaths, StoreError, adopt, find, take_over, told_id, unpacked, unpacked_in,
};

/// What there was before a session was opened.
pub(super) struct Before {
    /// What it was folded into.
    pub(super) state: State,
    /// The entries, if they were asked for.
    pub(super) entries: Vec<Arc<Entry>>,
}

pub(super) struct Opening {
    pub(super) id: SessionId,
    pub(super) paths: SessionPaths,
    /// Where files of a session that is not kept go.
    pub(super) scratch: Option<TempDir>,
    writer: Option<LogWriter>,
    pub(super) history: History,
    /// The log that it goes on from.
    read: Option<PathBuf>,
    source: &'static str,
    forked_from: Option<SessionId>,
    /// Where plans are kept.
    pub(super) plans: Plans,
    /// The name of a fork's own plan.
    forked_plan: Option<Slug>,
}

impl Task {
    pub(super) fn open(
        mut setup: Setup,
        inbox: mpsc::Receiver<Command>,
        events: mpsc::UnboundedSender<Event>,
        audience: Audience,
    ) -> Result<(Self, Before), StoreError> {
        let mut opening = Opening::new(&setup, audience)?;
        setup.env = naming(setup.env, opening.id);
        let entries = std::mem::take(&mut opening.history.entries);
        let before = Before { state: opening.history.state.clone(), entries };
        let mode = setup.mode.unwrap_or(match opening.history.state.mode {
            Mode::Plan => Mode::Plan,
            _ => setup.default_mode,
        });
        let mailbox = Mailbox::of(&resolved(&setup.config_dir), &resolved(&setup.env.cwd));
        let (policy, policy_now) = watch::channel(Arc::new(opening.context(&mut setup, &mailbox)));
        let log = setup.persist.then(|| opening.paths.log.clone());
        let main_model = setup.names.main_model(setup.model_setting.as_deref());
        let (lead, lead_now) =
            watch::channel(Lead::new(main_model, setup.model_setting.clone(), log.clone()));
        let archive = match (log, opening.read.take()) {
            (None, Some(read)) => Archive::behind(read, opening.history.state.seq),
            (log, _) => Archive::new(log),
        };
        let (aside, asides) = mpsc::unbounded_channel();
        let wires = Wires { policy_now, lead_now, archive: archive.clone(), aside, events: events.clone() };
        let mut services = opening.services(&mut setup, wires);
        opening.connect(&mut setup, &mut services);
        let (agents, additional_dirs) = (std::mem::take(&mut setup.agents), setup.additional_dirs.clone());
        let limits = setup.limits.agents;
        let fixed = opening.fixed(setup, mailbox, services.registry.names().contains(&Recall::NAME));
        let template = Template {
            fixed: fixed.clone(),
            paths: opening.paths.clone(),
            session: opening.id,
            events: events.clone(),
        };
        let agents = Agents::new(agents, limits, template);
        // While planning nothing changes, not even what git keeps of a worktree.
        if mode != Mode::Plan {
            agents.tidy_up(&services);
        }
        services.agents = Some(Arc::new(agents));
        let History { state, conversation, past, room, epoch, damage, drop_thinking, slug, .. } =
            opening.history;
        let folds = (state, conversation, past, room);
        let journal = Journal::new(fixed.env.clone(), opening.id, folds, (archive, opening.writer), events);
        let mut task = Self::new(Beginning {
            making_room: MakingRoom::new(fixed.compaction, fixed.recall),
            fixed,
            paths: opening.paths,
            scratch: opening.scratch,
            journal,
            services,
            role: Role::Main { policy },
            inbox,
            asides,
            start_source: match opening.source {
                "startup" => StartSource::Startup,
                "clear" => StartSource::Clear,
                _ => StartSource::Resume,
            },
            lead,
            drop_thinking,
        });
        task.offer_recall();
        if let Some(epoch) = epoch {
            task.take_epoch(epoch);
        }
        let has_plan = task.take_up_plan(slug.as_deref(), opening.forked_plan)?;
        tracing::debug!(has_plan, "the session is open");
        task.begin(opening.source, opening.forked_from, &additional_dirs, mode)?;
        task.mend(&damage, opening.forked_from.is_some())?;
        task.copy_todos();
        Ok((task, before))
    }

    fn begin(
        &mut self,
        source: &str,
        forked_from: Option<SessionId>,
        additional_dirs: &[PathBuf],
        mode: Mode,
    ) -> Result<(), StoreError> {
        self.append(Body::Opened(Opened {
            source: source.to_owned(),
            cwd: self.fixed.env.cwd.clone(),
            version: VERSION.to_owned(),
            additional_dirs: additional_dirs.to_vec(),
            forked_from,
            agent: None,
        }))?;
        if self.journal.state.mode != mode {
            self.append(Body::Effect(Effect::SetMode { mode }))?;
        }
        for update in self.journal.state.permissions.updates() {
            self.follow_updates(&[update]);
        }
        Ok(())
    }

    /// The todo file is a copy of what the log says, which may have gone back or come from elsewhere since.
    pub(super) fn copy_todos(&self) {
        let todos = &self.journal.state.todos;
        if let Some(path) = &self.fixed.todo_file
            && todo_file::load(path) != *todos
            && let Err(error) = todo_file::save(path, todos)
        {
            tracing::warn!("the todo list was not saved: {error}");
        }
    }

    /// Says what was damaged, and answers calls that the last run left open, so that the next request is acceptable.
    pub(super) fn mend(&mut self, damage: &[Damage], forked: bool) -> Result<(), StoreError> {
        if let Some((first, more)) = damage.split_first() {
            let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            self.notice("log_damage", Level::Warning, format!("Session log: {first}{more}."))?;
            // What the model thought is bound to the conversation before it, of which something may be missing.
            if !self.drop_thinking && damage.iter().any(|damage| !matches!(damage, Damage::TornTail { .. })) {
                self.drop_thinking = true;
                let text = "Earlier reasoning that does not fit the mended log is left out from now on.";
                self.notice(THINKING_DROPPED, Level::Info, text.to_owned())?;
            }
        }
        self.mend_compaction()?;
        self.tell_of_files_halfway()?;
        for (call, open) in self.journal.state.open_calls.clone() {
            let result = synthetic(&call, &open.tool, &Stop::new(Cause::Lost));
            self.append(Body::Result(result))?;
        }
        let queued: Vec<EntryId> = self.journal.state.queue.iter().map(|queued| queued.id).collect();
        if forked && !queued.is_empty() {
            self.append(Body::Dequeued(Dequeued { ids: queued }))?;
        }
        if self.journal.state.turn_open {
            let marker = EndMarker { tool_use: false, reason: EndReason::Interrupted };
            let outcome = Outcome::Interrupted;
            self.append(Body::TurnEnded(TurnEnd { outcome, marker: Some(marker), steps: 0 }))?;
        }
        Ok(())
    }
}

fn paths(setup: &Setup, id: SessionId) -> SessionPaths {
    SessionPaths::new(&setup.config_dir, &resolved(&setup.env.cwd), id)
}

/// The surroundings, in which commands find the session that they belong to.
fn naming(env: Env, session: SessionId) -> Env {
    let mut vars = BTreeMap::clone(&env.vars);
    vars.insert(SESSION_VARIABLE.to_owned(), session.to_string());
    Env { vars: Arc::new(vars), ..env }
}

impl Opening {
    fn new(setup: &Setup, audience: Audience) -> Result<Self, StoreError> {
        let project = resolved(&setup.env.cwd);
        match &setup.start {
            Start::New(chosen) => Self::fresh(setup, *chosen, "startup"),
            Start::Cleared => Self::with(setup, SessionId(setup.env.fresh()), "clear"),
            Start::Resume(id) => {
                let log = find(&setup.config_dir, &project, *id)?.paths.log;
                Self::resumed(setup, *id, &log, audience)
            }
            Start::Fork { from, to } => {
                let log = find(&setup.config_dir, &project, *from)?.paths.log;
                Self::forked(setup, *from, &log, *to, audience)
            }
            Start::Log { file, to } => {
                let (id, log) = match setup.persist {
                    true => {
                        let id = adopt(&setup.env, &setup.config_dir, &project, file)?;
                        (id, SessionPaths::new(&setup.config_dir, &project, id).log)
                    }
                    false => (told_id(file)?, file.clone()),
                };
                match to {
                    Some(to) => Self::forked(setup, id, &log, Some(*to), audience),
                    None => Self::resumed(setup, id, &log, audience),
                }
            }
        }
    }

    /// A session that there was none of yet.
    fn fresh(setup: &Setup, chosen: Option<SessionId>, source: &'static str) -> Result<Self, StoreError> {
        let id = chosen.unwrap_or_else(|| SessionId(setup.env.fresh()));
        if find(&setup.config_dir, &resolved(&setup.env.cwd), id).is_ok() {
            return Err(StoreError::Exists(id.to_string()));
        }
        Self::with(setup, id, source)
    }

    fn resumed(setup: &Setup, id: SessionId, log: &Path, audience: Audience) -> Result<Self, StoreError> {
        if setup.persist {
            // Before there is an empty log in its place.
            unpacked(log)?;
        }
        let mut opening = Self::with(setup, id, "resume")?;
        let log = opening.readable(setup, log)?;
        opening.history = History::read(&log, opening.writer.as_mut(), audience)?;
        opening.read = Some(log);
        Ok(opening)
    }

    fn forked(
        setup: &Setup,
        from: SessionId,
        log: &Path,
        to: Option<SessionId>,
        audience: Audience,
    ) -> Result<Self, StoreError> {
        let mut opening = Self::fresh(setup, to, "fork")?;
        let log = opening.readable(setup, log)?;
        let mut plan = None;
        let name_plan =
            || -> Slug { plan.get_or_insert_with(|| opening.plans.fresh(setup.env.ids.as_ref())).clone() };
        opening.history = History::copy(&log, opening.id, opening.writer.as_mut(), audience, name_plan)?;
        opening.read = Some(log);
        opening.forked_plan = plan;
        opening.forked_from = Some(from);
        if setup.persist {
            todo_file::migrate(&setup.config_dir, from, opening.id);
        }
        Ok(opening)
    }

    /// A log that can be read at any place: a compressed one is unpacked first, elsewhere if nothing is kept.
    fn readable(&self, setup: &Setup, log: &Path) -> Result<PathBuf, StoreError> {
        match (&self.scratch, &setup.start) {
            (None, _) => unpacked(log),
            (Some(scratch), Start::Log { file, .. }) => {
                let taken_over = scratch.path().join("taken-over.jsonl");
                take_over(&setup.env, &resolved(&setup.env.cwd), file, told_id(file)?, &taken_over)?;
                Ok(taken_over)
            }
            (Some(scratch), _) => unpacked_in(scratch.path(), log),
        }
    }

    fn with(setup: &Setup, id: SessionId, source: &'static str) -> Result<Self, StoreError> {
        let mut paths = paths(setup, id);
        let writer = setup.persist.then(|| LogWriter::open(&paths.log, &id.to_string())).transpose()?;
        let scratch = if setup.persist { None } else { Some(tempfile::tempdir()?) };
        if let Some(scratch) = &scratch {
            paths.dir = scratch.path().to_owned();
        }
        let plans = Plans::in_dir(scratch.as_ref().map_or(&setup.config_dir, |scratch| scratch.path()));
        Ok(Self {
            id,
            paths,
            scratch,
            writer,
            history: History::default(),
            read: None,
            source,
            forked_from: None,
            plans,
            forked_plan: None,
        })
    }
}
