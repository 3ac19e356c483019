//! Plan mode from entering it to the user's word on the plan.

use serde_json::{Value, json};
use tiller_engine::Setup;
use tiller_protocol::ask::{Answer, Ask, PlanAsk, Then};
use tiller_protocol::command::{Command, Event};
use tiller_protocol::effect::{Effect, PlanMoment};
use tiller_protocol::entry::{Body, Cause, Outcome};
use tiller_protocol::id::AskId;
use tiller_protocol::mode::{Mode, PlanFlags};
use tiller_protocol::permission::Update;
use tiller_protocol::state::State;
use tiller_testkit::Reply;
use tiller_tools::{TodoWrite, file_tools, plan_tools};

use crate::harness::{Lab, Watch};
use crate::mode_key::Measurements;

pub(crate) const PLAN: &str = "# Plan\n\nChange `a.rs`. Run the tests.\n";

/// A session with a user, in plan mode, with the tools for it.
pub(crate) fn planning(lab: &Lab) -> Setup {
    let setup = lab.setup();
    Setup {
        registry: plan_tools(file_tools(setup.registry.clone())).with(TodoWrite),
        mode: Some(Mode::Plan),
        interactive: true,
        bypass_available: false,
        ..setup
    }
}

/// The plan file of the session whose events these are.
pub(crate) fn plan_file(lab: &Lab, watch: &Watch) -> std::path::PathBuf {
    let slug = state(watch).plan_slug.unwrap();
    fs_err::canonicalize(lab.config_dir()).unwrap().join("plans").join(format!("{slug}.md"))
}

pub(crate) fn state(watch: &Watch) -> State {
    let mut state = watch.session.history.clone();
    watch.entries().iter().for_each(|entry| state.apply(entry));
    state
}

