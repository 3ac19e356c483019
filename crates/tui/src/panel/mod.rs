//! Views that commands open: the context, the steering ledger, help, earlier sessions, the agents at work.
//!
//! * [`ContextUse`] draws `/context`; it is made from [`tiller_protocol::ledger::Sent`] and takes no keys.
//! * [`Steering`] is `/steering`: hand it the additions that `Ledger::apply` gave out, and the ledger for its totals.
//! * [`Help`] is `/help`: keys from the table, commands from the list that the input has.
//! * [`Resume`] is the picker of sessions, with search.
//! * [`agent_tree`] draws agents below the agent that started them.
//!
//! Those that take keys answer with an outcome that says when they are to be closed.

mod agents;
mod context;
mod help;
mod list;
mod resume;
mod steering;

pub use agents::{AgentRow, AgentState, agent_tree};
pub use context::{ContextPart, ContextUse};
pub use help::Help;
pub use resume::{Resume, ResumeOutcome, SessionRow};
pub use steering::Steering;

/// What a key leads to in a view that is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelOutcome {
    /// The key was taken.
    Handled,
    /// The key means nothing here.
    Ignored,
    /// The user has seen enough.
    Closed,
}

#[cfg(test)]
mod tests;
