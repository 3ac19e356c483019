//! Language servers, real ones and one that misbehaves on purpose.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken set-up should stop the test")]

mod fake;
mod fault;
mod life;
mod pylsp;
mod world;
