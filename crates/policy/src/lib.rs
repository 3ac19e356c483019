//! May this happen? A pure function from declared access to a decision.
//!
//! Tools declare what a call will touch as [`Access`] values. [`decide`] judges them against mode, rules and working
//! directories. Only this crate can make a [`Permit`], and nothing writes or spawns without one: a tool author cannot
//! forget the check.
//!
//! Invariant: no IO here. Paths arrive resolved; the same question always gets the same answer.

mod access;
mod decide;
mod permit;
mod rule;
mod shell;

pub use access::{Access, Request, Script};
pub use decide::{Context, Decision, Reason, approve, decide};
pub use permit::{NotPermitted, Permit};
pub use rule::{Rule, RuleError, Rules, split_list};
pub use shell::is_read_only as is_read_only_command;
