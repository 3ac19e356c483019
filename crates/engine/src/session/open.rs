//! Opening a session: new, resumed or forked, and mended where the last run was cut off.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tempfile::TempDir;
use tiller_config::Places;
use tiller_policy::Context;
use tiller_protocol::command::{Command, Event};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{
    Body, Cause, Dequeued, EndMarker, EndReason, Epoch, Level, Opened, Outcome, TurnEnd,
};
use tiller_protocol::id::{EntryId, SessionId};
use tiller_protocol::line::{self, Envelope};
use tiller_protocol::mode::Mode;
use tiller_protocol::state::State;
use tiller_steering::Conversation;
use tiller_steering::past::Past;
use tiller_tools::{Shells, Vault, todo_file};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::host_hooks::{SmallModel, announce};
use super::sample::THINKING_DROPPED;
use super::turn::Turn;
use super::{Fixed, Setup, Start, Task};
use crate::cache_watch::CacheWatch;
use crate::confinement::Confiner;
use crate::executor::{Stop, synthetic};
use crate::hook::{Ending, Hooks, Judge, Parts, StartSource};
use crate::journal::{Journal, VERSION};
use crate::policy::{context, resolved};
use crate::services::Services;
use crate::store::{Damage, LogWriter, SessionPaths, StoreError, find, load};

/// What a log holds, folded.
#[derive(Default)]
struct History {
    state: State,
    conversation: Conversation,
    past: Arc<Past>,
    epoch: Option<Epoch>,
    /// The provider was told to drop reasoning that no longer fits.
    drop_thinking: bool,
    damage: Vec<Damage>,
}

struct Opening {
    id: SessionId,
    paths: SessionPaths,
    /// Where files of a session that is not kept go.
    scratch: Option<TempDir>,
    writer: Option<LogWriter>,
    history: History,
    source: &'static str,
    forked_from: Option<SessionId>,
}

