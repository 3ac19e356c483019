//! Permission modes.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How freely the agent may act without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Ask for everything that no rule covers and that is not known to be harmless.
    #[default]
    Default,
    /// File edits inside the working directories are allowed.
    AcceptEdits,
    /// Ask nothing; what is denied stays denied.
    BypassPermissions,
    /// Never ask: what would be asked is denied.
    DontAsk,
    /// Read and think; change nothing.
    Plan,
    /// Hand the work out to other agents; do none of it. Neither flag nor setting names it.
    #[schemars(skip)]
    Delegate,
}

/// Which modes the mode key leads to, beyond those it always does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// The session may be switched to asking nothing.
    pub bypass: bool,
    /// There is a team that work can be handed to.
    pub team: bool,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Default,
        Self::AcceptEdits,
        Self::BypassPermissions,
        Self::DontAsk,
        Self::Plan,
        Self::Delegate,
    ];

    /// Those that a flag or setting may name, the strictest first: planning runs nothing, also nothing that a rule
    /// allows; whoever never asks runs only that.
    pub const STRICTEST_FIRST: [Self; 5] =
        [Self::Plan, Self::DontAsk, Self::Default, Self::AcceptEdits, Self::BypassPermissions];

    /// The mode's name in flags, settings and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::BypassPermissions => "bypassPermissions",
            Self::DontAsk => "dontAsk",
            Self::Plan => "plan",
            Self::Delegate => "delegate",
        }
    }

    /// The mode after this one when the user goes through them with the mode key.
    #[must_use]
    pub fn next(self, reachable: Reachable) -> Self {
        match self {
            Self::Default => Self::AcceptEdits,
            Self::AcceptEdits => Self::Plan,
            Self::Plan if reachable.bypass => Self::BypassPermissions,
            Self::Plan | Self::BypassPermissions if reachable.team => Self::Delegate,
            Self::Plan | Self::BypassPermissions | Self::DontAsk | Self::Delegate => Self::Default,
        }
    }

    /// The stricter one of two modes.
    #[must_use]
    pub fn or_stricter(self, other: Self) -> Self {
        let rank = |mode| Self::STRICTEST_FIRST.iter().position(|known| *known == mode);
        if rank(other) < rank(self) { other } else { self }
    }

    /// The mode of agents that work for one in this mode: delegating does not restrict the agents delegated to.
    #[must_use]
    pub fn of_agents(self) -> Self {
        match self {
            Self::Delegate => Self::Default,
            same => same,
        }
    }
}

/// What the model still has to be told about plan mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanFlags {
    /// Plan mode was left, and no later planning was announced as a return to it.
    pub has_exited: bool,
    /// The model was not yet told that plan mode was left.
    pub exit_notice_due: bool,
}

impl PlanFlags {
    /// What a change of mode does to them, whatever caused it.
    #[must_use]
    pub fn after(self, from: Mode, to: Mode) -> Self {
        match (from, to) {
            _ if from == to => self,
            (Mode::Plan, _) => Self { has_exited: true, exit_notice_due: true },
            (_, Mode::Plan) => Self { exit_notice_due: false, ..self },
            _ => self,
        }
    }
}

/// What the model still has to be told about delegate mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelegateFlags {
    /// Delegate mode was left at least once.
    pub has_exited: bool,
    /// The model was not yet told that delegate mode was left.
    pub exit_notice_due: bool,
}

impl DelegateFlags {
    /// What a change of mode does to them, whatever caused it.
    #[must_use]
    pub fn after(self, from: Mode, to: Mode) -> Self {
        match (from, to) {
            _ if from == to => self,
            (Mode::Delegate, _) => Self { has_exited: true, exit_notice_due: true },
            (_, Mode::Delegate) => Self { exit_notice_due: false, ..self },
            _ => self,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why no flag or setting can name a mode like this.
#[derive(Debug, thiserror::Error)]
pub enum ModeNameError {
    /// There is no such mode.
    #[error(
        "unknown permission mode \"{0}\"; use one of default, acceptEdits, bypassPermissions, dontAsk, plan"
    )]
    Unknown(String),
    /// A session enters it while it runs, or not at all.
    #[error(
        "no option or setting can choose the permission mode \"{0}\"; type /{0} in a session at the terminal, or use one of \
         default, acceptEdits, bypassPermissions, dontAsk, plan"
    )]
    Internal(Mode),
}

