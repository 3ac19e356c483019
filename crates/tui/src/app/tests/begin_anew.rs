//! Commands that are run while the agent works: they say when they take effect, and stop nothing without a question.

use std::path::Path;

use crossterm::event::KeyCode;
use tiller_protocol::command::{BackgroundTask, Event, TaskKind, TaskState};
use tiller_protocol::entry::{Body, Level, Notice, Outcome};
use tiller_protocol::id::{CallId, SessionId};

use super::stage::Stage;
use super::views::run;
use crate::host::{Reply, Request};
use crate::panel::SessionRow;

#[test]
fn folding_waits_visibly_for_the_running_step() {
    let mut stage = Stage::new(70, 24);
    stage.begin_turn("go");
    run(&mut stage, "/compact keep the names");
    let row = "⧗ /compact keep the names  runs after the running step";
    assert!(stage.shown().contains(row), "{}", stage.shown());
    stage
        .event(Event::CompactionStarted { trigger: tiller_protocol::compaction::Trigger::Manual, tokens: 5 });
    assert!(!stage.shown().contains("⧗ /compact"), "{}", stage.shown());

    run(&mut stage, "/compact");
    stage.press(KeyCode::Esc);
    assert!(!stage.shown().contains("⧗ /compact"), "whoever stops the agent wants nothing folded");
}

#[test]
fn work_is_not_stopped_by_beginning_anew_without_a_question() {
    let mut stage = Stage::new(70, 24);
    stage.begin_turn("go");
    stage.sent();
    run(&mut stage, "/clear");
    assert!(stage.shown().contains("The agent is at work. Stop it?"), "{}", stage.shown());
    stage.press(KeyCode::Char('2'));
    assert_eq!(stage.sent(), [""; 0]);
    run(&mut stage, "/clear");
    stage.press(KeyCode::Char('1'));
    assert_eq!(stage.sent(), ["Clear"]);

    let mut idle = Stage::new(70, 24);
    run(&mut idle, "/clear");
    assert_eq!(idle.sent(), ["Clear"]);
}

#[test]
fn a_fold_that_is_taken_back_has_no_account() {
    let mut stage = Stage::new(70, 24);
    stage.event(Event::TurnStarted);
    let (subtype, content) = ("compaction_undone".to_owned(), "The compaction was undone.".to_owned());
    stage.append(Body::Notice(Notice { subtype, level: Level::Info, content }));
    stage.end_turn(Outcome::Success);
    assert!(stage.shown().contains("was undone") && !stage.shown().contains("· 0s"), "{}", stage.shown());
}

#[test]
fn a_plan_is_shown_as_it_is_meant() {
    let mut stage = Stage::new(70, 24);
    stage.reply(Reply::Report { title: "The plan", text: "# Steps\n\n- **first**\n".to_owned() });
    let shown = stage.shown();
    assert!(shown.contains("• first") && !shown.contains("**"), "{shown}");
}

fn session(number: u128, title: &str) -> SessionRow {
    SessionRow {
        id: SessionId(uuid::Uuid::from_u128(number)),
        title: title.to_owned(),
        age: "1 h ago".to_owned(),
        detail: String::new(),
        elsewhere: None,
    }
}

#[test]
fn what_no_title_has_is_looked_for_in_what_was_said() {
    let mut stage = Stage::new(70, 24);
    stage.reply(Reply::Sessions(vec![session(1, "Fix the build")]));
    stage.write("slow");
    let hint = "no session with such a title; enter looks for it in what was said";
    assert!(stage.shown().contains(hint), "{}", stage.shown());
    stage.requests();
    stage.press(KeyCode::Enter);
    assert_eq!(stage.requests(), [Request::Sessions("slow".to_owned())]);
    stage.reply(Reply::Sessions(vec![session(1, "Fix the build")]));
    assert!(stage.shown().contains("› Fix the build"), "{}", stage.shown());
}

#[test]
fn notes_reach_the_session_that_runs() {
    let mut stage = Stage::new(70, 24);
    let noted = || Reply::Noted { file: "AGENTS.md".to_owned(), text: "use tabs".to_owned() };
    stage.reply(noted());
    let told = "Added to AGENTS.md; the agent is told with your next message.";
    assert!(stage.shown().contains(told), "{}", stage.shown());
    run(&mut stage, "go");
    assert_eq!(stage.sent(), ["Steer go"], "the first request reads the file itself");

    stage.app.state.last_usage = Some(Default::default());
    stage.reply(noted());
    stage.app.on_file_edited(Path::new("/work/AGENTS.md"), Ok("- use tabs\n".to_owned()));
    run(&mut stage, "go on");
    let sent = stage.sent().concat();
    assert!(sent.contains("added this to AGENTS.md; follow it from now on:\nuse tabs"), "{sent}");
    assert!(sent.contains("edited AGENTS.md. It says now:\n- use tabs"), "{sent}");
}

fn task(number: u32, state: TaskState) -> BackgroundTask {
    BackgroundTask {
        id: format!("bash_{number}"),
        kind: TaskKind::Command,
        description: format!("watch {number}"),
        state,
        call: CallId::from("toolu_1"),
        output: None,
    }
}

#[test]
fn background_tasks_are_looked_at_and_stopped() {
    let mut stage = Stage::new(70, 24);
    stage.event(Event::TaskChanged(task(1, TaskState::Running)));
    stage.event(Event::TaskChanged(task(2, TaskState::Running)));
    run(&mut stage, "/tasks");
    stage.press(KeyCode::Up);
    stage.sent();
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), [r#"ShowTask("bash_1")"#]);
    stage.event(Event::TaskOutput { id: "bash_1".to_owned(), text: "seen: 3 files\n".to_owned() });
    assert!(stage.shown().contains("seen: 3 files"), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Char('d'));
    assert_eq!(stage.sent(), [r#"StopTask("bash_1")"#]);
    stage.event(Event::TaskChanged(task(1, TaskState::Stopped)));
    let shown = stage.shown();
    assert!(
        shown.contains("Stopping bash_1: watch 1") && shown.contains("bash_1  stopped  watch 1"),
        "{shown}"
    );
    stage.press(KeyCode::Char('d'));
    assert_eq!(stage.sent(), [""; 0], "what has ended is not stopped again");
}
