//! Plan files: their names, their places, and what becomes of them when sessions are resumed, cleared and forked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tiller_engine::{Session, Setup, Start};
use tiller_protocol::command::{Command, UserInput};
use tiller_protocol::effect::PlanMoment;
use tiller_protocol::env::{Env, Ids};
use tiller_protocol::mode::Mode;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch, only_log};
use crate::plan::{PLAN, moments, plan_file, planning, state};

/// Ids of the lab, with numbers that differ.
struct Dice {
    ids: Arc<dyn Ids>,
    thrown: AtomicU32,
}

impl Ids for Dice {
    fn next(&self) -> uuid::Uuid {
        self.ids.next()
    }

    fn random(&self) -> f64 {
        f64::from(self.thrown.fetch_add(37, Ordering::Relaxed) % 1000) / 1000.0
    }
}

fn with_dice(setup: Setup, seed: u32) -> Setup {
    let dice = Dice { ids: Arc::clone(&setup.env.ids), thrown: AtomicU32::new(seed) };
    let env = Env { ids: Arc::new(dice), ..setup.env.clone() };
    Setup { env, ..setup }
}

fn mode(path: &Path) -> u32 {
    fs_err::metadata(path).unwrap().permissions().mode() & 0o777
}

fn lines(log: &Path) -> Vec<Value> {
    let text = fs_err::read_to_string(log).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A session that has written its plan.
async fn planned(lab: &Lab) -> Watch {
    let setup = with_dice(planning(lab), 5);
    lab.server.reply(Reply::text("I look around."));
    let mut watch = lab.turn(setup, "plan it").await;
    let path = plan_file(lab, &watch);
    lab.server.replies([
        Reply::new().tool_with_id("write", "Write", json!({"file_path": path, "content": PLAN})),
        Reply::new().tool_with_id(
            "edit",
            "Edit",
            json!({"file_path": path, "old_string": "Run", "new_string": "Then run"}),
        ),
        Reply::text("written"),
    ]);
    watch.send(Command::Submit(UserInput::text("write it"))).await;
    watch.until_turn_ends().await;
    watch
}

// PLAN-08, PLAN-11, PLAN-13, PLAN-46, SECR-02
#[tokio::test]
async fn the_plan_is_written_with_the_ordinary_tools_into_a_private_file() {
    let lab = Lab::new();
    let mut watch = planned(&lab).await;
    let (path, slug) = (plan_file(&lab, &watch), state(&watch).plan_slug.unwrap());
    for call in ["write", "edit"] {
        assert!(!watch.result(call).is_error, "{}", watch.result(call).text());
    }
    let edited = PLAN.replace("Run", "Then run");
    assert_eq!(fs_err::read_to_string(&path).unwrap(), edited);
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(moments(&watch), [(PlanMoment::Written, PLAN.to_owned()), (PlanMoment::Written, edited)]);
    watch.close().await;
    let lines = lines(&only_log(&lab.config_dir()));
    let named = lines.iter().position(|line| line["effect"] == "set_plan").unwrap();
    let messages = ["user", "assistant", "attachment", "system"];
    for line in lines.iter().skip(named).filter(|line| messages.contains(&line["type"].as_str().unwrap())) {
        assert_eq!(line["slug"], json!(slug), "{line}");
    }
    assert_eq!(lines.iter().filter(|line| line["effect"] == "set_plan").count(), 1);
    lab.server.assert_clean();
}

// PLAN-45
#[tokio::test]
async fn no_other_file_is_written_while_planning() {
    let lab = Lab::new();
    let mut watch = planned(&lab).await;
    let path = plan_file(&lab, &watch);
    let plans = path.parent().unwrap().to_owned();
    fs_err::write(lab.project().join("code"), "as it was").unwrap();
    fs_err::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(lab.project().join("code"), &path).unwrap();
    let attempts = [
        path.clone(),
        plans.join("../plans/other.md"),
        plans.join("..").join("settings.json"),
        plans.join("sub/../../state.json"),
        lab.project().join("code"),
        lab.project().join("new"),
    ];
    let mut replies: Vec<Reply> = Vec::new();
    for (at, path) in attempts.iter().enumerate() {
        let input = json!({"file_path": path, "content": "gone"});
        replies.push(Reply::new().tool_with_id(&format!("w{at}"), "Write", input));
    }
    replies.push(Reply::text("I give up."));
    lab.server.replies(replies);
    watch.send(Command::Submit(UserInput::text("write elsewhere"))).await;
    watch.until_turn_ends().await;
    for (at, path) in attempts.iter().enumerate() {
        assert!(watch.result(&format!("w{at}")).is_error, "{}", path.display());
    }
    assert_eq!(fs_err::read_to_string(lab.project().join("code")).unwrap(), "as it was");
    assert!(!lab.project().join("new").exists() && !plans.join("other.md").exists());
    lab.server.assert_clean();
}

// PLAN-12, PLAN-63: a link in the plan's place is no plan and is not shown to anybody.
#[tokio::test]
async fn a_link_in_its_place_is_no_plan() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("I look around."));
    let mut watch = lab.turn(planning(&lab), "plan it").await;
    fs_err::write(lab.project().join("secret"), "not a plan").unwrap();
    std::os::unix::fs::symlink(lab.project().join("secret"), plan_file(&lab, &watch)).unwrap();
    lab.server.replies([Reply::new().tool_with_id("exit", "ExitPlanMode", json!({})), Reply::text("oh")]);
    watch.send(Command::Submit(UserInput::text("go on"))).await;
    watch.until_turn_ends().await;
    let text = watch.result("exit").text();
    assert!(watch.result("exit").is_error && !text.contains("not a plan"), "{text}");
    lab.server.assert_clean();
}

