//! `memory`: what earlier sessions of the project were about.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("memory.md");

/// Summaries of earlier sessions, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct Memories {
    /// The summaries.
    pub entries: Vec<Memory>,
}

/// The summary of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// When it was.
    pub date: String,
    /// What it was about.
    pub text: String,
}

impl Kind for Memories {
    const NAME: &'static str = "memory";

    fn render(&self) -> Rendered {
        let told: Vec<String> =
            self.entries.iter().map(|memory| format!("{}: {}", memory.date, memory.text)).collect();
        Rendered::reminder(&fill(TEXT, &[("memories", &told.join("\n\n"))]))
    }
}
