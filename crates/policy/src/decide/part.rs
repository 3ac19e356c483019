//! The parts of a call, each with its own verdict.

use super::Reason;
use crate::rule::Behavior;

/// One thing that a call would do, and what is thought of it.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// What it is, as the user would say it.
    pub(crate) what: String,
    pub(crate) verdict: Behavior,
    pub(crate) reason: Reason,
    /// How firmly a question has to be asked.
    pub(crate) insists: Insists,
}

/// How firmly a part asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Insists {
    /// Unless something allows it.
    Weakly,
    /// Even if the whole tool is allowed.
    Strongly,
    /// In every mode: the user's rule says so.
    Always,
}

impl Part {
    pub(crate) fn allow(what: &str, reason: Reason) -> Self {
        Self { what: what.to_owned(), verdict: Behavior::Allow, reason, insists: Insists::Weakly }
    }

    pub(crate) fn deny(what: &str, reason: Reason) -> Self {
        Self { what: what.to_owned(), verdict: Behavior::Deny, reason, insists: Insists::Always }
    }

    pub(crate) fn ask(what: &str, reason: Reason) -> Self {
        let insists = match reason {
            Reason::Guarded { .. } | Reason::MayRead { .. } => Insists::Strongly,
            _ => Insists::Weakly,
        };
        Self { what: what.to_owned(), verdict: Behavior::Ask, reason, insists }
    }

    pub(crate) fn ask_by_rule(what: &str, reason: Reason) -> Self {
        Self { insists: Insists::Always, ..Self::ask(what, reason) }
    }
}
