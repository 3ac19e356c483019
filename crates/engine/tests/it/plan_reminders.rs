//! What the model is told of plan mode over a long session, and of the plan it has carried out.

use serde_json::json;
use tiller_engine::Setup;
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Attachment, Body};
use tiller_protocol::env::Env;
use tiller_protocol::mode::{DelegateFlags, Mode};
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch};
use crate::plan::{PLAN, plan_file, planning, state};

fn attachments(watch: &Watch, from: usize) -> Vec<Attachment> {
    let attachment = |event: &Event| match event {
        Event::Appended(entry) => match &entry.body {
            Body::Attachment(attachment) => Some(attachment.clone()),
            _ => None,
        },
        _ => None,
    };
    watch.seen[from..].iter().filter_map(attachment).collect()
}

/// One more turn; gives what was attached.
async fn turn(lab: &Lab, watch: &mut Watch) -> Vec<Attachment> {
    let from = watch.seen.len();
    lab.server.reply(Reply::text("hm"));
    watch.send(Command::Submit(UserInput::text("go on"))).await;
    watch.until_turn_ends().await;
    attachments(watch, from)
}

fn word(attachment: &Attachment) -> String {
    let told = &attachment.attachment;
    match told["reminderType"].as_str() {
        Some(kind) => format!(
            "{} {kind}{}",
            attachment.kind(),
            if told["planExists"] == true { " (exists)" } else { "" }
        ),
        None => attachment.kind().to_owned(),
    }
}

// PLAN-31, PLAN-32, PLAN-33, PLAN-36, PLAN-37, PLAN-38, PLAN-39, PLAN-40, PLAN-41, PLAN-43, STEER-30
#[tokio::test]
async fn the_reminders_of_forty_turns() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hm"));
    let mut watch = lab.begin(planning(&lab), "plan it").await;
    watch.until_turn_ends().await;
    let mut told =
        vec![format!(" 1 plan: {}", attachments(&watch, 0).iter().map(word).collect::<Vec<_>>().join(", "))];
    for number in 2..=40 {
        match number {
            3 => watch.send(Command::SetMode(Mode::Default)).await,
            // Entered again before there is a plan.
            5 => watch.send(Command::SetMode(Mode::Plan)).await,
            18 => fs_err::write(plan_file(&lab, &watch), PLAN).unwrap(),
            20 => watch.send(Command::SetMode(Mode::AcceptEdits)).await,
            22 => watch.send(Command::SetMode(Mode::Plan)).await,
            // Left and entered again at once: nothing was told of the end, and none is told later.
            29 => {
                watch.send(Command::SetMode(Mode::Default)).await;
                watch.send(Command::SetMode(Mode::Plan)).await;
            }
            _ => {}
        }
        let words: Vec<String> = turn(&lab, &mut watch).await.iter().map(word).collect();
        told.push(format!("{number:>2} {}: {}", state(&watch).mode, words.join(", ")));
    }
    insta::assert_snapshot!(told.join("\n"));
    lab.server.assert_clean();
}

/// A session whose plan was approved; the tools for carrying it out are there.
async fn approved(lab: &Lab, setup: Setup) -> Watch {
    lab.server.reply(Reply::text("I look around."));
    let mut watch = lab.turn(setup, "plan it").await;
    fs_err::write(plan_file(lab, &watch), PLAN).unwrap();
    lab.server
        .replies([Reply::new().tool_with_id("exit", "ExitPlanMode", json!({})), Reply::text("I begin.")]);
    watch.send(Command::Submit(UserInput::text("go on"))).await;
    watch.until(|event| matches!(event, Event::Asked(_, Ask::Plan(_)))).await;
    let Some(Event::Asked(id, _)) = watch.seen.last() else { panic!("no question") };
    watch
        .send(Command::Answer(*id, Answer::Plan { mode: Mode::BypassPermissions, plan: PLAN.to_owned() }))
        .await;
    watch.until_turn_ends().await;
    watch
}

/// In which of so many turns the model was reminded of the plan.
async fn reminded(lab: &Lab, watch: &mut Watch, turns: u32) -> Vec<u32> {
    let mut reminded = Vec::new();
    for number in 1..=turns {
        let told = turn(lab, watch).await;
        reminded.extend(told.iter().filter(|one| one.kind() == "verify_plan_reminder").map(|_| number));
    }
    reminded
}

fn free(lab: &Lab) -> Setup {
    Setup { bypass_available: true, ..planning(lab) }
}

