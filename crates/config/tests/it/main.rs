//! Tests of the settings with real files and processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod agents;
mod change;
mod concurrent;
mod documentation;
mod extensions;
mod layers;
mod mcp;
mod recent;
mod switches;
mod trust;
mod world;
mod write;
