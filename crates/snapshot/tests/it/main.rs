//! Snapshots of real directories.

#![expect(clippy::unwrap_used, reason = "a broken set-up should stop the test")]

mod watch;
mod world;

mod collect;
mod join;
mod random;
mod restore;
mod take;