// PLAN-60
#[tokio::test]
async fn the_work_is_held_against_the_plan_three_times_at_most() {
    let lab = Lab::new();
    let mut watch = approved(&lab, free(&lab)).await;
    // One answer was given after the approval already.
    assert_eq!(reminded(&lab, &mut watch, 45).await, [10, 20, 30]);
    lab.server.assert_clean();
}

// PLAN-60
#[tokio::test]
async fn a_reminder_that_was_acted_upon_was_the_last() {
    let lab = Lab::new();
    let mut watch = approved(&lab, free(&lab)).await;
    assert_eq!(reminded(&lab, &mut watch, 10).await, [10]);
    let path = plan_file(&lab, &watch);
    lab.server
        .replies([Reply::new().tool("Read", json!({"file_path": path})), Reply::text("All of it is done.")]);
    watch.send(Command::Submit(UserInput::text("and?"))).await;
    watch.until_turn_ends().await;
    assert!(reminded(&lab, &mut watch, 25).await.is_empty());
    lab.server.assert_clean();
}

// PLAN-60
#[tokio::test]
async fn a_finished_list_recalls_the_plan_at_once_and_a_new_plan_forgets_the_old() {
    let lab = Lab::new();
    let mut watch = approved(&lab, free(&lab)).await;
    let todo = |status: &str| json!({"todos": [{"content": "Do", "status": status, "activeForm": "Doing"}]});
    lab.server.replies([
        Reply::new().tool("TodoWrite", todo("in_progress")),
        Reply::new().tool("TodoWrite", todo("completed")),
        Reply::text("done"),
    ]);
    let from = watch.seen.len();
    watch.send(Command::Submit(UserInput::text("work"))).await;
    watch.until_turn_ends().await;
    let told: Vec<String> = attachments(&watch, from).iter().map(word).collect();
    assert_eq!(told.iter().filter(|kind| *kind == "verify_plan_reminder").count(), 1, "{told:?}");
    watch.send(Command::SetMode(Mode::Plan)).await;
    watch.send(Command::SetMode(Mode::BypassPermissions)).await;
    assert!(reminded(&lab, &mut watch, 25).await.is_empty());
    lab.server.assert_clean();
}

// PLAN-60
#[tokio::test]
async fn the_reminder_can_be_switched_off() {
    let lab = Lab::new();
    let setup = free(&lab);
    let mut vars = (*setup.env.vars).clone();
    vars.insert("TILLER_VERIFY_PLAN".to_owned(), "0".to_owned());
    let env = Env { vars: std::sync::Arc::new(vars), ..setup.env.clone() };
    let mut watch = approved(&lab, Setup { env, ..setup }).await;
    assert!(reminded(&lab, &mut watch, 12).await.is_empty());
    lab.server.assert_clean();
}

// STEER-31, STEER-55
#[tokio::test]
async fn the_end_of_delegate_mode_is_told_once() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("I hand it out."));
    let mut watch = lab.turn(Setup { mode: Some(Mode::Delegate), ..planning(&lab) }, "do it").await;
    let noted: Vec<Attachment> = attachments(&watch, 0);
    assert!(noted.iter().all(|one| one.kind() == "delegate_mode" && one.rendered.is_empty()), "{noted:?}");
    watch.send(Command::SetMode(Mode::Default)).await;
    let exits = |told: &[Attachment]| told.iter().filter(|one| one.kind() == "delegate_mode_exit").count();
    let told = turn(&lab, &mut watch).await;
    assert_eq!(exits(&told), 1);
    assert_eq!(state(&watch).delegate, DelegateFlags { has_exited: true, exit_notice_due: false });
    assert_eq!(exits(&turn(&lab, &mut watch).await), 0);
    lab.server.assert_clean();
}

// STEER-55: whoever hands work out does none of it, whoever says yes.
#[tokio::test]
async fn delegate_mode_does_no_work_itself() {
    let lab = Lab::new();
    let write = json!({"say": "written", "writes": lab.project().join("f")});
    let look = json!({"say": "seen", "safe": true, "read_only": true});
    lab.server.replies([
        Reply::new().tool_with_id("look", "Probe", look).tool_with_id("work", "Probe", write),
        Reply::text("done"),
    ]);
    let mut setup = Setup { mode: Some(Mode::Delegate), bypass_available: true, ..planning(&lab) };
    setup.rules.allow.push("Probe".parse().unwrap());
    let watch = lab.turn(setup, "do it").await;
    assert_eq!(watch.result("look").text(), "seen");
    assert!(watch.result("work").text().contains("delegate mode"), "{}", watch.result("work").text());
    lab.server.assert_clean();
}
