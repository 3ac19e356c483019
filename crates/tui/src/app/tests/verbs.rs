//! Keys and what they make the session do.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Attachment, Body, Delivery, Dequeued, Outcome};
use tiller_protocol::mode::Mode;

use super::stage::Stage;
use crate::app::{Effect, Exit};
use crate::host::{Reply, Request};
use crate::keys::Keymap;

// VERB-01
#[test]
fn enter_steers_and_tab_queues() {
    let mut stage = Stage::new(60, 20);
    stage.begin_turn("work");
    stage.write("this way");
    stage.press(KeyCode::Enter);
    stage.write("then that");
    stage.press(KeyCode::Tab);
    assert_eq!(stage.sent(), ["Steer this way", "Queue then that"]);
}

// VERB-01: each says when it will land, and when it has landed.
#[test]
fn what_waits_says_when_it_lands() {
    let mut stage = Stage::new(80, 20);
    stage.begin_turn("work");
    let steered = stage.queue(1, "this way", Delivery::Steer);
    stage.queue(2, "then that", Delivery::Queue);
    let shown = stage.shown();
    assert!(shown.contains("this way  sent after the running step"), "{shown}");
    assert!(shown.contains("then that  sent after the turn"), "{shown}");
    let prompt = json!([{"type": "text", "text": "this way"}]);
    let content = json!({"type": "queued_command", "id": steered, "prompt": prompt});
    stage.append(Body::Attachment(Attachment::new(content, "queue", String::new(), Vec::new())));
    let shown = stage.shown();
    assert!(
        shown.contains("> this way  steered: delivered now") && !shown.contains("running step"),
        "{shown}"
    );
    stage.end_turn(Outcome::Interrupted);
    let shown = stage.shown();
    assert!(shown.contains("then that  waits for your next message"), "{shown}");
}

// VERB-01
#[test]
fn what_is_queued_can_be_edited_moved_promoted_and_dropped() {
    let mut stage = Stage::new(80, 20);
    stage.begin_turn("work");
    let ctrl_q = |stage: &mut Stage| stage.key(KeyCode::Char('q'), KeyModifiers::CONTROL);
    ctrl_q(&mut stage);
    assert!(stage.shown().contains("nothing is queued"));
    let [first, second, third] = [(1, "first"), (2, "second"), (3, "third")]
        .map(|(number, text)| stage.queue(number, text, Delivery::Queue));
    let redeliver = |id, delivery: &str| format!("Redeliver({id:?}, {delivery})");
    ctrl_q(&mut stage);
    insta::assert_snapshot!("queue", stage.shown());
    // What is delivered anew comes last: together that is the order that is shown.
    stage.press(KeyCode::Down);
    stage.key(KeyCode::Up, KeyModifiers::SHIFT);
    let after = [second, first, third].map(|id| redeliver(id, "Queue"));
    assert_eq!(stage.sent(), after);
    assert_eq!(order(&mut stage), ["second", "first", "third"], "at once, before the session has followed");
    stage.key(KeyCode::Up, KeyModifiers::SHIFT);
    assert_eq!(stage.sent(), [""; 0], "it is the first already");
    stage.press(KeyCode::Down);
    stage.key(KeyCode::Down, KeyModifiers::ALT);
    assert_eq!(stage.sent(), [third, first].map(|id| redeliver(id, "Queue")));
    stage.press(KeyCode::Up);
    stage.press(KeyCode::Char(' '));
    assert_eq!(stage.sent(), [redeliver(third, "Steer"), redeliver(first, "Queue")], "it keeps its place");
    stage.press(KeyCode::Delete);
    assert_eq!(stage.sent(), [format!("Dequeue({third:?})")]);
    stage.append(Body::Dequeued(Dequeued { ids: vec![third] }));
    assert_eq!(order(&mut stage), ["second", "first"]);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), [format!("Dequeue({first:?})")]);
    assert_eq!(stage.app.input.text(), "first");
    assert!(!stage.shown().contains("What waits"));
}

// VERB-01: keys that come faster than the session follows mean what is shown.
#[test]
fn the_queue_is_changed_faster_than_the_session_follows() {
    let mut stage = Stage::new(80, 20);
    stage.begin_turn("work");
    let [first, second, third] = [(1, "first"), (2, "second"), (3, "third")]
        .map(|(number, text)| stage.queue(number, text, Delivery::Queue));
    let redeliver = |id, delivery: &str| format!("Redeliver({id:?}, {delivery})");
    stage.key(KeyCode::Char('q'), KeyModifiers::CONTROL);
    stage.press(KeyCode::Char(' '));
    assert!(stage.shown().contains("↪ first"), "{}", stage.shown());
    assert_eq!(
        stage.sent(),
        [redeliver(first, "Steer"), redeliver(second, "Queue"), redeliver(third, "Queue")]
    );
    stage.press(KeyCode::Char(' '));
    assert_eq!(
        stage.sent()[0],
        redeliver(first, "Queue"),
        "what is asked for counts, not what has been done"
    );
    stage.press(KeyCode::Delete);
    stage.press(KeyCode::Delete);
    assert_eq!(stage.sent(), [first, second].map(|id| format!("Dequeue({id:?})")));
    assert_eq!(order(&mut stage), ["third"]);
    stage.press(KeyCode::Delete);
    assert_eq!(stage.sent(), [format!("Dequeue({third:?})")]);
    assert!(!stage.shown().contains("What waits"));
}

