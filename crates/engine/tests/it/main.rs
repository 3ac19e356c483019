//! The loop in process: scripted model over HTTP, tools under the test's control.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken set-up should stop the test"
)]

mod agent_knowledge;
mod agent_modes;
mod agent_moves;
mod agent_worktrees;
mod agents;
mod asks;
mod attachments;
mod background;
mod call_hooks;
mod changed_files;
mod compaction;
mod compaction_auto;
mod confinement;
mod cut_calls;
mod executor;
mod failures;
mod harness;
mod late_steering;
mod log_faults;
mod long_session;
mod mode_key;
mod permissions;
mod plan;
mod plan_files;
mod plan_reminders;
mod prefix;
mod prompt_rules;
mod recipes;
mod refused_parts;
mod replayed;
mod rewind;
mod sessions;
mod suggestions;
mod turn_hooks;
mod turns;
mod undo;
mod void_answers;
