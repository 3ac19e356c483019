//! Terminals for tests: a model of one with its scrollback, and programs that run in it.

mod margin;
mod model;
mod program;

pub use model::{LongRows, Terminal};
pub use program::Program;
