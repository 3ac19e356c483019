//! `plan_mode`, `plan_mode_exit`: what the model is told of plan mode, and when.

use tiller_protocol::entry::Attachment;
use tiller_protocol::mode::Mode;

use super::{Cx, Facts, Group, Observation, Source, SourceError};
use crate::attachment::{PlanFileReference, PlanMode, PlanModeExit, PlanModeReentry, ReminderType, attach};

/// Turns between two reminders.
const DISTANCE: u32 = 5;
/// Every so many reminders of a planning phase, the first included, is a full one.
const FULL_EVERY: u32 = 3;

pub(super) struct PlanModes;

impl Source for PlanModes {
    const LABEL: &'static str = "plan_mode";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["plan_mode", "plan_mode_reentry"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let (facts, past) = (cx.facts, &cx.facts.past);
        let Some(plan) = facts.plan.as_ref().filter(|_| facts.mode == Mode::Plan) else {
            return Ok(Observation::nothing());
        };
        if past.turns_since_plan_reminder().is_some_and(|turns| turns < DISTANCE) {
            return Ok(Observation::nothing());
        }
        let mut attachments = Vec::new();
        // Only the main agent comes back: a sub-agent must not use up what is meant for it.
        if facts.plan_flags.has_exited && plan.exists && facts.agent.is_none() {
            let back = PlanModeReentry { plan_file_path: plan.path.clone(), reader: plan.reader.clone() };
            attachments.push(attach(&back, Self::LABEL, "plan mode was entered again"));
        }
        let (reminder_type, why) = match past.plan_reminders() % FULL_EVERY {
            0 => (ReminderType::Full, "plan mode is on"),
            _ => (ReminderType::Sparse, "plan mode is still on"),
        };
        let reminder = PlanMode {
            reminder_type,
            is_sub_agent: facts.agent.is_some(),
            plan_file_path: plan.path.clone(),
            plan_exists: plan.exists,
            reader: plan.reader.clone(),
        };
        attachments.push(attach(&reminder, Self::LABEL, why));
        Ok(attachments.into())
    }
}

/// What brings the plan back after compaction: the plan itself, and while planning the whole reminder.
#[must_use]
pub fn plan_after_compaction(facts: &Facts, content: Option<String>) -> Vec<Attachment> {
    const SOURCE: &str = "compaction";
    let Some(plan) = &facts.plan else { return Vec::new() };
    let file = content.map(|plan_content| {
        let file = PlanFileReference { plan_file_path: plan.path.clone(), plan_content };
        attach(&file, SOURCE, "there is a plan, and the conversation was compacted")
    });
    let reminder = (facts.mode == Mode::Plan).then(|| {
        let reminder = PlanMode {
            reminder_type: ReminderType::Full,
            is_sub_agent: facts.agent.is_some(),
            plan_file_path: plan.path.clone(),
            plan_exists: plan.exists,
            reader: plan.reader.clone(),
        };
        attach(&reminder, SOURCE, "plan mode is on, and the conversation was compacted")
    });
    file.into_iter().chain(reminder).collect()
}

pub(super) struct PlanModeExits;

impl Source for PlanModeExits {
    const LABEL: &'static str = "plan_mode_exit";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["plan_mode_exit"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let facts = cx.facts;
        let due = facts.plan_flags.exit_notice_due && facts.mode != Mode::Plan && facts.agent.is_none();
        let Some(plan) = facts.plan.as_ref().filter(|_| due) else { return Ok(Observation::nothing()) };
        let exit = PlanModeExit { plan_file_path: plan.path.clone(), plan_exists: plan.exists };
        Ok(attach(&exit, Self::LABEL, "plan mode was left").into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tiller_protocol::id::AgentId;
    use tiller_protocol::mode::PlanFlags;

    use super::super::Plan;
    use super::super::trial::observed;
    use super::*;
    use crate::past::Story;

    fn facts(mode: Mode, story: Story) -> Facts {
        let plan = Plan { path: "/plans/a.md".into(), exists: true, ..Plan::default() };
        Facts { mode, plan: Some(plan), past: Arc::new(story.past), ..Facts::default() }
    }

    async fn told(facts: &Facts) -> Vec<String> {
        let observation = observed(&PlanModes, facts).await;
        let word = |attachment: &tiller_protocol::entry::Attachment| {
            let kind = attachment.attachment["reminderType"].as_str().unwrap_or(attachment.kind());
            kind.to_owned()
        };
        observation.attachments.iter().map(word).collect()
    }

    // PLAN-31
    #[tokio::test]
    async fn outside_plan_mode_nothing_is_told() {
        for mode in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Plan) {
            assert!(told(&facts(mode, Story::default())).await.is_empty());
        }
    }

