//! Commands that are run while the agent works: they say when they take effect, and stop nothing without a question.

use crossterm::event::KeyCode;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, Level, Notice, Outcome};

use super::stage::Stage;
use super::views::run;
use crate::host::Reply;

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
