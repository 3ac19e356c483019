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
//! Invariants: the command and its directory come from the [`Permit`] and from nowhere else. Memory for output is
//! bounded whatever a command prints. Waiting is for processes, never for the end of a pipe, which a stray
//! process could hold open. Everything between fork and exec happens in `supervisor`. Commands are forked from the
//! `keeper`, so starting one costs the same however much memory Tiller uses.

mod capture;
mod child;
mod error;
mod image;
mod keeper;
mod launch;
mod program;
mod report;
mod stray;
mod supervisor;

use std::collections::BTreeMap;
use std::path::PathBuf;

use tiller_policy::Permit;
use tiller_protocol::id::CallId;

pub use capture::{Captured, MEMORY_PER_STREAM, SPOOL_LIMIT};
pub use child::{Child, Exit, Output, Status};
pub use error::SandboxError;
pub use keeper::prepare;
pub use launch::StdinPipe;

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
}

/// Starts the permitted command in a shell of its own. Must be called within a tokio runtime.
///
/// # Errors
/// When the permit holds no command, or the command cannot be started.
pub fn spawn(permit: &Permit, spec: &Spawn<'_>) -> Result<Child, SandboxError> {
    let script = permit.script()?;
    if !script.cwd.is_dir() {
        return Err(SandboxError::NoDirectory { path: script.cwd.clone() });
    }
    let mark = program::mark(spec.call);
    let program = program::Program::shell(script, spec.vars, &mark)?;
    let launched = launch::launch(&program, spec.stdin)?;
    Child::new(launched, mark, spec)
}
