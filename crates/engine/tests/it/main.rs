//! The loop in process: scripted model over HTTP, tools under the test's control.

mod asks;
mod executor;
mod harness;
mod sessions;
mod turns;