    // PLAN-32 PLAN-36
    #[tokio::test]
    async fn reminders_come_every_five_turns_each_third_in_full() {
        let mut story = Story::default().prompt();
        let mut sequence = Vec::new();
        for _ in 0..7 {
            let now = told(&facts(Mode::Plan, story.clone())).await;
            assert_eq!(now.len(), 1);
            sequence.extend(now);
            story = story.attach(json!({"type": "plan_mode"}));
            for _ in 0..4 {
                story = story.says(1).prompt();
                let quiet = facts(Mode::Plan, story.clone());
                assert!(told(&quiet).await.is_empty());
            }
            story = story.says(1);
        }
        assert_eq!(sequence, ["full", "sparse", "sparse", "full", "sparse", "sparse", "full"]);
    }

    // PLAN-39 PLAN-40 PLAN-42
    #[tokio::test]
    async fn coming_back_to_a_plan_is_told_first_and_only_to_the_main_agent() {
        let flags = PlanFlags { has_exited: true, exit_notice_due: false };
        let back = Facts { plan_flags: flags, ..facts(Mode::Plan, Story::default()) };
        assert_eq!(told(&back).await, ["plan_mode_reentry", "full"]);
        let agent = Facts { agent: Some(AgentId::from("a1")), ..back.clone() };
        assert_eq!(told(&agent).await, ["full"]);
        let missing = Facts { plan: Some(Plan::default()), ..back };
        assert_eq!(told(&missing).await, ["full"]);
    }

    // PLAN-58 PLAN-59
    #[test]
    fn compaction_brings_the_plan_back_and_while_planning_the_whole_reminder() {
        let kinds = |mode, content: Option<&str>| {
            let told = plan_after_compaction(&facts(mode, Story::default()), content.map(str::to_owned));
            let told = told.iter().map(|one| (one.kind().to_owned(), one.attachment.clone()));
            told.collect::<Vec<_>>()
        };
        assert!(kinds(Mode::Default, None).is_empty());
        let carried = kinds(Mode::Default, Some("# Plan"));
        assert_eq!(carried.len(), 1);
        let reference =
            json!({"type": "plan_file_reference", "planFilePath": "/plans/a.md", "planContent": "# Plan"});
        assert_eq!(carried[0].1, reference);
        let planning = kinds(Mode::Plan, Some("# Plan"));
        assert_eq!((planning.len(), planning[1].0.as_str()), (2, "plan_mode"));
        assert_eq!(planning[1].1["reminderType"], "full");
        assert!(plan_after_compaction(&Facts::default(), Some("# Plan".to_owned())).is_empty());
    }

    // PLAN-41 PLAN-42
    #[tokio::test]
    async fn leaving_is_told_if_it_is_due() {
        let due = PlanFlags { has_exited: true, exit_notice_due: true };
        let left = Facts { plan_flags: due, ..facts(Mode::Default, Story::default()) };
        let observation = observed(&PlanModeExits, &left).await;
        assert_eq!(observation.attachments[0].attachment["planExists"], true);
        let others = [
            Facts { mode: Mode::Plan, ..left.clone() },
            Facts { agent: Some(AgentId::from("a1")), ..left.clone() },
            facts(Mode::Default, Story::default()),
        ];
        for facts in others {
            assert_eq!(observed(&PlanModeExits, &facts).await, Observation::nothing());
        }
    }
}
