//! `token_usage`: how full the context is.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("token_usage.md");

/// Tokens of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    used: u64,
    total: u64,
    remaining: u64,
}

impl TokenUsage {
    /// From the amount used and the total.
    #[must_use]
    pub fn new(used: u64, total: u64) -> Self {
        Self { used, total, remaining: total.saturating_sub(used) }
    }
}

impl Kind for TokenUsage {
    const NAME: &'static str = "token_usage";

    fn render(&self) -> Rendered {
        let Self { used, total, remaining } = self;
        Rendered::reminder(&fill(
            TEXT,
            &[
                ("used", &used.to_string()),
                ("total", &total.to_string()),
                ("remaining", &remaining.to_string()),
            ],
        ))
    }
}
