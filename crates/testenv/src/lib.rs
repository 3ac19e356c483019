//! What tests need of the machine: where the programs are that `cargo xtask setup` gets, which processes run, and
//! patience. Almost without dependencies, so that the set-up is built in a moment.

#![expect(clippy::expect_used, reason = "test support: a broken set-up should stop the test")]

mod browser;
mod npm;
mod process;
mod python;
mod tmux;
mod wait;

pub use self::{
    browser::{browser, find_browser},
    npm::{node, npm_program},
    process::{processes_with, write_program},
    python::python,
    tmux::{find_tmux, tmux},
    wait::{eventually, eventually_beside},
};