/// The texts of the list, from the top.
fn order(stage: &mut Stage) -> Vec<String> {
    let shown = stage.shown();
    let (_, list) = shown.split_once("What waits").unwrap();
    let word = |line: &str| line.split_once("⧗ ").map(|(_, rest)| rest.split(' ').next().unwrap().to_owned());
    list.lines().filter_map(word).collect()
}

// VERB-01: what waits is at hand.
#[test]
fn up_in_an_empty_input_takes_back_what_waits() {
    let mut stage = Stage::new(80, 20);
    stage.begin_turn("work");
    stage.queue(1, "first", Delivery::Queue);
    let second = stage.queue(2, "second", Delivery::Steer);
    stage.press(KeyCode::Up);
    assert_eq!(stage.sent(), [format!("Dequeue({second:?})")]);
    assert_eq!(stage.app.input.text(), "second");
    stage.press(KeyCode::Up);
    assert_eq!(stage.sent(), [""; 0], "the input is not empty any more");
}

// VERB-02
#[test]
fn esc_stops_and_keeps_what_is_typed() {
    let mut stage = Stage::new(60, 20);
    stage.write("half a thou");
    stage.press(KeyCode::Esc);
    assert_eq!(stage.sent(), [""; 0], "nothing is running");
    stage.begin_turn("work");
    stage.press(KeyCode::Left);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.sent(), ["Interrupt"]);
    assert!(stage.shown().contains("Stopping"));
    assert_eq!(stage.app.input.text(), "half a thou");
}

// VERB-03
#[test]
fn ctrl_b_lets_the_running_command_go_on_in_the_background() {
    let mut stage = Stage::new(60, 20);
    stage.key(KeyCode::Char('b'), KeyModifiers::CONTROL);
    assert!(stage.shown().contains("nothing is running"));
    stage.begin_turn("work");
    stage.call("c7", "Bash", &json!({"command": "make"}));
    stage.key(KeyCode::Char('b'), KeyModifiers::CONTROL);
    assert_eq!(stage.sent(), ["Background(CallId(\"c7\"))"]);
}

// PERM-13
#[test]
fn shift_tab_goes_on_to_the_next_mode() {
    let mut stage = Stage::new(60, 20);
    stage.key(KeyCode::BackTab, KeyModifiers::SHIFT);
    assert_eq!(stage.sent(), ["CycleMode"]);
    stage.set_mode(Mode::AcceptEdits);
    assert!(stage.shown().contains("accepts edits"));
}

#[test]
fn ctrl_c_clears_then_stops_then_leaves() {
    let mut stage = Stage::new(60, 20);
    let ctrl_c = |stage: &mut Stage| stage.key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    stage.write("text");
    ctrl_c(&mut stage);
    assert_eq!(stage.app.input.text(), "");
    stage.begin_turn("work");
    ctrl_c(&mut stage);
    assert_eq!(stage.sent(), ["Interrupt"]);
    stage.end_turn(Outcome::Interrupted);
    ctrl_c(&mut stage);
    assert!(stage.shown().contains("press Ctrl+C again to exit"));
    stage.wait(10);
    ctrl_c(&mut stage);
    assert_eq!(stage.sent(), [""; 0], "the first time was long ago");
    ctrl_c(&mut stage);
    assert_eq!(stage.sent(), ["Leave"]);
    stage.event(Event::Closed);
    let left = stage.effects.iter().any(|effect| matches!(effect, Effect::Exit(Exit::Quit)));
    assert!(left, "{:?}", stage.effects);
}

#[test]
fn ctrl_d_leaves_only_when_nothing_is_written() {
    let mut stage = Stage::new(60, 20);
    stage.write("x");
    stage.key(KeyCode::Char('d'), KeyModifiers::CONTROL);
    assert_eq!(stage.sent(), [""; 0]);
    stage.press(KeyCode::Backspace);
    stage.key(KeyCode::Char('d'), KeyModifiers::CONTROL);
    assert_eq!(stage.sent(), ["Leave"]);
}

#[test]
fn commands_do_what_they_say() {
    let mut stage = Stage::new(80, 40);
    let mut run = |text: &str| {
        stage.write(&format!("{text} "));
        stage.press(KeyCode::Enter);
        let shown = stage.shown();
        stage.press(KeyCode::Esc);
        // A command that does not exist stays in the input.
        stage.key(KeyCode::Char('u'), KeyModifiers::CONTROL);
        (stage.sent(), shown)
    };
    assert_eq!(run("/plan look around").0, ["SetMode(Plan)", "Steer look around"]);
    assert_eq!(run("/model opus").0, ["SetModel(\"opus\")"]);
    assert!(run("/cost").1.contains("waited for the provider"));
    assert!(run("/context").1.contains("system prompt"));
    assert!(run("/nosuch").1.contains("There is no command /nosuch"));
    assert_eq!(run("/clear").0, ["Clear"]);
}

