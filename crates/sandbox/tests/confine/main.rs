//! Commands that try to get out, and builds that must not notice that they are confined.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken set-up should stop the test")]

mod attacks;
mod builds;
mod looking;
mod means;
mod programs;
mod refusals;
mod victim;
mod waiting;
mod workspace;
