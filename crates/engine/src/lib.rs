//! The loop: session task, executor, journal and store.
//!
//! [`Session::start`] opens a session and runs it as one task that owns its log and its state. Front ends send commands
//! and receive events; nothing else is shared.

mod agent;
mod archive;
mod beside;
mod budget;
mod cache_watch;
mod confinement;
mod executor;
pub mod git;
mod git_hooks;
mod guarded;
mod hook;
mod host;
mod ide;
mod journal;
mod language;
mod leave;
pub mod mailbox;
mod mcp;
mod next;
mod partial;
pub mod plan;
pub mod policy;
mod recall;
mod recipe;
pub mod replay;
mod services;
mod session;
mod sight;
#[cfg(test)]
mod still;
pub mod store;
mod telemetry;
pub mod undo;
mod unfinished;
mod view;

pub use agent::{AgentLimits, agent_lines};
pub use budget::Limits;
pub use confinement::SandboxChoice;
pub use hook::{
    HookPlace, HookSettings, HookTrial, ListedHook, TrialReport, TriedHook, TriedRun, list_hooks,
    matcher_problem,
};
pub use journal::VERSION;
pub use language::{LanguageChoice, doubt_about_server};
pub use mcp::McpChoice;
pub use recipe::skill_lines;
pub use session::{
    CompactionChoice, PromptChoice, Session, Setup, Start, SteeringChoice, WorkDone, Workbench,
};
