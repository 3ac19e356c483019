//! Child processes in custody: started only with a permit, drained, and surely ended. Linux only.
//!
//! Between Tiller and every command stands a small supervisor process:
//!
//! ```text
//! tiller ── keeper ── supervisor (own session, subreaper) ── bash (own group) ── whatever it starts
//! ```
//!
//! A process that leaves its group, its session or its parent still ends up as a child of the supervisor, which ends
//! all of them when the command exits, when [`Child`] is dropped, or when Tiller dies in whatever way: each of these
//! closes or empties the one pipe the supervisor listens on.
//!
//! A command may be confined, see [`Confinement`]. Where namespaces work, it runs in its own, whose first process does
//! the supervisor's work inside and can neither be killed nor stopped nor traced from there:
//!
//! ```text
//! tiller ── keeper ── supervisor ─╂─ first process (own session, pid 1) ── bash ── whatever it starts
//! ```
//!
//! The shell is there before its script: it waits at a gate that its supervisor opens on Tiller's word. Where commands
//! follow each other, that wait begins when the one before has ended, see `ready`.
//!
//! Invariants: the command and its directory come from the [`Permit`] and from nowhere else. Memory for output is
//! bounded whatever a command prints. Waiting is for processes, never for the end of a pipe, which a stray
//! process could hold open. Everything between fork and exec happens in `supervisor`. Commands are forked from the
//! `keeper`, so starting one costs the same however much memory Tiller uses.

mod capture;
mod child;
mod confine;
mod confinement;
mod custody;
mod error;
mod image;
mod keeper;
mod last_words;
mod launch;
mod priority;
mod probe;
mod program;
mod ready;
mod relay;
mod report;
mod scrub;
mod stray;
mod supervisor;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tiller_policy::{Permit, Script};
use tiller_protocol::id::CallId;

use crate::confine::layer::Lease;
use crate::confine::places::Places;
use crate::confine::plan::{Plan, plan};
use crate::launch::{Order, Started, launch};
use crate::program::Program;
use crate::ready::Ready;

pub use capture::{Captured, MEMORY_PER_STREAM, SPOOL_LIMIT};
pub use child::{Child, Exit, Output, Status};
pub use confine::kept::vouch_for;
pub use confine::record::{is_placeholder, sweep};
pub use confine::repository::{git_mark, obeyed_by_git};
pub use confinement::{Confinement, Level, Network, Profile, Temporary, gaps};
pub use error::SandboxError;
pub use keeper::prepare;
pub use last_words::LastWords;
pub use launch::StdinPipe;
pub use probe::{Support, probe};
pub use scrub::is_credential;

/// What a permitted command needs besides the permit.
#[derive(Clone, Debug)]
pub struct Spawn<'a> {
    /// The call it runs for; names its files and marks its processes.
    pub call: &'a CallId,
    /// The environment. Model credentials are taken out.
    pub vars: &'a BTreeMap<String, String>,
    /// What the command reads.
    pub stdin: Stdin,
    /// Where its output goes when there is too much of it.
    pub spool: Spool,
    /// Variables that only this command gets, besides the environment.
    pub extra: &'a [(String, String)],
    /// What comes after it.
    pub successor: Successor,
}

/// Whether a command is followed by others like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// Nobody knows.
    Unknown,
    /// Probably: when it has ended, a shell is started that waits for the script of the next one.
    Likely,
}

/// What a command finds on its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: reading ends at once.
    Closed,
    /// A pipe that can be written to while the command runs.
    Pipe,
}

/// Where output is stored in full, up to [`SPOOL_LIMIT`] per stream.
#[derive(Clone, Debug)]
pub struct Spool {
    /// The directory for the files; created when needed.
    pub dir: PathBuf,
    /// When a file is begun.
    pub start: SpoolStart,
}

/// When output begins to be stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpoolStart {
    /// Only when it does not fit in memory.
    WhenFull,
    /// With the first byte, for commands whose output is read in pieces.
    AtOnce,
    /// Not at all: what does not fit in memory is lost.
    Never,
}

/// Starts the permitted command in a shell of its own, not confined. Must be called within a tokio runtime.
///
/// # Errors
/// When the permit holds no command, or the command cannot be started.
pub async fn spawn(permit: &Permit, spec: &Spawn<'_>) -> Result<Child, SandboxError> {
    spawn_confined(permit, spec, &Confinement::full()).await
}

