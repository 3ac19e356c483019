//! `verify_plan_reminder`: holds the work against the plan that was approved.

use tiller_protocol::mode::Mode;

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{VerifyPlanReminder, attach};

/// Turns since the approval, and turns since the last reminder.
const PATIENCE: u32 = 10;
/// Reminders per plan.
const MOST: u32 = 3;

pub(super) struct VerifyPlan;

impl Source for VerifyPlan {
    const LABEL: &'static str = "verify_plan_reminder";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["verify_plan_reminder"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let facts = cx.facts;
        let plan = facts.plan.as_ref().filter(|plan| plan.exists && facts.mode != Mode::Plan);
        let Some((plan, approval)) = plan.and_then(|plan| Some((plan, plan.approval?))) else {
            return Ok(Observation::nothing());
        };
        let quiet = facts.past.turns_since("verify_plan_reminder").is_none_or(|turns| turns >= PATIENCE);
        let long_ago = approval.turns_since >= PATIENCE && quiet;
        if approval.reminders >= MOST || !(long_ago || approval.todos_completed) {
            return Ok(Observation::nothing());
        }
        let why = if approval.todos_completed {
            "the todo list of an approved plan is done".to_owned()
        } else {
            format!("a plan was approved {} answers ago", approval.turns_since)
        };
        Ok(attach(&VerifyPlanReminder { plan_file_path: plan.path.clone() }, Self::LABEL, why).into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::trial::observed;
    use super::super::{Approval, Facts, Plan};
    use super::*;
    use crate::past::Story;

    async fn is_told(approval: Approval, story: Story) -> bool {
        let plan = Plan { exists: true, approval: Some(approval), ..Plan::default() };
        let facts = Facts { plan: Some(plan), past: Arc::new(story.past), ..Facts::default() };
        let told = !observed(&VerifyPlan, &facts).await.attachments.is_empty();
        let planning = Facts { mode: Mode::Plan, ..facts };
        assert_eq!(observed(&VerifyPlan, &planning).await, Observation::nothing());
        told
    }

    #[tokio::test]
    async fn the_plan_is_recalled_after_a_while_or_when_the_list_is_done() {
        let after = |turns_since| Approval { turns_since, ..Approval::default() };
        let reminded = || Story::default().attach(json!({"type": "verify_plan_reminder"}));
        assert!(!is_told(after(9), Story::default()).await);
        assert!(is_told(after(10), Story::default()).await);
        assert!(!is_told(after(20), reminded().says(9)).await);
        assert!(is_told(after(20), reminded().says(10)).await);
        assert!(is_told(Approval { todos_completed: true, ..after(1) }, reminded()).await);
        assert!(
            !is_told(Approval { reminders: MOST, todos_completed: true, ..after(50) }, Story::default())
                .await
        );
    }
}
