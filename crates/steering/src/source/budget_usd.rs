//! `budget_usd`: how much of the money is spent.

use super::{Cx, Group, Observation, Source, SourceError, Spending};
use crate::attachment::{BudgetUsd, attach};

pub(super) struct Budgets;

impl Source for Budgets {
    const LABEL: &'static str = "budget_usd";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["budget_usd"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let told = |Spending { spent, limit }| {
            attach(&BudgetUsd::new(spent, limit), Self::LABEL, "there is a spending limit")
        };
        Ok(cx.facts.spending.map(told).into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::trial::observed;
    use super::*;

    // STEER-44
    #[tokio::test]
    async fn spending_is_told_under_a_limit() {
        let facts = Facts { spending: Some(Spending { spent: 0.5, limit: 2.0 }), ..Facts::default() };
        let observation = observed(&Budgets, &facts).await;
        let expected = serde_json::json!({"type": "budget_usd", "used": 0.5, "total": 2.0, "remaining": 1.5});
        assert_eq!(observation.attachments[0].attachment, expected);
        assert_eq!(observed(&Budgets, &Facts::default()).await, Observation::nothing());
    }
}
