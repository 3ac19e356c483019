use super::*;

const TOOLS: [&str; 7] = ["Read", "Edit", "Write", "Bash", "Task", "AskUserQuestion", "ExitPlanMode"];

fn plan_mode(reminder_type: ReminderType, is_sub_agent: bool, plan_exists: bool) -> PlanMode {
    PlanMode {
        reminder_type,
        is_sub_agent,
        plan_file_path: "/home/ada/.tiller/plans/amber-weaving-harbor.md".into(),
        plan_exists,
        reader: PlanReader { tools: TOOLS.map(str::to_owned).to_vec(), counts: AgentCounts::default() },
    }
}

fn text(kind: &impl Kind) -> String {
    let rendered = kind.render();
    let [block] = rendered.blocks.as_slice() else { panic!("{rendered:?}") };
    block.as_text().unwrap()
}

// PLAN-22 PLAN-23 PLAN-26
#[test]
fn the_full_reminder() {
    insta::assert_snapshot!(text(&plan_mode(ReminderType::Full, false, false)));
}

// PLAN-24
#[test]
fn the_plan_file_is_created_or_changed() {
    let missing = text(&plan_mode(ReminderType::Full, false, false));
    let existing = text(&plan_mode(ReminderType::Full, false, true));
    assert!(missing.contains("Create it with `Write`: /home") && !missing.contains("It is there"));
    assert!(existing.contains("step by step with `Edit`") && !existing.contains("`Write`"), "{existing}");
}

// PLAN-25
#[test]
fn several_angles_are_advised_only_if_there_may_be_several_agents() {
    let one = plan_mode(ReminderType::Full, false, false);
    let counts = AgentCounts { plan: 3, explore: 5 };
    let several = PlanMode { reader: PlanReader { counts, ..one.reader.clone() }, ..one.clone() };
    assert!(!text(&one).contains("from another side"));
    let several = text(&several);
    assert!(several.contains("from another side") && several.contains("up to 3 of them"), "{several}");
    assert!(several.contains("up to 5 Explore agents"), "{several}");
}

// PLAN-27
#[test]
fn the_sparse_reminder() {
    insta::assert_snapshot!(text(&plan_mode(ReminderType::Sparse, false, true)));
}

// PLAN-21 PLAN-28
#[test]
fn a_sub_agent_gets_its_own_reminder_whatever_the_type() {
    let full = text(&plan_mode(ReminderType::Full, true, false));
    assert_eq!(full, text(&plan_mode(ReminderType::Sparse, true, false)));
    assert!(!full.contains("phases"));
    insta::assert_snapshot!(full);
}

#[test]
fn no_reminder_names_a_tool_that_is_missing() {
    for (kind, sub_agent) in
        [(ReminderType::Full, false), (ReminderType::Sparse, false), (ReminderType::Full, true)]
    {
        let mut mode = plan_mode(kind, sub_agent, true);
        mode.reader.tools = vec!["Read".to_owned(), "ExitPlanMode".to_owned()];
        let text = text(&mode);
        for tool in ["`Task`", "`AskUserQuestion`", "`Edit`", "`Write`"] {
            assert!(!text.contains(tool), "{tool} in {text}");
        }
    }
}

// PLAN-29
#[test]
fn the_text_for_coming_back() {
    let reader = plan_mode(ReminderType::Full, false, true).reader;
    insta::assert_snapshot!(text(&PlanModeReentry { plan_file_path: "/plans/a.md".into(), reader }));
}

// PLAN-30
#[test]
fn the_text_for_leaving() {
    insta::assert_snapshot!(text(&PlanModeExit { plan_file_path: "/plans/a.md".into(), plan_exists: true }));
    let without = text(&PlanModeExit { plan_file_path: "/plans/a.md".into(), plan_exists: false });
    assert!(!without.contains("/plans/a.md"), "{without}");
}

#[test]
fn the_plan_after_compaction() {
    let plan = PlanFileReference {
        plan_file_path: "/plans/a.md".into(),
        plan_content: "1. Mend the pump.".to_owned(),
    };
    insta::assert_snapshot!(text(&plan));
}

// PLAN-43
#[test]
fn the_fields_of_the_reminder() {
    let attachment =
        crate::attachment::attach(&plan_mode(ReminderType::Sparse, false, true), "plan_mode", "x");
    assert_eq!(
        attachment.attachment,
        serde_json::json!({
            "type": "plan_mode",
            "reminderType": "sparse",
            "isSubAgent": false,
            "planFilePath": "/home/ada/.tiller/plans/amber-weaving-harbor.md",
            "planExists": true,
        })
    );
}
