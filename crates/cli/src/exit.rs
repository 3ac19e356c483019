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
    /// Every code with a meaning of its own, in their order.
    pub(crate) const ALL: [Self; 14] = [
        Self::Success,
        Self::Failure,
        Self::Usage,
        Self::Denied,
        Self::HookFailed,
        Self::MaxTurns,
        Self::MaxBudget,
        Self::MaxTokens,
        Self::MaxTime,
        Self::Different,
        Self::NeedsInput,
        Self::NotRun,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// What the code says, for people.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "something failed, or a value on the command line was wrong",
            Self::Usage => "unknown option",
            Self::Denied => "the work ended at a tool that was denied, or a hook ended it",
            Self::HookFailed => "a hook that was tried out failed (`tiller hooks test`)",
            Self::MaxTurns => "`--max-turns` reached",
            Self::MaxBudget => "`--max-budget-usd` reached",
            Self::MaxTokens => "`--max-tokens` reached",
            Self::MaxTime => "`--max-time` reached",
            Self::Different => "a replay differs from its recording (`tiller replay`)",
            Self::NeedsInput => "the work ended at a question that nobody was there to answer",
            Self::NotRun => "the command could not be started (`tiller sandbox run`)",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
            Self::OfCommand(_) => "as the command that was run (`tiller sandbox run`)",
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_lists_every_code() {
        let readme = include_str!("../../../README.md");
        for exit in Exit::ALL {
            let row = format!("| {} | {} |\n", exit.code(), exit.meaning());
            assert!(readme.contains(&row), "{row}");
        }
    }

    #[test]
    fn codes_come_in_their_order_and_once() {
        assert!(Exit::ALL.is_sorted_by(|one, next| one.code() < next.code()));
    }
}