impl FromStr for Mode {
    type Err = ModeNameError;

    fn from_str(text: &str) -> Result<Self, ModeNameError> {
        match Self::ALL.into_iter().find(|mode| mode.name() == text) {
            Some(mode) if Self::STRICTEST_FIRST.contains(&mode) => Ok(mode),
            Some(mode) => Err(ModeNameError::Internal(mode)),
            None => Err(ModeNameError::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // PERM-13
    #[test]
    fn the_mode_key_cycles_in_its_order() {
        let cycle = |bypass, team| {
            let mut modes = vec![Mode::Default];
            while modes.len() < 6 {
                modes.push(modes[modes.len() - 1].next(Reachable { bypass, team }));
            }
            modes
        };
        let (default, edits, plan) = (Mode::Default, Mode::AcceptEdits, Mode::Plan);
        let (bypass, delegate) = (Mode::BypassPermissions, Mode::Delegate);
        assert_eq!(cycle(false, false), [default, edits, plan, default, edits, plan]);
        assert_eq!(cycle(true, false), [default, edits, plan, bypass, default, edits]);
        assert_eq!(cycle(false, true), [default, edits, plan, delegate, default, edits]);
        assert_eq!(cycle(true, true), [default, edits, plan, bypass, delegate, default]);
        assert_eq!(Mode::DontAsk.next(Reachable { bypass: true, team: true }), default);
    }

    // PERM-14
    #[test]
    fn leaving_plan_mode_is_remembered_until_it_is_entered_again() {
        let at_first = PlanFlags::default();
        let left = PlanFlags { has_exited: true, exit_notice_due: true };
        for other in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Plan) {
            assert_eq!(at_first.after(other, Mode::Plan), at_first);
            assert_eq!(at_first.after(Mode::Plan, other), left);
            assert_eq!(left.after(other, Mode::Plan), PlanFlags { has_exited: true, exit_notice_due: false });
            assert_eq!(left.after(other, Mode::Default), left);
        }
        assert_eq!(at_first.after(Mode::Plan, Mode::Plan), at_first);
    }

    // STEER-55
    #[test]
    fn leaving_delegate_mode_sets_both_its_flags() {
        let at_first = DelegateFlags::default();
        let left = DelegateFlags { has_exited: true, exit_notice_due: true };
        for other in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Delegate) {
            assert_eq!(at_first.after(other, Mode::Delegate), at_first);
            assert_eq!(at_first.after(Mode::Delegate, other), left);
            let again = DelegateFlags { has_exited: true, exit_notice_due: false };
            assert_eq!(left.after(other, Mode::Delegate), again);
        }
        assert_eq!(at_first.after(Mode::Delegate, Mode::Delegate), at_first);
    }

    // PERM-01
    #[test]
    fn five_modes_can_be_named() {
        for mode in Mode::STRICTEST_FIRST {
            assert_eq!(mode.name().parse::<Mode>().unwrap(), mode);
        }
        for other in ["Plan", "auto", ""] {
            assert!(matches!(other.parse::<Mode>(), Err(ModeNameError::Unknown(_))), "{other}");
        }
        let refused = "delegate".parse::<Mode>().unwrap_err().to_string();
        assert!(refused.contains("/delegate") && refused.contains("dontAsk"), "{refused}");
    }

    // PERM-19
    #[test]
    fn of_two_modes_the_stricter_one_is_found() {
        for mode in Mode::STRICTEST_FIRST {
            assert_eq!(
                (mode.or_stricter(Mode::Plan), Mode::Plan.or_stricter(mode)),
                (Mode::Plan, Mode::Plan)
            );
            assert_eq!(Mode::BypassPermissions.or_stricter(mode), mode);
            assert_eq!(mode.or_stricter(Mode::BypassPermissions), mode);
        }
        assert_eq!(Mode::Default.or_stricter(Mode::AcceptEdits), Mode::Default);
        assert_eq!(Mode::Default.or_stricter(Mode::DontAsk), Mode::DontAsk);
    }

    #[test]
    fn whoever_hands_work_out_keeps_nobody_from_doing_it() {
        assert_eq!(Mode::Delegate.of_agents(), Mode::Default);
        assert_eq!(Mode::Plan.of_agents(), Mode::Plan);
    }
}