impl Task {
    pub(super) fn open(
        setup: Setup,
        inbox: mpsc::Receiver<Command>,
        events: mpsc::UnboundedSender<Event>,
    ) -> Result<(Self, State), StoreError> {
        let opening = Opening::new(&setup)?;
        let before = opening.history.state.clone();
        let mode = setup.mode.unwrap_or(match opening.history.state.mode {
            Mode::Plan => Mode::Plan,
            _ => setup.default_mode,
        });
        // What the log says of mode and permissions is followed from where it ended.
        let was = opening.history.state.mode;
        let context = Context {
            bypass_available: setup.bypass_available,
            readable: vec![resolved(&opening.paths.dir)],
            unattended: !setup.interactive,
            offline: setup.offline,
            holding: setup.sandbox.holding(),
            ..context(&setup.env, &setup.additional_dirs, setup.rules, was)
        };
        let (policy, policy_now) = watch::channel(Arc::new(context));
        let main_model = setup.names.main_model(setup.model_setting.as_deref());
        let (aside, asides) = mpsc::unbounded_channel();
        let judge = SmallModel {
            model: Arc::clone(&setup.model),
            name: setup.names.small_fast.clone(),
            asides: aside.clone(),
        };
        let hooks = Hooks::new(
            &setup.hooks,
            Parts {
                env: setup.env.clone(),
                project_dir: resolved(&setup.env.cwd),
                session: opening.id,
                transcript: opening.paths.log.clone(),
                judge: Arc::new(judge) as Arc<dyn Judge>,
                started: announce(events.clone()),
            },
        );
        let layers = match &opening.scratch {
            Some(scratch) => scratch.path().join("layers"),
            None => setup.config_dir.join("layers").join(opening.id.to_string()),
        };
        let own = vec![setup.config_dir.clone(), opening.paths.dir.clone()];
        let mut services = Services {
            env: setup.env.clone(),
            registry: setup.registry,
            shells: Arc::new(Shells::new(setup.env.clone())),
            confiner: Arc::new(Confiner::new(setup.sandbox, setup.env.clone(), own, layers)),
            secrets: Arc::new(if setup.mask_secrets { Vault::new(&setup.env) } else { Vault::off() }),
            policy: policy_now,
            classifier: Arc::default(),
            asked: Arc::default(),
            interactive: setup.interactive,
            model: setup.model,
            small_model: setup.names.small_fast.clone(),
            search_model: main_model.clone(),
            hooks,
            languages: None,
            asides: aside,
            tasks: TaskTracker::new(),
            ended: CancellationToken::new(),
        };
        services.languages = setup.steering.languages.begin(&services);
        let mut steering = setup.steering;
        if let Some(languages) = &services.languages {
            steering.providers.server_diagnostics = Some(steering.languages.provider(languages, &services));
        }
        let todos = setup.persist.then(|| todo_file::path(&setup.config_dir, opening.id));
        let notes_dir = setup.persist.then(|| setup.config_dir.clone());
        let places = Places { config_dir: setup.config_dir.clone(), ..Places::of(&setup.env) };
        let fixed = Fixed {
            env: setup.env.clone(),
            config_dir: setup.config_dir,
            names: setup.names,
            fallback_model: setup.fallback_model,
            prompt: setup.prompt,
            user_context: setup.user_context,
            limits: setup.limits,
            streaming_tools: setup.streaming_tools,
            stream_events: setup.stream_events,
            thinking: setup.thinking,
            effort: setup.effort,
            betas: setup.betas,
            steering,
            todo_file: todos,
            places,
            notes_dir,
        };
        let pipeline = Arc::new(fixed.steering.pipeline(&setup.env));
        let History { state, conversation, past, epoch, damage, drop_thinking } = opening.history;
        let folds = (state, conversation, past);
        let journal = Journal::new(setup.env, opening.id, folds, opening.writer, events);
        let mut task = Self {
            fixed,
            paths: opening.paths,
            _scratch: opening.scratch,
            journal,
            services,
            pipeline,
            policy,
            inbox,
            inbox_open: true,
            asides,
            start_source: match opening.source {
                "startup" => StartSource::Startup,
                "clear" => StartSource::Clear,
                _ => StartSource::Resume,
            },
            ending: Ending::Other,
            hooks_have_begun: false,
            closing: false,
            shut_down: false,
            model_setting: setup.model_setting,
            main_model,
            epoch: None,
            head: <(Bytes, Bytes)>::default(),
            epoch_checked: false,
            drop_thinking,
            queue_held: true,
            asked_about: HashSet::new(),
            cache_watch: CacheWatch::default(),
            asks: HashMap::new(),
            writing: None,
            turn: Turn::default(),
        };
        if let Some(epoch) = epoch {
            task.take_epoch(epoch);
        }
        task.begin(opening.source, opening.forked_from, &setup.additional_dirs, mode)?;
        task.mend(&damage, opening.forked_from.is_some())?;
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
        }))?;
        if self.journal.state.mode != mode {
            self.append(Body::Effect(Effect::SetMode { mode }))?;
        }
        for update in self.journal.state.permissions.updates() {
            self.follow_updates(&[update]);
        }
        Ok(())
    }

    /// Says what was damaged, and answers calls that the last run left open, so that the next request is acceptable.
    fn mend(&mut self, damage: &[Damage], forked: bool) -> Result<(), StoreError> {
        if let Some((first, more)) = damage.split_first() {
            let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            self.notice("log_damage", Level::Warning, format!("Session log: {first}{more}."))?;
        }
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

impl Opening {
    fn new(setup: &Setup) -> Result<Self, StoreError> {
        let project = resolved(&setup.env.cwd);
        let paths = |id| SessionPaths::new(&setup.config_dir, &project, id);
        let fresh = || SessionId(setup.env.fresh());
        match &setup.start {
            Start::New(chosen) => {
                let id = chosen.unwrap_or_else(fresh);
                if paths(id).log.exists() {
                    return Err(StoreError::Exists(id.to_string()));
                }
                Self::with(setup, id, paths(id), "startup")
            }
            Start::Cleared => {
                let id = fresh();
                Self::with(setup, id, paths(id), "clear")
            }
            Start::Resume(id) => {
                find(&setup.config_dir, &project, *id)?;
                let mut opening = Self::with(setup, *id, paths(*id), "resume")?;
                opening.history = History::read(&opening.paths.log, opening.writer.as_mut())?;
                Ok(opening)
            }
            Start::Fork { from, to } => {
                find(&setup.config_dir, &project, *from)?;
                let id = to.unwrap_or_else(fresh);
                if paths(id).log.exists() {
                    return Err(StoreError::Exists(id.to_string()));
                }
                let mut opening = Self::with(setup, id, paths(id), "fork")?;
                opening.history = History::copy(&paths(*from).log, id, opening.writer.as_mut())?;
                opening.forked_from = Some(*from);
                if setup.persist {
                    todo_file::migrate(&setup.config_dir, *from, id);
                }
                Ok(opening)
            }
        }
    }

    fn with(
        setup: &Setup,
        id: SessionId,
        mut paths: SessionPaths,
        source: &'static str,
    ) -> Result<Self, StoreError> {
        let writer = setup.persist.then(|| LogWriter::open(&paths.log, &id.to_string())).transpose()?;
        let scratch = if setup.persist { None } else { Some(tempfile::tempdir()?) };
        if let Some(scratch) = &scratch {
            paths.dir = scratch.path().to_owned();
        }
        Ok(Self { id, paths, scratch, writer, history: History::default(), source, forked_from: None })
    }
}

impl History {
    fn read(log: &Path, writer: Option<&mut LogWriter>) -> Result<Self, StoreError> {
        let mut history = Self::default();
        let loaded = load(log, |entry| history.take(&entry))?;
        history.damage = loaded.damage;
        if let Some(writer) = writer {
            writer.continue_at(loaded.length, loaded.hash)?;
        }
        Ok(history)
    }

    /// Copies a log under another session id.
    fn copy(log: &Path, id: SessionId, mut writer: Option<&mut LogWriter>) -> Result<Self, StoreError> {
        let mut history = Self::default();
        let mut copied = Ok(());
        let loaded = load(log, |entry| {
            history.take(&entry);
            let envelope =
                Envelope { session: id, cwd: &history.state.cwd, version: VERSION, git_branch: None };
            if let (Some(writer), Ok(())) = (writer.as_deref_mut(), &copied) {
                copied =
                    line::write(&entry, &envelope).map_err(Into::into).and_then(|line| writer.append(&line));
            }
        })?;
        copied?;
        history.damage = loaded.damage;
        Ok(history)
    }

    fn take(&mut self, entry: &tiller_protocol::entry::Entry) {
        match &entry.body {
            Body::Epoch(epoch) => self.epoch = Some(epoch.clone()),
            Body::Notice(notice) => self.drop_thinking |= notice.subtype == THINKING_DROPPED,
            _ => {}
        }
        self.state.apply(entry);
        Arc::make_mut(&mut self.past).push(entry);
        self.conversation.push(entry);
    }
}
