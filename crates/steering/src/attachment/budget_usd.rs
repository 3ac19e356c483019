//! `budget_usd`: how much of the money is spent.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("budget_usd.md");

/// Dollars of the session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BudgetUsd {
    used: f64,
    total: f64,
    remaining: f64,
}

impl BudgetUsd {
    /// From the amount used and the total.
    #[must_use]
    pub fn new(used: f64, total: f64) -> Self {
        Self { used, total, remaining: (total - used).max(0.0) }
    }
}

impl Kind for BudgetUsd {
    const NAME: &'static str = "budget_usd";

    fn render(&self) -> Rendered {
        let dollars = |amount: f64| format!("${amount:.2}");
        Rendered::reminder(&fill(
            TEXT,
            &[
                ("used", &dollars(self.used)),
                ("total", &dollars(self.total)),
                ("remaining", &dollars(self.remaining)),
            ],
        ))
    }
}
