//! What the decisions of a session depend on. Whoever explains a decision beside a session judges by the same.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tiller_config::Places;
use tiller_policy::{Context, Resolver, Rule, RuleError, Rules, grant, refusals, without_grants};
use tiller_protocol::env::Env;
use tiller_protocol::id::AgentId;
use tiller_protocol::mode::Mode;
use tiller_tools::{links_among, names_below, names_in, odd_names_below, resolve_links};
use tokio::sync::watch;

use crate::confinement::SandboxChoice;
use crate::git_hooks::hooks_dir;

/// What decides in a session that works here and in these directories.
#[must_use]
pub fn context(env: &Env, additional_dirs: &[PathBuf], rules: Rules, mode: Mode) -> Context {
    Context {
        mode,
        rules,
        roots: roots(&env.cwd, additional_dirs),
        home: env.home.clone(),
        guarded: own(env),
        holding: SandboxChoice::default().holding(),
        bypass_available: mode == Mode::BypassPermissions,
        resolver: Resolver::new(resolve_links)
            .with_link_targets(|path| path.read_link().ok())
            .with_links(links_among)
            .with_trees(Path::is_dir, names_below)
            .with_odd_names(odd_names_below)
            .with_names_in(names_in),
        ..Context::default()
    }
}

/// What decides for one agent at this moment: the session's mode and rules, seen from where the agent stands. A change
/// of mode holds for all agents of a session at once.
#[derive(Clone)]
pub(crate) struct Standpoint {
    session: watch::Receiver<Arc<Context>>,
    agent: Option<Arc<AgentStandpoint>>,
}

/// What differs for a sub-agent.
struct AgentStandpoint {
    id: AgentId,
    /// What it cannot change anything outside of.
    fence: Option<PathBuf>,
    /// The modes that its definition, and those of the agents it works for, want it to work in.
    modes: Vec<Mode>,
    /// What recipes refuse that were followed when it was called upon, or that it follows itself: as long as it lives.
    refused: Mutex<Vec<Rule>>,
    /// What the session's context came to, as long as that is the same.
    seen: Mutex<Option<(Arc<Context>, Arc<Context>)>>,
}

impl Standpoint {
    /// That of the main agent.
    pub(crate) fn new(session: watch::Receiver<Arc<Context>>) -> Self {
        Self { session, agent: None }
    }

    /// That of a sub-agent, perhaps one that is to stay inside a directory of its own, or to work in a stricter mode: so do
    /// the agents that it calls upon.
    pub(crate) fn of_agent(&self, id: AgentId, fence: Option<PathBuf>, mode: Option<Mode>) -> Self {
        let refused = Mutex::new(refusals(&self.now()));
        let callers = self.agent.iter().flat_map(|caller| &caller.modes).copied();
        let modes = mode.into_iter().chain(callers).collect();
        let agent = AgentStandpoint { id, fence, modes, refused, seen: Mutex::new(None) };
        Self { session: self.session.clone(), agent: Some(Arc::new(agent)) }
    }

    /// Refuses a sub-agent what a recipe refuses that it follows.
    ///
    /// # Errors
    /// When a rule cannot be understood; then nothing is added.
    pub(crate) fn refuse(&self, deny: &[String]) -> Result<(), RuleError> {
        let Some(agent) = &self.agent else { return Ok(()) };
        let refused = refusals(&grant(&self.now(), &[], deny)?);
        *agent.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
        *agent.seen.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// What decides now. As long as nothing has changed, it is the very same value.
    pub(crate) fn now(&self) -> Arc<Context> {
        let session = Arc::clone(&self.session.borrow());
        match &self.agent {
            None => session,
            Some(agent) => agent.view(session),
        }
    }
}

impl AgentStandpoint {
    fn view(&self, session: Arc<Context>) -> Arc<Context> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, view)) = &*seen
            && Arc::ptr_eq(of, &session)
        {
            return Arc::clone(view);
        }
        let (of_session, plan_file) = (session.mode.of_agents(), self.plan_file(&session));
        let mode = self.modes.iter().copied().fold(of_session, Mode::or_stricter);
        let all = self.modes.iter().chain([&of_session]);
        let bounds = all.copied().filter(|other| *other != mode).collect();
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = Context { mode, bounds, plan_file, ..without_grants(&session, &refused) };
        if let Some(fence) = &self.fence {
            own.readable.extend(std::mem::replace(&mut own.roots, vec![fence.clone()]));
            own.fence = Some(fence.clone());
        }
        let view = Arc::new(own);
        *seen = Some((session, Arc::clone(&view)));
        view
    }

    /// Each agent plans in a file of its own, beside that of the session.
    fn plan_file(&self, session: &Context) -> Option<PathBuf> {
        let of_session = session.plan_file.as_ref()?;
        let stem = of_session.file_stem()?.to_string_lossy();
        Some(of_session.with_file_name(format!("{stem}-agent-{}.md", self.id)))
    }
}

/// Where settings, state and hooks are kept, wherever that is.
fn own(env: &Env) -> Vec<PathBuf> {
    let places = Places::of(env);
    let managed = places.managed.parent().map(Path::to_path_buf);
    // What lies there runs outside of everything at the user's next commit.
    let hooks = hooks_dir(&env.cwd);
    let dirs = [places.config_dir, places.foreign_dir].into_iter().chain(managed).chain(hooks);
    dirs.map(|dir| resolved(&dir)).collect()
}

/// The working directories, links resolved; each once.
fn roots(cwd: &Path, additional: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for dir in std::iter::once(cwd).chain(additional.iter().map(PathBuf::as_path)) {
        let dir = resolved(dir);
        if !roots.contains(&dir) {
            roots.push(dir);
        }
    }
    roots
}

pub(crate) fn resolved(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
