//! Tools that reach outside files, called as the engine calls them: real processes, real HTTP on loopback.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken set-up should stop the test")]

mod background;
mod bash;
mod bench;
mod definitions;
mod secret;
mod todo;
mod web;
