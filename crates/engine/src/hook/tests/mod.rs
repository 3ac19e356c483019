//! Hooks with real commands.

mod answers;
mod asynchronous;
mod bench;
mod custody;
mod failures;
mod others;
