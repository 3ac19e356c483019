//! The loop in process: scripted model over HTTP, tools under the test's control.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken set-up should stop the test"
)]

mod agents;
mod asks;
mod attachments;
mod background;
mod call_hooks;
mod confinement;
mod executor;
mod harness;
mod mode_key;
mod permissions;
mod prefix;
mod prompt_rules;
mod sessions;
mod turn_hooks;
mod turns;
