//! Keys, pastes and answers that come at the wrong moment.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Delivery, Outcome};
use tiller_protocol::id::{AskId, SessionId};
use uuid::Uuid;

use super::stage::Stage;
use super::views::{permission, run};
use crate::app::Effect;
use crate::host::{InstructionRow, Reply, StyleRow};
use crate::panel::SessionRow;

const NEW: &str = "one moment";

// PERM-16: a key that was meant for something else is no answer, however it was meant.
#[test]
fn no_question_is_answered_before_it_can_have_been_read() {
    for code in [KeyCode::Enter, KeyCode::Char('1'), KeyCode::Char('y')] {
        let mut stage = Stage::new(80, 30);
        stage.begin_turn("work");
        stage.wait(60);
        stage.event(permission(1));
        // It is not on the screen yet: a terminal may be busy for long.
        stage.wait(5);
        stage.press(code);
        assert!(stage.shown().contains(NEW), "{}", stage.shown());
        stage.wait_ms(499);
        assert!(stage.shown().contains(NEW), "{}", stage.shown());
        stage.press(code);
        assert_eq!(stage.sent(), [""; 0], "{code:?}");
        stage.wait_ms(699);
        assert!(stage.shown().contains(NEW), "what is typed keeps it waiting: {}", stage.shown());
        stage.wait_ms(1);
        assert!(!stage.shown().contains(NEW), "{}", stage.shown());
        stage.press(KeyCode::Char('1'));
        assert!(stage.sent()[0].starts_with("Answer("));
    }
}

#[test]
fn what_is_typed_before_a_question_is_read_is_kept() {
    let mut stage = Stage::new(80, 30);
    stage.begin_turn("work");
    stage.event(permission(1));
    stage.draw();
    stage.write("wait");
    stage.paste(" a bit");
    stage.wait_ms(600);
    assert!(stage.shown().contains(NEW), "a paste is input as well: {}", stage.shown());
    assert_eq!(stage.app.input.text(), "wait a bit");
    assert_eq!(stage.sent(), [""; 0]);
}

// Letters that mean nothing to a question are a message, and so is the Enter after them.
#[test]
fn words_written_at_a_question_are_no_answer() {
    for pause in [0, 5_000] {
        let mut stage = Stage::new(80, 30);
        stage.begin_turn("work");
        stage.ask(permission(1));
        stage.write("no");
        assert!(stage.shown().contains("you are writing; pause to answer · no"), "{}", stage.shown());
        stage.wait_ms(pause);
        assert_eq!(stage.shown().contains("Enter sends what you wrote"), pause > 0, "{}", stage.shown());
        stage.press(KeyCode::Enter);
        assert_eq!(stage.sent(), ["Steer no"]);
        stage.press(KeyCode::Enter);
        assert_eq!(stage.sent(), [""; 0], "pressed twice");
        stage.wait(1);
        stage.press(KeyCode::Enter);
        assert!(stage.sent()[0].starts_with("Answer("), "nothing is written any more");
    }
}

#[test]
fn a_question_can_be_answered_although_something_is_written() {
    for answer in [KeyCode::Down, KeyCode::Char('1')] {
        let mut stage = Stage::new(80, 30);
        stage.begin_turn("work");
        stage.ask(permission(1));
        stage.write("then");
        stage.paste(" the docs");
        stage.wait(1);
        stage.press(KeyCode::Backspace);
        stage.wait(1);
        stage.press(answer);
        if answer == KeyCode::Down {
            stage.press(KeyCode::Enter);
        }
        assert!(stage.sent()[0].starts_with("Answer("), "{answer:?}");
        assert_eq!(stage.app.input.text(), "then the doc");
    }
}

#[test]
fn the_question_after_an_answer_needs_a_look_of_its_own() {
    let mut stage = Stage::new(80, 30);
    stage.begin_turn("work");
    stage.ask(permission(1));
    stage.press(KeyCode::Char('1'));
    assert_eq!(stage.sent().len(), 1);
    // The next one comes at once, and the key was pressed twice.
    stage.event(permission(2));
    stage.draw();
    stage.press(KeyCode::Char('1'));
    assert_eq!(stage.sent(), [""; 0]);
    assert_eq!(stage.app.input.text(), "", "that key was not meant for the input either");
    // One that was settled elsewhere makes room for another one.
    stage.wait(60);
    stage.event(permission(3));
    stage.event(Event::Resolved(AskId(Uuid::from_u128(2))));
    stage.draw();
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), [""; 0], "{}", stage.shown());
    stage.wait(1);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent().len(), 1);
}

fn sessions() -> Reply {
    Reply::Sessions(vec![SessionRow {
        id: SessionId::default(),
        title: "paint the fence".to_owned(),
        age: "yesterday".to_owned(),
        detail: String::new(),
        elsewhere: None,
    }])
}

