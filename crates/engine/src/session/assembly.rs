//! What a session consists of, put together from its setup: policy, services, settings that do not change, and the task
//! that owns it all.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tempfile::TempDir;
use tiller_config::Places;
use tiller_policy::Context;
use tiller_protocol::command::{Command, Event};
use tiller_protocol::id::ChainId;
use tiller_tools::{Shells, Vault, todo_file};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::compaction::MakingRoom;
use super::hooks::Aside;
use super::host_hooks::{SmallModel, announce};
use super::open::Opening;
use super::servers::KnownServers;
use super::tasks::announce_commands;
use super::turn::Turn;
use super::{Fixed, Held, Lead, Role, Setup, Task};
use crate::archive::Archive;
use crate::beside::Beside;
use crate::budget::Budget;
use crate::cache_watch::CacheWatch;
use crate::confinement::Confiner;
use crate::hook::{Ending, Hooks, Judge, Parts, StartSource};
use crate::journal::Journal;
use crate::mailbox::{Inbox, Mailbox};
use crate::mcp::with_servers;
use crate::policy::{Standpoint, context, resolved};
use crate::services::Services;
use crate::store::SessionPaths;
use crate::undo::Keeper;

/// In what the tasks of a session and of a sub-agent differ when they begin.
pub(super) struct Beginning {
    pub(super) fixed: Fixed,
    pub(super) paths: SessionPaths,
    pub(super) scratch: Option<TempDir>,
    pub(super) journal: Journal,
    pub(super) services: Services,
    pub(super) role: Role,
    pub(super) inbox: mpsc::Receiver<Command>,
    pub(super) asides: mpsc::UnboundedReceiver<Aside>,
    pub(super) start_source: StartSource,
    pub(super) lead: watch::Sender<Lead>,
    pub(super) drop_thinking: bool,
    pub(super) making_room: MakingRoom,
}

/// The ends of channels through which services hear and tell, and the log behind them.
pub(super) struct Wires {
    pub(super) policy_now: watch::Receiver<Arc<Context>>,
    pub(super) lead_now: watch::Receiver<Lead>,
    pub(super) archive: Archive,
    pub(super) aside: mpsc::UnboundedSender<Aside>,
    pub(super) events: mpsc::UnboundedSender<Event>,
}

impl Task {
    /// A task that has not begun to work. Nobody sends commands to a sub-agent: it ends with its turn.
    pub(super) fn new(beginning: Beginning) -> Self {
        let is_main = matches!(beginning.role, Role::Main { .. });
        Self {
            pipeline: Arc::new(beginning.fixed.steering.pipeline(&beginning.fixed.env)),
            fixed: beginning.fixed,
            paths: beginning.paths,
            _scratch: beginning.scratch,
            journal: beginning.journal,
            services: beginning.services,
            role: beginning.role,
            inbox: beginning.inbox,
            inbox_open: is_main,
            asides: beginning.asides,
            start_source: beginning.start_source,
            ending: Ending::Other,
            hooks_have_begun: false,
            closing: !is_main,
            shut_down: false,
            lead: beginning.lead,
            epoch: None,
            head: <(Bytes, Bytes)>::default(),
            epoch_checked: false,
            drop_thinking: beginning.drop_thinking,
            queue_held: Held::UntilFirstWord,
            woken_by: HashSet::new(),
            has_succeeded: true,
            woken: 0,
            outwaits_until: None,
            asked_about: HashSet::new(),
            cache_watch: CacheWatch::default(),
            making_room: beginning.making_room,
            known_servers: KnownServers::new(),
            asks: HashMap::new(),
            writing: None,
            turn: Turn::default(),
            in_turn: false,
        }
    }
}

impl Lead {
    /// Of an agent that has said nothing yet.
    pub(super) fn new(main_model: String, setting: Option<String>, log: Option<PathBuf>) -> Self {
        Self {
            main_model,
            setting,
            step: (ChainId::default(), 0),
            seq: 0,
            log,
            abandoned: Vec::new(),
            folded: None,
            files: Arc::default(),
        }
    }
}

impl Opening {
    /// What decides at first: what the log says of mode and permissions is followed from where it ended.
    pub(super) fn context(&self, setup: &mut Setup, mailbox: &Mailbox) -> Context {
        let mut readable = vec![resolved(&self.paths.dir), mailbox.dir().to_owned()];
        readable.extend(setup.readable.iter().map(|dir| resolved(dir)));
        let rules = setup.mcp.guarded(std::mem::take(&mut setup.rules));
        Context {
            bypass_available: setup.bypass_available,
            readable,
            offline: setup.offline,
            holding: setup.sandbox.holding(),
            ..context(&setup.env, &setup.additional_dirs, rules, self.history.state.mode)
        }
    }

