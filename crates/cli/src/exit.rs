//! Exit codes, each with one meaning.

use std::process::ExitCode;

use tiller_protocol::entry::Outcome;

use crate::headless::Halt;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Success,
    /// Something failed, or a value was wrong.
    Failure,
    /// An option does not exist.
    Usage,
    /// The work ended at a tool that was denied, or at a hook that said no.
    Denied,
    /// A hook that was tried out failed.
    HookFailed,
    /// The limit on model requests was reached.
    MaxTurns,
    /// The spending limit was reached.
    MaxBudget,
    /// The limit on tokens was reached.
    MaxTokens,
    /// The limit on time was reached.
    MaxTime,
    /// The work ended at a question that nobody was there to answer.
    NeedsInput,
    /// A replay differs from its recording.
    Different,
    /// Interrupted by the user.
    Interrupted,
    /// Ended from outside.
    Terminated,
    /// A command that was to be tried out was not run.
    NotRun,
    /// As the command that was tried out.
    OfCommand(u8),
}

impl Exit {
    /// The code of a finished turn.
    pub(crate) fn of(outcome: &Outcome, halt: Option<Halt>) -> Self {
        match outcome {
            Outcome::Success => match halt {
                None => Self::Success,
                Some(Halt::Denied) => Self::Denied,
                Some(Halt::Unanswered) => Self::NeedsInput,
            },
            Outcome::PlanHandedOver { .. } => Self::Success,
            Outcome::MaxTurns => Self::MaxTurns,
            Outcome::MaxBudget => Self::MaxBudget,
            Outcome::MaxTokens => Self::MaxTokens,
            Outcome::MaxTime => Self::MaxTime,
            Outcome::Interrupted | Outcome::ToolRejected => Self::Interrupted,
            Outcome::HookStopped { .. } => Self::Denied,
            Outcome::Error { .. } | Outcome::Refused { .. } | Outcome::Unstructured { .. } => Self::Failure,
        }
    }

    /// The number that the caller sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::HookFailed => 4,
            Self::MaxTurns => 5,
            Self::MaxBudget => 6,
            Self::MaxTokens => 7,
            Self::MaxTime => 8,
            Self::Different => 9,
            Self::NeedsInput => 10,
            Self::NotRun => 125,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::OfCommand(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