// PLAN-13, PLAN-14
#[tokio::test]
async fn a_resumed_session_plans_on_in_its_file() {
    let lab = Lab::new();
    let mut watch = planned(&lab).await;
    watch.close().await;
    let (id, path, slug) = (watch.session.id, plan_file(&lab, &watch), state(&watch).plan_slug);
    let setup = Setup { start: Start::Resume(id), ..with_dice(planning(&lab), 99) };
    let mut resumed = Watch { session: Session::start(setup).unwrap(), seen: Vec::new() };
    lab.server.replies([
        Reply::new().tool_with_id(
            "again",
            "Edit",
            json!({"file_path": path, "old_string": "# Plan", "new_string": "# New plan"}),
        ),
        Reply::text("done"),
    ]);
    resumed.send(Command::Submit(UserInput::text("go on"))).await;
    resumed.until_turn_ends().await;
    assert_eq!(state(&resumed).plan_slug, slug);
    assert!(!resumed.result("again").is_error, "{}", resumed.result("again").text());
    resumed.close().await;
    lab.server.assert_clean();
}

// PLAN-13: the first line with a name provides it, also if what assigned it is lost.
#[tokio::test]
async fn the_name_survives_the_loss_of_the_entry_that_gave_it() {
    let lab = Lab::new();
    let mut watch = planned(&lab).await;
    watch.close().await;
    let slug = state(&watch).plan_slug;
    let log = only_log(&lab.config_dir());
    let text = fs_err::read_to_string(&log).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("\"set_plan\"")).collect();
    fs_err::write(&log, format!("{}\n", kept.join("\n"))).unwrap();
    let setup = Setup { start: Start::Resume(watch.session.id), ..with_dice(planning(&lab), 99) };
    let mut resumed = Watch { session: Session::start(setup).unwrap(), seen: Vec::new() };
    resumed.close().await;
    assert_eq!(state(&resumed).plan_slug, slug);
}

// PLAN-14: without a name nothing is restored.
#[tokio::test]
async fn a_session_that_never_planned_has_no_name() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hi"));
    let setup = || Setup { mode: Some(Mode::Default), ..planning(&lab) };
    let mut watch = lab.turn(setup(), "hello").await;
    watch.close().await;
    let setup = Setup { start: Start::Resume(watch.session.id), ..setup() };
    let mut resumed = Watch { session: Session::start(setup).unwrap(), seen: Vec::new() };
    resumed.close().await;
    assert_eq!(state(&resumed).plan_slug, None);
    assert!(!lab.config_dir().join("plans").exists());
}

