//! Tiller end to end: the built binary against the scripted model server, with real files, processes and git.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken set-up should stop the test"
)]

mod background;
mod browser;
mod guarded;
mod harness;
mod inspect_session;
mod live;
mod replayed;

mod agents;
mod agents_command;
mod args;
mod background_agents;
mod certificates;
mod compaction;
mod compatibility;
mod config;
mod confinement;
mod control;
mod demo;
mod diagnostics;
mod doctor;
mod editors;
mod extensions;
mod faults;
mod full_disk;
mod headless_contract;
mod hooks;
mod hooks_command;
mod host_requests;
mod host_servers;
mod hostile;
mod inspect;
mod inspect_page;
mod inspect_pixels;
mod interrupt;
mod kill;
mod mcp;
mod mcp_command;
mod mcp_conformance;
mod mcp_docs;
mod mcp_hostile;
mod mcp_many;
mod mcp_official;
mod mcp_services;
mod messages;
mod network;
mod output;
mod parallel;
mod permission_prompts;
mod permission_tool;
mod permissions_command;
mod placeholders;
mod plan_hostile;
mod plan_mode;
mod planted;
mod power_cut;
mod queue;
mod reminder_tags;
mod replay;
mod requests;
mod resume;
mod rewind;
mod rewind_files;
mod sandbox_command;
mod secrets;
mod sessions_command;
mod standard_input;
mod steering;
mod stream_input;
mod structured_output;
mod telemetry;
mod terminal;
mod terminal_commands;
mod terminal_dialogs;
mod terminal_end;
mod terminal_first;
mod terminal_flood;
mod terminal_input;
mod terminal_mcp;
mod terminal_plain;
mod terminal_rewind;
mod terminal_scrollback;
mod terminal_signs;
mod terminal_tmux;
mod tools;
mod trust;
