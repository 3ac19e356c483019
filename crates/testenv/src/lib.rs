//! What tests need from outside and `cargo xtask setup` gets: where it is. Without dependencies, so that the set-up is
//! built in a moment.

#![expect(clippy::expect_used, reason = "test support: a broken set-up should stop the test")]

mod browser;
mod npm;
mod python;

pub use self::{
    browser::{browser, find_browser},
    npm::{node, npm_program},
    python::python,
};