#[test]
fn panels_open_over_the_input_and_close_again() {
    let mut stage = Stage::new(80, 40);
    for (command, shown) in [("/help ", "/steering"), ("/steering ", "teering")] {
        stage.write(command);
        stage.press(KeyCode::Enter);
        let text = stage.shown();
        assert!(text.contains(shown) && !text.contains("What should be done?"), "{text}");
        stage.press(KeyCode::Esc);
        assert!(stage.shown().contains("What should be done?"));
    }
}

#[test]
fn a_command_of_the_users_own_is_told_with_the_next_prompt() {
    let mut stage = Stage::new(80, 30);
    stage.write("!ls");
    stage.press(KeyCode::Enter);
    let asked = |effect: &Effect| matches!(effect, Effect::Ask(Request::Shell(line)) if line == "ls");
    assert!(stage.effects.iter().any(asked));
    stage.app.on_reply(Reply::Ran { command: "ls".to_owned(), output: "a.rs\n".to_owned(), code: Some(0) });
    assert!(stage.shown().contains("a.rs"));
    stage.write("what is it?");
    stage.press(KeyCode::Enter);
    assert_eq!(
        stage.sent(),
        [
            "Steer <ran-in-terminal>\nI ran `ls` in the terminal. It printed:\na.rs\n</ran-in-terminal> | what is it?"
        ]
    );
}

// TERM-03: what comes faster than it can be shown does not keep keys waiting.
#[test]
fn a_flood_is_shown_in_portions() {
    let mut stage = Stage::new(60, 20);
    stage.begin_turn("flood");
    stage.draw();
    stage.stream("");
    let text: String = (0..5_000).map(|n| format!("paragraph {n}\n\n")).collect();
    stage.more(&text);
    stage.say(&text);
    assert_eq!(stage.app.take_finished(10).len(), 10);
    assert!(stage.app.has_finished() && stage.app.backlog() > 1_000, "{}", stage.app.backlog());
    let mut rest = 0;
    while let count @ 1.. = stage.app.take_finished(1_000).len() {
        rest += count;
    }
    assert!(rest > 9_900, "{rest}");
    assert_eq!(stage.app.backlog(), 0);
}

// TERM-03
#[test]
fn nothing_wakes_an_idle_front_end() {
    let mut stage = Stage::new(60, 20);
    assert_eq!(stage.app.wakes_at(), None);
    stage.begin_turn("work");
    assert!(stage.app.wakes_at().is_some());
    stage.end_turn(Outcome::Success);
    assert_eq!(stage.app.wakes_at(), None);
}

#[test]
fn hints_name_the_keys_that_count() {
    let keys =
        [("ctrl+x", "queue"), ("tab", "none"), ("f2", "clear"), ("ctrl+c", "none"), ("ctrl+k", "background")];
    // What is closed with a key has to stay closable.
    let keys = keys.into_iter().chain([("f3", "cancel"), ("f4", "menu-close")]);
    let mut stage = Stage::with_keys(80, 20, Keymap::with(keys).unwrap());
    stage.press(KeyCode::F(2));
    assert!(stage.shown().contains("press F2 again to exit"), "{}", stage.shown());
    stage.event(Event::Suggestion("run the tests".to_owned()));
    assert!(stage.shown().contains("run the tests (Ctrl+X takes it)"), "{}", stage.shown());
    stage.begin_turn("work");
    assert!(stage.shown().contains("Enter steers, Ctrl+X queues"), "{}", stage.shown());
    stage.write("half a line");
    stage.key(KeyCode::Home, KeyModifiers::NONE);
    stage.key(KeyCode::Char('k'), KeyModifiers::CONTROL);
    assert!(
        stage.shown().contains("half a line"),
        "a key that was given away does not cut: {}",
        stage.shown()
    );
    assert!(stage.shown().contains("nothing is running"), "{}", stage.shown());
}

// SESS-19: a proposal is only a proposal: it is taken with a key where nothing is written, and gone with the next turn.
#[test]
fn a_proposal_is_taken_with_tab_where_nothing_is_written() {
    let mut stage = Stage::new(80, 20);
    stage.event(Event::Suggestion("run the tests".to_owned()));
    assert!(stage.shown().contains("run the tests (Tab takes it)"));
    stage.press(KeyCode::Enter);
    assert!(stage.sent().is_empty(), "nobody has written it yet");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["Steer run the tests"]);
    stage.event(Event::Suggestion("commit it".to_owned()));
    stage.write("no");
    assert!(!stage.shown().contains("commit it"));
    stage.begin_turn("no");
    stage.end_turn(Outcome::Success);
    assert!(!stage.shown().contains("commit it"));
}