async fn asked(watch: &mut Watch) -> (AskId, Ask) {
    watch.until(|event| matches!(event, Event::Asked(..))).await;
    match watch.seen.last() {
        Some(Event::Asked(id, ask)) => (*id, ask.clone()),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn asked_for_plan(watch: &mut Watch) -> (AskId, PlanAsk) {
    match asked(watch).await {
        (id, Ask::Plan(ask)) => (id, ask),
        other => panic!("{other:?}"),
    }
}

/// A turn that stops at the question about a plan; `input` is that of `ExitPlanMode`.
async fn handing_over(lab: &Lab, setup: Setup, input: Value) -> (Watch, AskId, PlanAsk) {
    lab.server.reply(Reply::text("I look around."));
    let mut watch = lab.turn(setup, "plan it").await;
    fs_err::write(plan_file(lab, &watch), PLAN).unwrap();
    lab.server.reply(Reply::new().tool_with_id("exit", "ExitPlanMode", input));
    watch.send(Command::Submit(tiller_protocol::command::UserInput::text("go on"))).await;
    let (id, ask) = asked_for_plan(&mut watch).await;
    (watch, id, ask)
}

fn yes(mode: Mode, seen: &str) -> Answer {
    Answer::Plan { mode, plan: seen.to_owned() }
}

fn updates(watch: &Watch) -> Vec<Vec<Update>> {
    let update = |entry: &std::sync::Arc<tiller_protocol::entry::Entry>| match &entry.body {
        Body::Effect(Effect::Permissions { updates }) => Some(updates.clone()),
        _ => None,
    };
    watch.entries().iter().filter_map(update).collect()
}

pub(crate) fn moments(watch: &Watch) -> Vec<(PlanMoment, String)> {
    let kept = |entry: &std::sync::Arc<tiller_protocol::entry::Entry>| match &entry.body {
        Body::Effect(Effect::PlanKept(version)) => Some((version.moment, version.content.clone())),
        _ => None,
    };
    watch.entries().iter().filter_map(kept).collect()
}

// PLAN-16, PLAN-17, PLAN-18, PLAN-52, PLAN-62, PLAN-03
#[tokio::test]
async fn every_approval_leads_to_its_mode() {
    Measurements::begin();
    for (chosen, outcome) in [
        (Mode::BypassPermissions, "yes-bypass-permissions"),
        (Mode::AcceptEdits, "yes-accept-edits"),
        (Mode::Default, "yes-default"),
    ] {
        let lab = Lab::new();
        let input = json!({"allowedPrompts": [{"tool": "Bash", "prompt": " run the tests "}]});
        let setup = Setup { bypass_available: true, ..planning(&lab) };
        let (mut watch, id, ask) = handing_over(&lab, setup, input).await;
        assert_eq!(ask.modes, [Mode::BypassPermissions, Mode::AcceptEdits, Mode::Default]);
        assert_eq!((ask.plan.as_str(), ask.path.clone()), (PLAN, plan_file(&lab, &watch)));
        lab.server.reply(Reply::text("done"));
        watch.send(Command::Answer(id, yes(chosen, PLAN))).await;
        watch.until_turn_ends().await;
        let after = state(&watch);
        assert_eq!(after.mode, chosen);
        assert_eq!(after.plan, PlanFlags { has_exited: true, exit_notice_due: false });
        let expected = json!([[
            {"type": "setMode", "mode": chosen, "destination": "session"},
            {"type": "addRules", "behavior": "allow", "destination": "session",
             "rules": [{"toolName": "Bash", "ruleContent": "prompt: run the tests"}]},
        ]]);
        assert_eq!(serde_json::to_value(updates(&watch)).unwrap(), expected);
        let result = watch.result("exit");
        assert!(result.text().ends_with(PLAN) && result.text().contains("todo list"), "{}", result.text());
        assert_eq!(result.detail, json!({"plan": PLAN, "isAgent": false, "filePath": ask.path}));
        assert_eq!(moments(&watch), [(PlanMoment::Approved, PLAN.to_owned())]);
        assert_eq!(Measurements::last("planLengthChars"), Some(PLAN.chars().count().to_string()));
        assert_eq!(Measurements::last("outcome"), Some(format!("{outcome:?}")));
        // The model is told of the end of plan mode once, with its next request.
        let told = watch.sketch().iter().filter(|line| *line == "attachment plan_mode_exit").count();
        assert_eq!(told, 1);
        lab.server.assert_clean();
    }
}

// PLAN-16, PLAN-53
#[tokio::test]
async fn bypass_is_offered_and_taken_only_where_it_is_available() {
    let lab = Lab::new();
    let (mut watch, id, ask) = handing_over(&lab, planning(&lab), json!({})).await;
    assert_eq!(ask.modes, [Mode::AcceptEdits, Mode::Default]);
    lab.server.reply(Reply::text("done"));
    watch.send(Command::Answer(id, yes(Mode::BypassPermissions, PLAN))).await;
    watch.until_turn_ends().await;
    assert_eq!(state(&watch).mode, Mode::Default);
    assert_eq!(
        serde_json::to_value(updates(&watch)).unwrap(),
        json!([[{"type": "setMode", "mode": "default", "destination": "session"}]])
    );
    assert!(watch.sketch().contains(&"notice permission_update".to_owned()));
    lab.server.assert_clean();
}

// PLAN-63: the user may change the plan before deciding; that is what is approved, kept and told.
#[tokio::test]
async fn what_the_user_made_of_the_plan_is_what_is_approved() {
    let lab = Lab::new();
    let (mut watch, id, ask) = handing_over(&lab, planning(&lab), json!({})).await;
    fs_err::write(&ask.path, "# Better plan").unwrap();
    lab.server.reply(Reply::text("done"));
    watch.send(Command::Answer(id, yes(Mode::Default, "# Better plan"))).await;
    watch.until_turn_ends().await;
    let text = watch.result("exit").text();
    assert!(text.contains("The user changed the plan") && text.ends_with("# Better plan"), "{text}");
    assert_eq!(moments(&watch), [(PlanMoment::Approved, "# Better plan".to_owned())]);
    lab.server.assert_clean();
}

// PLAN-63: a yes is for the plan that was shown. Whatever else the file holds by then is shown first.
#[tokio::test]
async fn a_plan_that_changed_after_it_was_shown_is_shown_again() {
    let lab = Lab::new();
    let (mut watch, id, ask) = handing_over(&lab, planning(&lab), json!({})).await;
    fs_err::write(&ask.path, "# Another plan").unwrap();
    watch.send(Command::Answer(id, yes(Mode::AcceptEdits, PLAN))).await;
    let (id, ask) = asked_for_plan(&mut watch).await;
    assert_eq!((ask.plan.as_str(), state(&watch).mode), ("# Another plan", Mode::Plan));
    assert!(watch.sketch().contains(&"notice plan_changed".to_owned()));
    assert_eq!((updates(&watch).len(), moments(&watch).len()), (0, 0));
    lab.server.reply(Reply::text("done"));
    watch.send(Command::Answer(id, yes(Mode::Default, "# Another plan"))).await;
    watch.until_turn_ends().await;
    assert_eq!(state(&watch).mode, Mode::Default);
    assert_eq!(moments(&watch), [(PlanMoment::Approved, "# Another plan".to_owned())]);
    lab.server.assert_clean();
}

// A plan that is gone when the answer comes is not approved.
#[tokio::test]
async fn nothing_is_approved_that_is_not_there() {
    for gone in [true, false] {
        let lab = Lab::new();
        let (mut watch, id, ask) = handing_over(&lab, planning(&lab), json!({})).await;
        fs_err::remove_file(&ask.path).unwrap();
        if !gone {
            fs_err::write(&ask.path, "\n").unwrap();
        }
        lab.server.reply(Reply::text("oh"));
        watch.send(Command::Answer(id, yes(Mode::AcceptEdits, PLAN))).await;
        watch.until_turn_ends().await;
        assert!(watch.result("exit").is_error);
        assert_eq!(state(&watch).mode, Mode::Plan);
        lab.server.assert_clean();
    }
}

// PLAN-17, PLAN-19
#[tokio::test]
async fn a_refusal_keeps_planning_and_its_words_reach_the_model() {
    let lab = Lab::new();
    let (mut watch, id, _) = handing_over(&lab, planning(&lab), json!({})).await;
    lab.server.reply(Reply::text("I revise it."));
    let feedback = Some("mention the tests".to_owned());
    watch.send(Command::Answer(id, Answer::Refuse { feedback, then: Then::GoOn })).await;
    watch.until_turn_ends().await;
    let result = watch.result("exit");
    assert!(result.is_error && result.text().contains("mention the tests"), "{}", result.text());
    assert!(result.text().contains("Revise the plan"));
    assert_eq!((watch.outcome(), state(&watch).mode), (Outcome::Success, Mode::Plan));
    assert_eq!(moments(&watch), [(PlanMoment::Refused, PLAN.to_owned())]);
    assert!(updates(&watch).is_empty());
    lab.server.assert_clean();

    let lab = Lab::new();
    let (mut watch, id, _) = handing_over(&lab, planning(&lab), json!({})).await;
    watch.send(Command::Answer(id, Answer::Refuse { feedback: None, then: Then::EndTurn })).await;
    watch.until_turn_ends().await;
    assert_eq!((watch.outcome(), state(&watch).mode), (Outcome::ToolRejected, Mode::Plan));
    lab.server.assert_clean();
}

// PLAN-20, HEAD-02
#[tokio::test]
async fn without_a_user_the_plan_is_the_end_of_the_turn() {
    let lab = Lab::new();
    let setup = Setup { interactive: false, ..planning(&lab) };
    lab.server.reply(Reply::text("I look around."));
    let mut watch = lab.turn(setup, "plan it").await;
    let path = plan_file(&lab, &watch);
    fs_err::write(&path, PLAN).unwrap();
    lab.server.reply(Reply::new().tool_with_id("ask", "AskUserQuestion", question()).tool_with_id(
        "enter",
        "EnterPlanMode",
        json!({}),
    ));
    lab.server.reply(Reply::new().tool_with_id("exit", "ExitPlanMode", json!({})));
    watch.send(Command::Submit(tiller_protocol::command::UserInput::text("go on"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::PlanHandedOver { plan: PLAN.to_owned(), path });
    assert_eq!(state(&watch).mode, Mode::Plan);
    assert!(!watch.result("exit").is_error);
    assert!(watch.result("ask").text().contains("nobody can be asked"));
    assert_eq!(moments(&watch), [(PlanMoment::HandedOver, PLAN.to_owned())]);
    lab.server.assert_clean();
}

// The approval of one plan does not cover the next.
#[tokio::test]
async fn two_plans_of_one_response_are_two_questions() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("I look around."));
    let mut watch = lab.turn(planning(&lab), "plan it").await;
    fs_err::write(plan_file(&lab, &watch), PLAN).unwrap();
    lab.server.reply(Reply::new().tool_with_id("one", "ExitPlanMode", json!({})).tool_with_id(
        "two",
        "ExitPlanMode",
        json!({"allowedPrompts": [{"tool": "Bash", "prompt": "anything"}]}),
    ));
    watch.send(Command::Submit(tiller_protocol::command::UserInput::text("go on"))).await;
    let (id, ask) = asked_for_plan(&mut watch).await;
    lab.server.reply(Reply::text("done"));
    watch.until_answered().await;
    watch.send(Command::Answer(id, yes(Mode::Default, PLAN))).await;
    watch.until_turn_ends().await;
    let (first, second) = if ask.call.as_str() == "one" { ("one", "two") } else { ("two", "one") };
    assert!(!watch.result(first).is_error);
    let refused = watch.result(second);
    assert!(refused.is_error && refused.text().contains("Plan mode is not on"), "{}", refused.text());
    assert_eq!(watch.seen.iter().filter(|event| matches!(event, Event::Asked(..))).count(), 1);
    assert_eq!(updates(&watch).len(), 1);
    lab.server.assert_clean();
}

// EXEC-37: whoever has not written a plan is not let through to the user.
#[tokio::test]
async fn a_plan_that_is_not_written_is_not_put_to_the_user() {
    let lab = Lab::new();
    lab.server
        .replies([Reply::new().tool_with_id("exit", "ExitPlanMode", json!({})), Reply::text("I forgot.")]);
    let watch = lab.turn(planning(&lab), "plan it").await;
    let result = watch.result("exit");
    let path = plan_file(&lab, &watch).display().to_string();
    assert!(result.is_error && result.text().contains(&path), "{}", result.text());
    assert!(!watch.seen.iter().any(|event| matches!(event, Event::Asked(..))));
    lab.server.assert_clean();
}

// PLAN-05, PLAN-06, EXEC-35
#[tokio::test]
async fn plan_mode_is_entered_if_the_user_agrees() {
    for agrees in [true, false] {
        let lab = Lab::new();
        let setup = Setup { mode: Some(Mode::Default), ..planning(&lab) };
        lab.server.reply(Reply::new().tool_with_id("enter", "EnterPlanMode", json!({})));
        let mut watch = lab.begin(setup, "a big thing").await;
        let (id, Ask::Permission(ask)) = asked(&mut watch).await else { panic!("another question") };
        for said in ["Enter plan mode?", "explore", "patterns", "strategy", "approval", "No code is changed"]
        {
            assert!(ask.reason.contains(said), "{said}: {}", ask.reason);
        }
        lab.server.replies([
            Reply::new().tool_with_id("again", "EnterPlanMode", json!({})).tool_with_id(
                "probe",
                "Probe",
                json!({"say": "written", "writes": lab.project().join("f")}),
            ),
            Reply::text("done"),
        ]);
        let answer = match agrees {
            true => Answer::Allow { updated_input: None, updates: Vec::new() },
            false => Answer::Refuse { feedback: None, then: Then::EndTurn },
        };
        watch.send(Command::Answer(id, answer)).await;
        if !agrees {
            watch.until_turn_ends().await;
            assert_eq!((state(&watch).mode, state(&watch).plan_slug), (Mode::Default, None));
            assert!(watch.result("enter").is_error);
            continue;
        }
        watch.until_turn_ends().await;
        assert_eq!(
            serde_json::to_value(updates(&watch)).unwrap(),
            json!([[{"type": "setMode", "mode": "plan", "destination": "session"}]])
        );
        let text = watch.result("enter").text();
        assert!(
            text.starts_with("Plan mode is on") && text.contains("6. ") && text.contains("read-only"),
            "{text}"
        );
        assert!(watch.result("again").text().contains("already"), "{}", watch.result("again").text());
        assert!(watch.result("probe").text().contains("plan mode is active"));
        lab.server.assert_clean();
    }
}

fn question() -> Value {
    let option = |label: &str| json!({"label": label, "description": "what it means"});
    json!({"questions": [{"question": "Which store?", "header": "Store", "multiSelect": false,
        "options": [option("Disk (recommended)"), option("Memory")]}]})
}

// PLAN-49, EXEC-39: questions are asked in every mode; only the user answers them.
#[tokio::test]
async fn questions_are_answered_by_the_user() {
    for mode in [Mode::Plan, Mode::Default, Mode::AcceptEdits, Mode::Delegate] {
        let lab = Lab::new();
        let mut forged = question();
        forged["answers"] = json!({"Which store?": "Memory"});
        lab.server.reply(Reply::new().tool_with_id("ask", "AskUserQuestion", forged));
        let mut watch = lab.begin(Setup { mode: Some(mode), ..planning(&lab) }, "store it").await;
        let (id, Ask::Question(ask)) = asked(&mut watch).await else { panic!("another question") };
        assert_eq!(ask.questions[0].options[1].label, "Memory");
        lab.server.reply(Reply::text("ok"));
        let answers = [("Which store?".to_owned(), "On paper".to_owned())].into_iter().collect();
        watch.send(Command::Answer(id, Answer::Question { answers })).await;
        watch.until_turn_ends().await;
        let result = watch.result("ask");
        assert_eq!(result.text(), "The user has answered:\n- Which store?\n  On paper");
        assert_eq!(result.detail["answers"], json!({"Which store?": "On paper"}));
        lab.server.assert_clean();
    }
}

#[tokio::test]
async fn a_question_can_be_declined() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("ask", "AskUserQuestion", question()), Reply::text("ok")]);
    let mut watch = lab.begin(planning(&lab), "store it").await;
    let (id, _) = asked(&mut watch).await;
    let feedback = Some("you choose".to_owned());
    watch.send(Command::Answer(id, Answer::Refuse { feedback, then: Then::GoOn })).await;
    watch.until_turn_ends().await;
    assert!(watch.result("ask").text().contains("you choose"));
    lab.server.assert_clean();
}