/// Starts the permitted command in a shell of its own, confined by the strongest means there are. Must be called within
/// a tokio runtime.
///
/// # Errors
/// When the permit holds no command, or the command cannot be started or not be confined. It never runs with less
/// than what was asked for.
pub async fn spawn_confined(
    permit: &Permit,
    spec: &Spawn<'_>,
    confinement: &Confinement,
) -> Result<Child, SandboxError> {
    let script = permit.script()?;
    if confinement.profile > permit.profile() {
        return Err(SandboxError::MustBeConfined { profile: permit.profile() });
    }
    let may_change = confinement.profile == Profile::Workspace && !confinement.looking;
    if permit.profile() == Profile::Workspace && permit.lets_only_look() && may_change {
        return Err(SandboxError::MayOnlyLook);
    }
    if !script.cwd.is_dir() {
        return Err(SandboxError::NoDirectory { path: script.cwd.clone() });
    }
    let program = Program::shell(&script.cwd, spec.vars, confinement)?;
    let text = program.script(&script.command, spec.extra)?;
    let has_successor = spec.successor == Successor::Likely && spec.stdin == Stdin::Closed;
    let mut ready = if has_successor { ready::take(&program).await } else { None };
    let (level, mut plan) = plan_for(confinement, script, spec, ready.as_mut()).await?;
    let mut order = Arc::new(plan.order(program));
    if let Some(ready) = ready {
        let mark = ready.mark.clone();
        match ready.start(&order, &text, confinement.looking).await? {
            Started::Runs(launched) => {
                let successor = successor(has_successor, confinement, level, &order);
                return Child::new(launched, mark, spec, (level, plan.held), successor);
            }
            Started::Gone => {}
            Started::Stuck => {
                // Its layers cannot be used, so the plan is another one.
                plan.held.layers.take().into_iter().for_each(Lease::abandon);
                (_, plan) = plan_for(confinement, script, spec, None).await?;
                let program = Program::shell(&script.cwd, spec.vars, confinement)?;
                order = Arc::new(plan.order(program));
            }
        }
    }
    if let Some(lease) = &plan.held.layers {
        lease.make_ready(&order.layered);
    }
    let mark = program::mark(spec.call);
    let launched = launch(&order, &mark, (&script.command, &text), spec.stdin, confinement.looking).await?;
    let successor = successor(has_successor, confinement, level, &order);
    Child::new(launched, mark, spec, (level, plan.held), successor)
}

/// By what a command is held, and how that is brought about: with the layers of a shell that waits, if they fit.
async fn plan_for(
    confinement: &Confinement,
    script: &Script,
    spec: &Spawn<'_>,
    ready: Option<&mut Ready>,
) -> Result<(Level, Plan), SandboxError> {
    if confinement.profile == Profile::Full {
        return Ok((Level::None, Plan::default()));
    }
    let support = probe();
    let level = support.choose(confinement)?;
    let places = Places::new(confinement, script, spec.vars);
    let are_kept = level == Level::Namespaces && confinement.profile == Profile::Workspace;
    let lease = match places.layers.as_deref().filter(|_| are_kept) {
        None => None,
        Some(dir) => match ready.and_then(|ready| ready.take_lease(dir)) {
            None => ready::take_layers(dir).await,
            lease => lease,
        },
    };
    Ok((level, plan(confinement, level, support.landlock.unwrap_or(0), places, lease)?))
}

/// What the next shell is made of, if it may be started before its script is known.
fn successor(
    is_likely: bool,
    confinement: &Confinement,
    level: Level,
    order: &Arc<Order>,
) -> Option<Arc<Order>> {
    let may_wait = match level {
        Level::None => true,
        // Rules of Landlock alone speak of files that may have been replaced when the script comes.
        Level::Landlock => false,
        // What lies below a throw-away layer had better not change.
        Level::Namespaces => confinement.profile == Profile::Workspace,
    };
    (is_likely && may_wait && ready::may_wait(order)).then(|| Arc::clone(order))
}

/// Ends shells that wait for a script, and removes what was made to be mounted on and what no running command needs.
/// Worth calling when no more commands are expected.
pub fn tidy_up() {
    ready::release();
    confine::placeholder::tidy_up();
}

/// Waits a moment until shells that [`tidy_up`] has ended use no layers any more, so that these can be removed.
pub fn outwait_layers() {
    ready::outwait();
}
