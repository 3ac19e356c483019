//! What becomes of undo when snapshots cannot be taken, may not be brought back, or are old.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rustix::fs::{FlockOperation, flock};
use serde_json::json;
use tiller_engine::undo::{open_snapshots, snapshot_dir};
use tiller_engine::{Setup, Start};
use tiller_protocol::command::{Command, Event, TaskState, UserInput};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::Body;
use tiller_protocol::env::{Clock, Env};
use tiller_protocol::id::SnapshotId;
use tiller_protocol::rewind::{RewindAct, RewindPart, RewindTarget};
use tiller_testenv::eventually_beside;
use tiller_testkit::{Gate, Reply};
use tiller_tools::shell_tools;

use crate::agents::{by_prompt, definitions, setup_with, task};
use crate::harness::{Lab, Watch};
use crate::rewind::{order, prompts, report, say};

async fn begin(lab: &Lab, setup: Setup) -> Watch {
    lab.server.reply(Reply::text("hello"));
    let mut watch = lab.turn(setup, "hello").await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    watch
}

fn snapshots(watch: &Watch) -> Vec<SnapshotId> {
    let taken = |body: &Body| match body {
        Body::Effect(Effect::Snapshot { snapshot, .. }) => Some(snapshot.clone()),
        _ => None,
    };
    watch.entries().iter().filter_map(|entry| taken(&entry.body)).collect()
}

fn warnings(watch: &Watch) -> Vec<String> {
    let told = |body: &Body| match body {
        Body::Notice(notice) if notice.subtype == "snapshots" => Some(notice.content.clone()),
        _ => None,
    };
    watch.entries().iter().filter_map(|entry| told(&entry.body)).collect()
}

