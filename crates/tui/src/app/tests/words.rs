//! What is said while things go on, and how lists and pages are read.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Cause, Outcome};

use super::stage::Stage;
use super::views::run;
use crate::app::ModelRow;

#[test]
fn long_results_are_read_from_end_to_end() {
    let mut stage = Stage::new(80, 24);
    stage.begin_turn("work");
    stage.call("c1", "Bash", &json!({"command": "seq 90"}));
    let printed: Vec<String> = (1..=90).map(|number| format!("row {number:02}")).collect();
    stage.result("c1", "Bash", json!({"stdout": printed.join("\n")}));
    stage.end_turn(Outcome::Success);
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    stage.press(KeyCode::Enter);
    for (code, row) in [
        (KeyCode::End, "row 90"),
        (KeyCode::Home, "row 01"),
        (KeyCode::Char('G'), "row 90"),
        (KeyCode::Char('g'), "row 01"),
        (KeyCode::Char(' '), "row 21"),
    ] {
        stage.draw();
        stage.press(code);
        let shown = stage.shown();
        assert!(shown.contains(row) && shown.contains("space read on · home/end jump"), "{code:?}:\n{shown}");
    }
}

#[test]
fn a_wait_for_the_provider_says_how_to_end_it() {
    let mut stage = Stage::new(80, 24);
    stage.begin_turn("work");
    stage.event(Event::Retrying {
        attempt: 1,
        max: 10,
        delay: Duration::from_secs(4),
        error: "overloaded".to_owned(),
        status: None,
    });
    assert!(stage.shown().contains("esc stops"), "{}", stage.shown());
}

#[test]
fn thinking_is_called_so_and_looks_as_it_will() {
    let mut stage = Stage::new(80, 24);
    stage.begin_turn("work");
    stage.think("Let me see.");
    let shown = stage.shown();
    assert!(shown.contains("✻ Let me see.") && shown.contains("Thinking · 0s"), "{shown}");
    assert!(!shown.contains("Writing"), "{shown}");
}

#[test]
fn a_model_is_found_by_typing() {
    let mut stage = Stage::new(80, 24);
    let row = |number: usize| ModelRow {
        name: format!("model-{number}"),
        id: format!("model-{number}"),
        detail: "200k tokens · $3 in, $15 out per million".to_owned(),
        window: None,
    };
    stage.app.info.models.extend((0..30).map(row));
    run(&mut stage, "/model");
    let shown = stage.shown();
    assert!(
        shown.contains("model-9   200k tokens") && shown.contains("type to search · enter choose"),
        "{shown}"
    );
    stage.write("model 27");
    insta::assert_snapshot!("models_found", stage.shown());
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["SetModel(\"model-27\")"]);
}

#[test]
fn calls_that_did_not_run_say_why() {
    let mut stage = Stage::new(80, 24);
    stage.begin_turn("work");
    stage.call("c1", "Bash", &json!({"command": "make"}));
    stage.fail("c1", "Bash", Cause::SiblingError);
    stage.call("c2", "Bash", &json!({"command": "make install"}));
    stage.fail("c2", "Bash", Cause::ToolRejection);
    let shown = stage.shown();
    assert!(shown.contains("● Bash make  not run: another call failed"), "{shown}");
    assert!(shown.contains("● Bash make install  not run: another call was refused"), "{shown}");
}
