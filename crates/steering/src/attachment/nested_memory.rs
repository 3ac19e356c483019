//! `nested_memory`: an instruction file of a directory further down.

use std::path::PathBuf;

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("nested_memory.md");

/// An instruction file that holds for a directory which work has reached.
#[derive(Clone, Debug, Serialize)]
pub struct NestedMemory {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says.
    pub content: String,
}

impl Kind for NestedMemory {
    const NAME: &'static str = "nested_memory";

    fn render(&self) -> Rendered {
        Rendered::reminder(&fill(TEXT, &[("path", &self.path.to_string_lossy()), ("content", &self.content)]))
    }
}
