//! The terminal front end: what a person sees of a session, and how they speak to it.
//!
//! It folds the entries and events of a session into a screen and turns keys into commands. Everything outside the
//! protocol is asked of the [`host::Host`] that the program implements.

pub mod app;
pub(crate) mod cell;
pub mod diff;
pub mod host;
pub mod markdown;
mod run;
pub mod screen;
pub mod text;
pub mod theme;
pub mod view;
pub mod input;
pub mod keys;
pub mod menu;
pub mod dialog;

pub use run::{Manner, Start, Surface, TuiError, ask_trust, choose, run};
pub mod panel;