/// Orders a step back that is refused for a reason, and moves nothing.
async fn refused(watch: &mut Watch, order: Command, reason: &str) {
    watch.send(order).await;
    watch.until(|event| matches!(event, Event::Rejected(_) | Event::Rewind(_))).await;
    match watch.seen.last() {
        Some(Event::Rejected(why)) => {
            assert!(why.contains(reason) && why.contains("conversation alone"), "{why}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!watch.entries().iter().any(|entry| matches!(entry.body, Body::Rewound(_))));
}

fn without_snapshots(lab: &Lab) -> Setup {
    let mut setup = lab.setup();
    let mut vars = BTreeMap::clone(&setup.env.vars);
    vars.insert("TILLER_DISABLE_SNAPSHOTS".to_owned(), "1".to_owned());
    setup.env.vars = Arc::new(vars);
    setup
}

// UNDO-02
#[tokio::test]
async fn files_do_not_go_back_where_nothing_is_kept() {
    let lab = Lab::new();
    let mut watch = begin(&lab, without_snapshots(&lab)).await;
    say(&lab, &mut watch, "one").await;
    let to = RewindTarget::Prompt(prompts(&watch)[1]);
    for part in [RewindPart::Both, RewindPart::Files] {
        for act in [RewindAct::Preview, RewindAct::Carry] {
            refused(&mut watch, order(to, part, act), "TILLER_DISABLE_SNAPSHOTS").await;
        }
    }
    watch.send(order(to, RewindPart::Conversation, RewindAct::Carry)).await;
    report(&mut watch).await;
}

// UNDO-02: what was changed while nothing could be kept does not go back, and that is said before and after.
#[tokio::test]
async fn files_that_go_back_a_part_of_the_way_are_told_of() {
    let lab = Lab::new();
    let mut watch = begin(&lab, without_snapshots(&lab)).await;
    say(&lab, &mut watch, "one").await;
    fs_err::write(lab.project().join("one"), "one").unwrap();
    let id = watch.session.id;
    watch.close().await;
    let mut watch = begin(&lab, Setup { start: Start::Resume(id), ..lab.setup() }).await;
    say(&lab, &mut watch, "two").await;
    fs_err::write(lab.project().join("two"), "two").unwrap();
    let log = tiller_engine::undo::Outline::read(&watch.session.paths.log).unwrap();
    let [_, one, _, two] = log.prompts.iter().map(|prompt| prompt.id).collect::<Vec<_>>()[..] else {
        panic!("four prompts were given: {:?}", log.prompts)
    };
    watch.send(order(RewindTarget::Prompt(two), RewindPart::Both, RewindAct::Preview)).await;
    assert_eq!(report(&mut watch).await.missing, None);
    for act in [RewindAct::Preview, RewindAct::Carry] {
        watch.send(order(RewindTarget::Prompt(one), RewindPart::Both, act)).await;
        let told = report(&mut watch).await;
        assert!(told.missing.as_ref().is_some_and(|missing| missing.contains("was not kept")), "{told:?}");
        assert_eq!(told.files.len(), 1, "{told:?}");
    }
    assert!(lab.project().join("one").exists() && !lab.project().join("two").exists());
}

#[tokio::test]
async fn what_fails_for_a_moment_is_told_once_and_tried_again() {
    let lab = Lab::new();
    let dir = snapshot_dir(&lab.config_dir(), &lab.project());
    fs_err::create_dir_all(&dir).unwrap();
    let tidier = fs_err::File::create(dir.join("lock")).unwrap();
    flock(&tidier, FlockOperation::NonBlockingLockExclusive).unwrap();
    let mut watch = begin(&lab, lab.setup()).await;
    say(&lab, &mut watch, "one").await;
    say(&lab, &mut watch, "two").await;
    let told = warnings(&watch);
    assert!(told.len() == 1 && told[0].contains("tried again"), "{told:?}");
    assert_eq!(snapshots(&watch), []);
    flock(&tidier, FlockOperation::Unlock).unwrap();
    say(&lab, &mut watch, "three").await;
    assert!(!snapshots(&watch).is_empty());
    assert_eq!(warnings(&watch).len(), 1);
}

#[tokio::test]
async fn what_fails_for_good_is_given_up() {
    let lab = Lab::new();
    let mut watch = begin(&lab, lab.setup()).await;
    let in_the_way = lab.config_dir().join("snapshots");
    fs_err::write(&in_the_way, "").unwrap();
    say(&lab, &mut watch, "one").await;
    fs_err::remove_file(&in_the_way).unwrap();
    say(&lab, &mut watch, "two").await;
    let told = warnings(&watch);
    assert!(told.len() == 1 && told[0].contains("of this session cannot be undone"), "{told:?}");
    assert_eq!(snapshots(&watch), []);
    let to = RewindTarget::Prompt(prompts(&watch)[1]);
    refused(&mut watch, order(to, RewindPart::Both, RewindAct::Carry), "snapshots are off").await;
}

#[tokio::test]
async fn files_do_not_go_back_under_a_command_in_the_background() {
    let lab = Lab::new();
    let mut watch = beside_a_command(&lab).await;
    fs_err::write(lab.project().join("made"), "").unwrap();
    let to = RewindTarget::Prompt(prompts(&watch)[1]);
    refused(&mut watch, order(to, RewindPart::Both, RewindAct::Carry), "bash_1").await;
    assert!(lab.project().join("made").exists());
    watch.send(Command::StopTask("bash_1".to_owned())).await;
    watch.until(|event| matches!(event, Event::TaskChanged(task) if task.state == TaskState::Stopped)).await;
    watch.send(order(to, RewindPart::Both, RewindAct::Carry)).await;
    report(&mut watch).await;
    assert!(!lab.project().join("made").exists());
}

// UNDO-01: what a command in the background changes during a prompt that changes nothing itself is known, too.
#[tokio::test]
async fn files_go_back_to_a_prompt_beside_work_in_the_background() {
    let lab = Lab::new();
    let mut watch = beside_a_command(&lab).await;
    fs_err::write(lab.project().join("before"), "").unwrap();
    lab.server.reply(Reply::text("nothing to do"));
    watch.send(Command::Submit(UserInput::text("only talk"))).await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    fs_err::write(lab.project().join("meanwhile"), "").unwrap();
    watch.send(Command::StopTask("bash_1".to_owned())).await;
    watch.until(|event| matches!(event, Event::TaskChanged(task) if task.state == TaskState::Stopped)).await;
    let to = RewindTarget::Prompt(prompts(&watch)[2]);
    watch.send(order(to, RewindPart::Both, RewindAct::Carry)).await;
    report(&mut watch).await;
    assert!(lab.project().join("before").exists() && !lab.project().join("meanwhile").exists());
}

/// A session with a command that goes on in the background.
async fn beside_a_command(lab: &Lab) -> Watch {
    let setup = lab.setup();
    let mut watch = begin(lab, Setup { registry: shell_tools(setup.registry), ..setup }).await;
    let endless = json!({"command": "while :; do sleep 0.1; done", "run_in_background": true});
    lab.server.replies([Reply::new().tool("Bash", endless), Reply::text("started")]);
    watch.send(Command::Submit(UserInput::text("start"))).await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    watch
}

// UNDO-01: a request does not wait until everything was looked at, and what changes something does.
#[tokio::test]
async fn what_is_kept_beside_work_in_the_background_is_waited_for_before_a_change() {
    let lab = Lab::new();
    let mut watch = beside_a_command(&lab).await;
    let before = snapshots(&watch).len();
    let gate = Gate::new();
    let writes = json!({"writes": lab.project().join("file")});
    lab.server
        .replies([Reply::new().gate_headers(&gate).tool_with_id("p", "Probe", writes), Reply::text("done")]);
    watch.send(Command::Submit(UserInput::text("change something"))).await;
    watch.until(|event| matches!(event, Event::StepStarted { .. })).await;
    gate.wait_reached_async().await;
    assert_eq!(snapshots(&watch).len(), before);
    gate.open();
    watch.until(|event| matches!(event, Event::Idle)).await;
    let calls = watch.entries().into_iter().filter_map(|entry| match &entry.body {
        Body::Effect(Effect::Snapshot { call, .. }) => Some(call.as_ref().map(ToString::to_string)),
        _ => None,
    });
    assert_eq!(calls.skip(before).collect::<Vec<_>>(), [None, Some("p".to_owned()), None]);
}

/// Lets nothing more be kept.
fn break_snapshots(lab: &Lab) {
    let packs = snapshot_dir(&lab.config_dir(), &lab.project()).join("packs");
    fs_err::rename(&packs, packs.with_extension("gone")).unwrap();
    fs_err::write(&packs, "").unwrap();
    fs_err::write(lab.project().join("new"), "new").unwrap();
}

// UNDO-01
#[tokio::test]
async fn that_nothing_can_be_kept_is_told_when_a_turn_begins_beside_a_command() {
    let lab = Lab::new();
    let mut watch = beside_a_command(&lab).await;
    break_snapshots(&lab);
    lab.server.reply(Reply::text("nothing to do"));
    watch.send(Command::Submit(UserInput::text("only talk"))).await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    assert_eq!(warnings(&watch).len(), 1, "{:?}", warnings(&watch));
}

// UNDO-01
#[tokio::test]
async fn that_nothing_can_be_kept_is_told_when_a_turn_ends() {
    let lab = Lab::new();
    let mut watch = begin(&lab, lab.setup()).await;
    let gate = Gate::new();
    let writes = json!({"writes": lab.project().join("file")});
    lab.server.replies([Reply::new().tool("Probe", writes), Reply::text("done").gate_headers(&gate)]);
    watch.send(Command::Submit(UserInput::text("go"))).await;
    gate.wait_reached_async().await;
    break_snapshots(&lab);
    gate.open();
    watch.until(|event| matches!(event, Event::Idle)).await;
    assert_eq!(warnings(&watch).len(), 1, "{:?}", warnings(&watch));
}

// UNDO-02: what stands in the way and gets another name is a change to look at, and a step that goes nowhere is none.
#[tokio::test]
async fn what_gets_another_name_is_told_and_returns() {
    let lab = Lab::new();
    fs_err::write(lab.project().join("short"), "short").unwrap();
    let mut watch = begin(&lab, lab.setup()).await;
    say(&lab, &mut watch, "short").await;
    fs_err::File::options().write(true).open(lab.project().join("short")).unwrap().set_len(40 << 20).unwrap();
    let to = RewindTarget::Prompt(prompts(&watch)[1]);
    watch.send(order(to, RewindPart::Both, RewindAct::Preview)).await;
    let told = report(&mut watch).await;
    let short = lab.project().join("short");
    assert_eq!(told.files.iter().map(|file| &file.path).collect::<Vec<_>>(), [&short]);
    assert_eq!((told.aside.len(), told.left.len()), (1, 0), "{told:?}");
    watch.send(order(to, RewindPart::Files, RewindAct::Carry)).await;
    report(&mut watch).await;
    assert_eq!(fs_err::read_to_string(&short).unwrap(), "short");
    watch.send(order(RewindTarget::Undo, RewindPart::Both, RewindAct::Preview)).await;
    let foreseen = report(&mut watch).await;
    assert_eq!(foreseen.files.iter().map(|file| &file.path).collect::<Vec<_>>(), [&short], "{foreseen:?}");
    assert_eq!((foreseen.aside.len(), foreseen.left.len()), (0, 0), "{foreseen:?}");
    watch.send(order(RewindTarget::Undo, RewindPart::Both, RewindAct::Carry)).await;
    report(&mut watch).await;
    assert_eq!(fs_err::metadata(&short).unwrap().len(), 40 << 20);
    assert!(!lab.project().join("short.set-aside").exists());
}

#[tokio::test]
async fn files_do_not_go_back_under_an_agent_in_the_background_but_the_conversation_does() {
    let lab = Lab::new();
    let mut watch = begin(&lab, setup_with(&lab, definitions())).await;
    let mut work = task("Explore", "take your time");
    work["run_in_background"] = json!(true);
    let gate = Gate::new();
    lab.server
        .conversation(by_prompt("take your time"))
        .reply(Reply::new().gate_headers(&gate).and_text("done"));
    lab.server.replies([Reply::new().tool_with_id("t", "Task", work), Reply::text("started")]);
    watch.send(Command::Submit(UserInput::text("start"))).await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    let id = watch.result("t").detail["agentId"].as_str().unwrap().to_owned();
    let to = RewindTarget::Prompt(prompts(&watch)[1]);
    refused(&mut watch, order(to, RewindPart::Files, RewindAct::Carry), &id).await;
    watch.send(order(to, RewindPart::Conversation, RewindAct::Carry)).await;
    report(&mut watch).await;
}

struct Fixed(Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// A session on some day that changes a file. Gives its log and the first snapshot.
async fn on_day(lab: &Lab, day: i64, file: &str) -> (std::path::PathBuf, SnapshotId) {
    let mut setup = lab.setup();
    let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * day);
    setup.env = Env { clock: Arc::new(Fixed(now)), ..setup.env };
    let mut watch = begin(lab, setup).await;
    say(lab, &mut watch, file).await;
    fs_err::write(lab.project().join(file), file).unwrap();
    watch.close().await;
    // The session has told that it is over just before it lets go of everything.
    let dir = snapshot_dir(&lab.config_dir(), &lab.project());
    let lock = fs_err::File::options().write(true).open(dir.join("lock")).unwrap();
    let is_free = || flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    eventually_beside("nobody holds the lock", is_free).await;
    flock(&lock, FlockOperation::Unlock).unwrap();
    (watch.session.paths.log.clone(), snapshots(&watch).remove(0))
}

#[tokio::test]
async fn old_snapshots_and_those_of_no_session_are_let_go_of() {
    let lab = Lab::new();
    let is_there = |snapshot: &SnapshotId| {
        let env = lab.setup().env;
        open_snapshots(&lab.config_dir(), &lab.project(), &env).unwrap().directories(snapshot).is_ok()
    };
    let (_, first) = on_day(&lab, 0, "one").await;
    let (log, second) = on_day(&lab, 29, "two").await;
    assert!(is_there(&first) && is_there(&second));
    let (_, third) = on_day(&lab, 31, "three").await;
    assert!(!is_there(&first) && is_there(&second) && is_there(&third));
    fs_err::remove_file(log).unwrap();
    let (_, fourth) = on_day(&lab, 33, "four").await;
    assert!(!is_there(&second) && is_there(&third) && is_there(&fourth));
}
