//! The terminal front end: what a person sees of a session, and how they speak to it.
//!
//! It folds the entries and events of a session into a screen and turns keys into commands. Everything outside the
//! protocol is asked of the [`host::Host`] that the program implements.

pub mod app;
pub(crate) mod cell;
pub mod dialog;
pub mod diff;
pub mod host;
pub mod input;
pub mod keys;
pub mod markdown;
pub mod menu;
mod run;
pub mod screen;
pub mod text;
pub mod theme;
pub mod view;

pub use run::{Manner, Start, Surface, TuiError, ask_trust, choose, pick, run};
pub mod panel;