// PLAN-15
#[tokio::test]
async fn clearing_forgets_the_name_and_keeps_the_file() {
    let lab = Lab::new();
    let mut watch = planned(&lab).await;
    let path = plan_file(&lab, &watch);
    watch.send(Command::Clear).await;
    watch.until(|event| matches!(event, tiller_protocol::command::Event::Closed)).await;
    let setup = Setup { start: Start::Cleared, ..with_dice(planning(&lab), 99) };
    let mut cleared = Watch { session: Session::start(setup).unwrap(), seen: Vec::new() };
    cleared.close().await;
    assert_ne!(state(&cleared).plan_slug, state(&watch).plan_slug);
    assert!(path.exists());
}

// PLAN-13: two sessions never write the same plan.
#[tokio::test]
async fn a_fork_plans_on_in_a_copy() {
    let lab = Lab::new();
    let mut watch = planned(&lab).await;
    watch.close().await;
    let (from, original) = (watch.session.id, plan_file(&lab, &watch));
    let setup = Setup { start: Start::Fork { from, to: None }, ..with_dice(planning(&lab), 99) };
    lab.server.reply(Reply::text("I go on."));
    let mut fork = lab.turn(setup, "another way").await;
    let copy = plan_file(&lab, &fork);
    assert_ne!(copy, original);
    assert_eq!(fs_err::read(&copy).unwrap(), fs_err::read(&original).unwrap());
    assert_eq!(mode(&copy), 0o600);
    // The model is told of the new place before it can write to the old one.
    let told = fork.entries().iter().any(|entry| match &entry.body {
        tiller_protocol::entry::Body::Attachment(attachment) => {
            attachment.kind() == "plan_mode" && attachment.attachment["planFilePath"] == json!(copy)
        }
        _ => false,
    });
    assert!(told);
    fork.close().await;
    let (id, slug) = (fork.session.id, state(&fork).plan_slug);
    let lines = lines(&fork.session.paths.log);
    // Whoever reads the lines of the fork finds its own plan in all of them.
    let messages = lines.iter().filter(|line| line["type"] != "effect");
    let named: Vec<&str> = messages.filter_map(|line| line["slug"].as_str()).collect();
    assert!(named.len() > 3 && named.iter().all(|named| Some(*named) == slug.as_deref()), "{named:?}");
    let setup = Setup { start: Start::Resume(id), ..with_dice(planning(&lab), 7) };
    let mut resumed = Watch { session: Session::start(setup).unwrap(), seen: Vec::new() };
    resumed.close().await;
    assert_eq!(state(&resumed).plan_slug, slug);
    lab.server.assert_clean();
}

// PLAN-07: a session plans although there is no place for plans; writing says what is wrong.
#[tokio::test]
async fn trouble_with_the_directory_is_the_models_to_hear() {
    let lab = Lab::new();
    fs_err::create_dir_all(lab.config_dir()).unwrap();
    fs_err::write(lab.config_dir().join("plans"), "in the way").unwrap();
    lab.server.reply(Reply::text("I look around."));
    let mut watch = lab.turn(planning(&lab), "plan it").await;
    let path = plan_file(&lab, &watch);
    lab.server.replies([
        Reply::new().tool_with_id("write", "Write", json!({"file_path": path, "content": PLAN})),
        Reply::text("oh"),
    ]);
    watch.send(Command::Submit(UserInput::text("write it"))).await;
    watch.until_turn_ends().await;
    assert!(watch.result("write").is_error);
    lab.server.assert_clean();
}

// A session that is not kept leaves no plan behind.
#[tokio::test]
async fn a_session_that_is_not_kept_leaves_no_plan() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("I look around."));
    let setup = Setup { persist: false, ..planning(&lab) };
    let mut watch = lab.turn(setup, "plan it").await;
    watch.close().await;
    assert!(!lab.config_dir().join("plans").exists());
}