    /// What calls share, as far as it does not need the rest of it.
    pub(super) fn services(&self, setup: &mut Setup, wires: Wires) -> Services {
        let budget = Arc::new(Budget::new(setup.limits, &self.history.state.spent));
        let ended = CancellationToken::new();
        let keeper = || {
            let last = self.history.state.snapshot.clone();
            Arc::new(Keeper::new(&setup.config_dir, &resolved(&setup.env.cwd), last, &setup.env))
        };
        let services = Services {
            env: setup.env.clone(),
            agent: None,
            agents: None,
            hooks: self.hooks(setup, &budget, &wires),
            budget,
            lead: wires.lead_now,
            archive: wires.archive,
            depth: 0,
            shells: Arc::new(Shells::new(setup.env.clone())),
            keeper: setup.persist.then(keeper),
            confiner: Arc::new(self.confiner(setup)),
            guarded: Arc::default(),
            secrets: Arc::new(if setup.mask_secrets { Vault::new(&setup.env) } else { Vault::off() }),
            registry: std::mem::take(&mut setup.registry),
            recipes: std::mem::take(&mut setup.recipes).into(),
            policy: Standpoint::new(wires.policy_now),
            classifier: Arc::default(),
            asked: Arc::default(),
            plan_talk: Arc::new(Semaphore::new(1)),
            permission_tool: setup.mcp.permission_tool.clone().map(Arc::from),
            interactive: setup.interactive,
            model: Arc::clone(&setup.model),
            small_model: setup.names.small_fast.clone(),
            languages: None,
            mcp: None,
            editors: None,
            asides: wires.aside,
            tasks: TaskTracker::new(),
            ended: ended.clone(),
            session_ended: ended,
            tape: None,
            events: wires.events,
        };
        services.shells.number_after(self.history.past.last_command());
        announce_commands(&services);
        services
    }

    fn hooks(&self, setup: &Setup, budget: &Arc<Budget>, wires: &Wires) -> Hooks {
        let judge = SmallModel {
            beside: Beside { model: Arc::clone(&setup.model), budget: Arc::clone(budget) },
            name: setup.names.small_fast.clone(),
            asides: wires.aside.clone(),
        };
        let parts = Parts {
            env: setup.env.clone(),
            project_dir: resolved(&setup.env.cwd),
            session: self.id,
            transcript: self.paths.log.clone(),
            judge: Arc::new(judge) as Arc<dyn Judge>,
            started: announce(wires.events.clone()),
        };
        Hooks::new(&setup.hooks, parts)
    }

    fn confiner(&self, setup: &Setup) -> Confiner {
        let layers = match &self.scratch {
            Some(scratch) => scratch.path().join("layers"),
            None => setup.config_dir.join("layers").join(self.id.to_string()),
        };
        let own = vec![setup.config_dir.clone(), self.paths.dir.clone()];
        Confiner::new(setup.sandbox.clone(), setup.env.clone(), own, layers)
    }

    /// Starts what calls and sources hear from: language servers, MCP servers, editors.
    pub(super) fn connect(&self, setup: &mut Setup, services: &mut Services) {
        services.languages = setup.steering.languages.begin(services);
        services.mcp = setup.mcp.clone().begin(services, &setup.config_dir, setup.offline);
        if let Some(servers) = &services.mcp {
            let registry = std::mem::take(&mut services.registry);
            services.registry = with_servers(registry, servers, services.policy.clone());
        }
        let steering = &mut setup.steering;
        services.editors = steering.listen(&setup.config_dir, self.id, services);
        if let Some(editors) = &services.editors {
            steering.providers.editor_diagnostics = Some(editors.provider(services));
        }
        if let Some(languages) = &services.languages {
            steering.providers.server_diagnostics = Some(steering.languages.provider(languages, services));
        }
    }

    /// The settings that do not change.
    pub(super) fn fixed(&self, setup: Setup, mailbox: Mailbox, recall: bool) -> Fixed {
        Fixed {
            places: Places { config_dir: setup.config_dir.clone(), ..Places::of(&setup.env) },
            todo_file: setup.persist.then(|| todo_file::path(&setup.config_dir, self.id)),
            notes_dir: setup.persist.then(|| setup.config_dir.clone()),
            env: setup.env,
            config_dir: setup.config_dir,
            names: setup.names,
            fallback_model: setup.fallback_model,
            prompt: setup.prompt,
            persona: None,
            keeps_logs: setup.persist,
            user_context: setup.user_context,
            limits: setup.limits,
            streaming_tools: setup.streaming_tools,
            stream_events: setup.stream_events,
            thinking: setup.thinking,
            effort: setup.effort,
            betas: setup.betas,
            steering: setup.steering,
            compaction: setup.compaction,
            recall,
            inbox: Inbox::open(mailbox, self.id),
            plans: self.plans.clone(),
            servers_wait: setup.mcp.wait,
        }
    }
}