#[test]
fn lists_that_come_late_do_not_take_the_keys() {
    let style = StyleRow { name: "pirate".to_owned(), source: String::new(), is_current: false };
    let file = InstructionRow { path: "/work/AGENTS.md".into(), detail: String::new() };
    for (reply, command) in [
        (sessions(), "/resume"),
        (Reply::Styles(vec![style]), "/output-style"),
        (Reply::Memory(vec![file]), "/memory"),
    ] {
        let mut stage = Stage::new(80, 30);
        stage.write("half a ");
        stage.reply(reply.clone());
        stage.write("thought");
        assert_eq!(stage.app.input.text(), "half a thought", "{command}");
        assert!(stage.shown().contains(&format!("run {command} again to see it")), "{}", stage.shown());
        stage.key(KeyCode::Char('c'), KeyModifiers::CONTROL);
        stage.ask(permission(1));
        stage.reply(reply.clone());
        stage.press(KeyCode::Char('1'));
        assert_eq!(stage.sent().len(), 1, "the question is answered: {}", stage.shown());
        stage.wait(1);
        stage.reply(reply);
        assert!(!stage.shown().contains("What should be done?"), "{command}: {}", stage.shown());
    }
}

#[test]
fn pastes_go_to_the_field_that_is_open_or_to_the_input() {
    let mut stage = Stage::new(80, 30);
    stage.reply(sessions());
    stage.paste("roof");
    assert!(stage.shown().contains("search: roof") && stage.shown().contains("no session with such a title"));
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.input.text(), "");
    run(&mut stage, "/cost");
    stage.paste("for later");
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.input.text(), "for later");
    stage.ask(permission(1));
    stage.paste(", too");
    assert_eq!(stage.app.input.text(), "for later, too", "a question without a field takes none");
}

#[test]
fn a_path_that_is_pasted_into_an_answer_stays_a_path() {
    let mut stage = Stage::new(80, 30);
    stage.ask(permission(1));
    stage.write("3");
    assert!(stage.shown().contains("What should be done instead?"), "{}", stage.shown());
    stage.paste("/tmp/wanted.png");
    stage.press(KeyCode::Enter);
    assert!(stage.sent()[0].contains("/tmp/wanted.png"));
}

// VERB-03: what cannot go on in the background does not keep what can from it.
#[test]
fn the_command_goes_to_the_background_whatever_else_runs() {
    let mut stage = Stage::new(80, 30);
    stage.begin_turn("work");
    stage.call("c1", "Grep", &json!({"pattern": "x"}));
    assert!(!stage.shown().contains("to background"), "{}", stage.shown());
    stage.key(KeyCode::Char('b'), KeyModifiers::CONTROL);
    assert_eq!(stage.sent(), [""; 0]);
    assert!(stage.shown().contains("nothing that is running can move"), "{}", stage.shown());
    stage.call("c2", "Bash", &json!({"command": "make"}));
    assert!(stage.shown().contains("to background"), "{}", stage.shown());
    stage.key(KeyCode::Char('b'), KeyModifiers::CONTROL);
    assert_eq!(stage.sent(), ["Background(CallId(\"c2\"))"]);
}

// VERB-01
#[test]
fn up_in_a_search_takes_nothing_back() {
    let mut stage = Stage::new(80, 30);
    stage.begin_turn("work");
    stage.queue(1, "later", Delivery::Queue);
    stage.key(KeyCode::Char('r'), KeyModifiers::CONTROL);
    stage.press(KeyCode::Up);
    assert_eq!(stage.sent(), [""; 0]);
    assert!(stage.shown().contains("search:"), "{}", stage.shown());
}

#[test]
fn the_window_says_that_it_waits_only_when_it_does() {
    let mut stage = Stage::new(80, 30);
    let title = |stage: &mut Stage| {
        let titles = std::mem::take(&mut stage.effects).into_iter().filter_map(|effect| match effect {
            Effect::Title(title) => Some(title),
            _ => None,
        });
        titles.last()
    };
    stage.begin_turn("work");
    run(&mut stage, "/help");
    assert_eq!(title(&mut stage).as_deref(), Some("● tiller work"));
    stage.press(KeyCode::Esc);
    stage.event(permission(1));
    assert_eq!(title(&mut stage).as_deref(), Some("? tiller work"));
    stage.event(Event::Resolved(AskId(Uuid::from_u128(1))));
    stage.end_turn(Outcome::Success);
    assert_eq!(title(&mut stage).as_deref(), Some("tiller work"));
}

#[test]
fn what_the_turn_costs_is_seen_while_it_runs() {
    let mut stage = Stage::new(80, 30);
    stage.app.state.spent.usd = 1.0;
    stage.begin_turn("work");
    assert!(!stage.shown().contains("model · 0s · $"), "{}", stage.shown());
    stage.app.state.spent.usd = 1.25;
    assert!(stage.shown().contains("· $0.250"), "{}", stage.shown());
}
