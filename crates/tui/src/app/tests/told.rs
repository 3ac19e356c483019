//! What is told: once, in full, and what was meant.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use tiller_protocol::entry::{Body, Level, Notice, Outcome};

use super::stage::Stage;
use super::views::run;
use crate::app::Effect;
use crate::host::{Reply, Request};

fn first_prompt(stage: &mut Stage, text: &str) {
    let effects = stage.app.on_first_prompt(text);
    stage.effects.extend(effects);
}

#[test]
fn what_is_said_on_the_command_line_may_be_a_command_and_is_remembered() {
    let mut stage = Stage::new(80, 30);
    first_prompt(&mut stage, "/help");
    assert!(stage.shown().contains("── Help"), "{}", stage.shown());
    assert!(matches!(&stage.requests()[..], [Request::Remember(past)] if past.text == "/help"));
    stage.press(KeyCode::Esc);

    first_prompt(&mut stage, "/plan the tests");
    assert_eq!(stage.sent(), ["SetMode(Plan)", "Steer the tests"]);
    for plain in ["! is a sign", "# Heading"] {
        first_prompt(&mut stage, plain);
        assert_eq!(stage.sent(), [format!("Steer {plain}")]);
    }

    first_prompt(&mut stage, "/nonsense");
    assert_eq!(stage.sent(), [""; 0]);
    assert_eq!(stage.shown().matches("There is no command /nonsense").count(), 1, "{}", stage.shown());
}

#[test]
fn a_failure_is_told_once() {
    let mut stage = Stage::new(80, 30);
    let failed = || Outcome::Error { message: "there is nothing to fold".to_owned(), status: None };
    stage.begin_turn("fold");
    let content = "The conversation could not be compacted: there is nothing to fold".to_owned();
    stage.append(Body::Notice(Notice { subtype: "compaction".to_owned(), level: Level::Warning, content }));
    stage.end_turn(failed());
    assert_eq!(stage.shown().matches("there is nothing to fold").count(), 1, "{}", stage.shown());
    stage.begin_turn("again");
    stage.end_turn(failed());
    assert_eq!(stage.shown().matches("there is nothing to fold").count(), 2, "another one is told");
}

#[test]
fn a_mode_that_the_session_may_not_have_is_not_offered() {
    let mut stage = Stage::new(80, 30);
    stage.app.info.bypass_available = false;
    run(&mut stage, "/mode");
    assert!(!stage.shown().contains("bypassPermissions"), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    stage.app.info.bypass_available = true;
    run(&mut stage, "/mode");
    assert!(stage.shown().contains("bypassPermissions"), "{}", stage.shown());
}

#[test]
fn an_answer_keeps_what_stands_before_a_carriage_return() {
    let mut stage = Stage::new(80, 30);
    stage.begin_turn("say it");
    stage.stream("first\rsecond\r\n\nthe end");
    let shown = stage.shown();
    assert!(["first", "second", "the end"].iter().all(|part| shown.contains(part)), "{shown}");
    stage.say("first\rsecond\r\n\nthe end");
    stage.call("c1", "Bash", &json!({"command": "make"}));
    stage.result("c1", "Bash", json!({"stdout": "10%\rall done\n", "stderr": ""}));
    let shown = stage.shown();
    assert!(shown.contains("first") && shown.contains("all done") && !shown.contains("10%"), "{shown}");
}

#[test]
fn output_that_was_cut_for_the_model_says_where_all_of_it_is() {
    let mut stage = Stage::new(80, 40);
    let printed: String = (0..2_000).map(|number| format!("{number}\n")).collect();
    stage.call("c1", "Bash", &json!({"command": "seq 1 200000"}));
    stage.result("c1", "Bash", json!({"stdout": printed, "stderr": "", "files": ["/spill/c1.stdout.txt"]}));
    let shown = stage.shown();
    assert!(
        shown.contains("all of it is in /spill/c1.stdout.txt") && !shown.contains("more lines"),
        "{shown}"
    );
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    assert!(stage.shown().contains("long; the model got a part"), "{}", stage.shown());
    stage.press(KeyCode::Enter);
    assert!(stage.shown().contains("all of it is in /spill/c1.stdout.txt"), "{}", stage.shown());
}

#[test]
fn lists_of_todos_are_not_listed_as_json() {
    let mut stage = Stage::new(80, 30);
    let todo = |status: &str| json!({"content": "do it", "status": status, "activeForm": "doing it"});
    stage.call("c1", "TodoWrite", &json!({"todos": [todo("completed"), todo("pending")]}));
    stage.result("c1", "TodoWrite", json!({}));
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    let shown = stage.shown();
    assert!(shown.contains("TodoWrite 1 of 2 done") && !shown.contains('{'), "{shown}");
}

#[test]
fn a_line_of_the_users_own_has_one_sign() {
    let mut stage = Stage::new(80, 30);
    for code in [0, 1] {
        stage.reply(Reply::Ran {
            command: "echo hi".to_owned(),
            output: "hi\n".to_owned(),
            code: Some(code),
        });
    }
    let shown = stage.shown();
    assert_eq!(shown.lines().filter(|row| row.trim_end() == "! echo hi").count(), 2, "{shown}");
}

#[test]
fn a_page_is_written_below_the_users_home() {
    let mut stage = Stage::new(80, 30);
    run(&mut stage, "/export ~/page.html");
    let words = stage.effects.iter().find_map(|effect| match effect {
        Effect::Ask(Request::Run { words, .. }) => Some(words.clone()),
        _ => None,
    });
    assert_eq!(words.unwrap().last().unwrap(), "/home/u/page.html");
}

#[test]
fn lines_of_a_page_that_go_on_stay_below_what_they_belong_to() {
    let mut stage = Stage::new(40, 30);
    let text = format!("Explore\n  {}", "word ".repeat(20));
    stage.reply(Reply::Report { title: "Agents", text });
    let shown = stage.shown();
    let rows: Vec<&str> = shown.lines().filter(|row| row.contains("word")).collect();
    assert!(rows.len() > 2 && rows.iter().all(|row| row.starts_with("  word")), "{shown}");
}