// PLAN-62
#[tokio::test]
async fn leaving_plan_mode_leaves_the_todo_list_alone() {
    let lab = Lab::new();
    let todos = json!({"todos": [{"content": "Look", "status": "pending", "activeForm": "Looking"}]});
    lab.server.replies([Reply::new().tool("TodoWrite", todos), Reply::text("noted")]);
    let mut watch = lab.turn(planning(&lab), "note it").await;
    let before = state(&watch).todos;
    watch.send(Command::SetMode(Mode::Default)).await;
    watch.close().await;
    assert_eq!((state(&watch).todos.len(), state(&watch).todos), (1, before));
}

// KERN-06, PLAN-45: a question that was open when plan mode began is answered under plan mode.
#[tokio::test]
async fn a_yes_from_before_does_not_count_in_plan_mode() {
    let lab = Lab::new();
    let write = json!({"say": "written", "writes": lab.project().join("f")});
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", write), Reply::text("ok")]);
    let mut watch = lab.begin(Setup { mode: Some(Mode::Default), ..planning(&lab) }, "write").await;
    let (id, _) = asked(&mut watch).await;
    watch.send(Command::SetMode(Mode::Plan)).await;
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: Vec::new() })).await;
    watch.until_turn_ends().await;
    assert!(watch.result("a").text().contains("plan mode is active"), "{}", watch.result("a").text());
    lab.server.assert_clean();
}

// An interrupt takes the question about a plan back, and nothing is changed.
#[tokio::test]
async fn an_interrupt_withdraws_the_plan() {
    let lab = Lab::new();
    let (mut watch, id, _) = handing_over(&lab, planning(&lab), json!({})).await;
    watch.send(Command::Interrupt).await;
    watch.until(|event| matches!(event, Event::Resolved(resolved) if *resolved == id)).await;
    watch.until_turn_ends().await;
    assert_eq!((watch.result("exit").cause, state(&watch).mode), (Cause::Interrupted, Mode::Plan));
    lab.server.assert_clean();
}
