//! May this happen? A pure function from declared access to a decision.
//!
//! Tools declare what a call will touch as [`Access`] values. [`decide`] judges them against mode, rules and working
//! directories. Only this crate can make a [`Permit`], and nothing writes or spawns without one: a tool author cannot
//! forget the check.
//!
//! Shell text is read as a syntax tree. Every command in it is judged, those inside wrappers, substitutions and nested
//! scripts included; what is not understood is never allowed by itself.
//!
//! A denied read holds for every way of reading. Naming a denied file in a tool or a command is denied. A directory
//! above it may be searched by tools, whose [`Permit::excludes`] names what they must leave out; a command that reads
//! everything below a directory has to be asked for.
//!
//! Invariant: no IO here. Paths arrive resolved or are resolved by the [`Resolver`] of the [`Context`]; the same
//! question always gets the same answer.

mod access;
mod context;
mod decide;
mod explain;
mod glob;
mod grant;
mod holding;
mod own_view;
mod path;
mod permit;
mod prompt;
mod rule;
mod shell;
mod suggest;
mod update;

pub use access::{Access, Request, Script};
pub use context::Context;
pub use decide::{Decision, Reason, answer_for_user, approve, decide, leave, vouch};
pub use explain::{ExplainedPart, Explanation, explain};
pub use grant::{end_grants, grant, refusals, without_grants};
pub use holding::{Holding, Kernel, Profile};
pub use path::{Place, Resolver};
pub use permit::{NotPermitted, Permit, Release};
pub use prompt::{Confidence, Finding, Found, Question, open_question};
pub use rule::pattern::Search;
pub use rule::{Behavior, Origin, Rule, RuleError, Rules, Source, split_list};
pub use shell::is_read_only as is_read_only_command;
pub use suggest::{newly_covered, suggest};
pub use tiller_protocol::permission::{Destination, RuleValue, Update};
pub use update::{UpdateError, apply};
