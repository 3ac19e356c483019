//! Exit codes, each with one meaning.

use std::process::ExitCode;

use tiller_protocol::entry::Outcome;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Success = 0,
    /// Something failed, or a value was wrong.
    Failure = 1,
    /// An option does not exist.
    Usage = 2,
    /// The work ended at a tool that was denied, or at a hook that said no.
    Denied = 3,
    /// The limit on model requests was reached.
    MaxTurns = 5,
    /// The spending limit was reached.
    MaxBudget = 6,
    /// Interrupted by the user.
    Interrupted = 130,
    /// Ended from outside.
    Terminated = 143,
}

impl Exit {
    /// The code of a finished turn.
    pub(crate) fn of(outcome: &Outcome, ended_at_denial: bool) -> Self {
        match outcome {
            Outcome::Success if ended_at_denial => Self::Denied,
            Outcome::Success => Self::Success,
            Outcome::MaxTurns => Self::MaxTurns,
            Outcome::MaxBudget => Self::MaxBudget,
            Outcome::Interrupted | Outcome::ToolRejected => Self::Interrupted,
            Outcome::HookStopped { .. } => Self::Denied,
            Outcome::Error { .. } | Outcome::Refused { .. } => Self::Failure,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
