//! Terminals for tests: a model of one with its scrollback, and programs that run in it.

mod margin;
mod model;
mod program;
mod svg;

pub use model::{LongRows, Terminal};
pub use program::Program;
pub use svg::Colors;
