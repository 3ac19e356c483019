//! The model client against a scripted server, over real HTTP on loopback.

#![expect(clippy::unwrap_used, reason = "a broken set-up should stop the test")]

mod connection;
mod harness;
mod recording;
mod request;
mod retry;
mod setup;
mod streaming;
