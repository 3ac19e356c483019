//! Pages that fill the screen, and what is below them when they are closed.

use crossterm::event::KeyCode;
use tiller_protocol::entry::Outcome;

use super::stage::Stage;
use super::views::{permission, run};

/// A conversation of so many lines.
fn conversation(stage: &mut Stage, lines: usize) {
    stage.begin_turn("count");
    let text: Vec<String> = (0..lines).map(|number| format!("line {number:03}")).collect();
    stage.say(&text.join("\n\n"));
    stage.end_turn(Outcome::Success);
    stage.draw();
}

#[test]
fn a_page_that_fills_the_screen_leaves_it_as_it_was() {
    let mut stage = Stage::new(120, 40);
    conversation(&mut stage, 12);
    let before = stage.shown();
    run(&mut stage, "/help");
    let page = stage.shown();
    assert!(page.contains("── Help") && !page.contains("line 011"), "{page}");
    assert_eq!(page.lines().count(), 40, "the status is at the bottom:\n{page}");
    assert!(page.lines().last().is_some_and(|row| row.contains("asks before changes")), "{page}");
    stage.press(KeyCode::Esc);
    assert_eq!(stage.shown(), before);
}

#[test]
fn what_is_finished_while_a_page_is_open_is_written_once_it_is_closed() {
    for size in [(80, 24), (60, 30), (120, 20)] {
        let mut stage = Stage::new(80, 24);
        conversation(&mut stage, 30);
        run(&mut stage, "/help");
        stage.draw();
        conversation(&mut stage, 30);
        stage.resize(size.0, size.1);
        assert!(stage.shown().contains("── Help"), "{}", stage.shown());
        stage.press(KeyCode::Esc);
        stage.draw();
        let lines = stage.terminal.whole_lines();
        for number in 0..30 {
            let line = format!("line {number:03}");
            let count = lines.iter().filter(|shown| shown.contains(&line)).count();
            assert_eq!(count, 2, "{line} at {size:?}:\n{}", lines.join("\n"));
        }
        assert!(!lines.iter().any(|line| line.contains("── Help")), "{}", lines.join("\n"));
        assert!(stage.shown().contains("What should be done?"), "{}", stage.shown());
    }
}

#[test]
fn a_short_page_leaves_the_conversation_in_sight() {
    let mut stage = Stage::new(80, 24);
    conversation(&mut stage, 12);
    run(&mut stage, "/cost");
    let shown = stage.shown();
    assert!(shown.contains("── Cost") && shown.contains("line 011"), "{shown}");
}

#[test]
fn a_question_leaves_a_third_of_the_screen() {
    let mut stage = Stage::new(80, 30);
    conversation(&mut stage, 40);
    stage.begin_turn("work");
    let mut ask = permission(1);
    if let tiller_protocol::command::Event::Asked(_, tiller_protocol::ask::Ask::Permission(ask)) = &mut ask {
        let long: Vec<String> = (0..60).map(|number| format!("touch {number}")).collect();
        ask.input = serde_json::json!({"command": long.join("\n")});
    }
    stage.ask(ask);
    let shown = stage.shown();
    let above = shown.lines().position(|row| row.starts_with("── ")).unwrap();
    assert!(above >= 9 && shown.contains("more lines"), "{above} rows above:\n{shown}");
}
