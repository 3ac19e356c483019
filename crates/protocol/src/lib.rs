//! The words every part of Tiller shares: entries, state, commands, events, asks, effects.
//!
//! A session is an append-only list of [`entry::Entry`] values; [`state::State`] is their fold. This crate does no IO,
//! reads no clock and starts no task.

pub mod ask;
pub mod block;
pub mod branch;
pub mod command;
pub mod compaction;
pub mod effect;
pub mod entry;
pub mod env;
pub mod forgery;
pub mod form;
pub mod hook;
pub mod host;
pub mod id;
pub mod ingredients;
pub mod ledger;
pub mod line;
pub mod mask;
pub mod mcp;
pub mod messages;
pub mod mode;
pub mod pdf;
pub mod permission;
pub mod rewind;
pub mod state;
pub mod template;
pub mod tool;
pub mod usage;
