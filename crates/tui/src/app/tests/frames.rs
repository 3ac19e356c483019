//! What people see, through a terminal.

use crossterm::event::KeyCode;
use serde_json::json;
use tiller_protocol::ask::{Ask, PermissionAsk};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::effect::{Effect as Change, Todo, TodoStatus};
use tiller_protocol::entry::{Body, Origin, Outcome, UserMessage};
use tiller_protocol::id::AskId;
use tiller_protocol::mode::Mode;

use super::stage::{Stage, entry, said};

// TERM-01, LEDG-06: what is written moves, and the line at the bottom has the share of steering.
#[test]
fn an_answer_while_it_is_written() {
    let mut stage = Stage::new(60, 20);
    stage.begin_turn("what is this?");
    stage.stream("It is **a program**.\n\n- one\n- two\n\nAnd it is not fin");
    stage.wait(3);
    insta::assert_snapshot!(stage.shown());
}

#[test]
fn a_command_that_runs_and_a_change_that_was_made() {
    let mut stage = Stage::new(60, 24);
    stage.begin_turn("change it");
    stage.call("c1", "Edit", &json!({"file_path": "/work/src/a.rs"}));
    let patch = json!([{"oldStart": 3, "newStart": 3, "lines": [" a", "-let x = 1;", "+let x = 2;", " b"]}]);
    stage.result(
        "c1",
        "Edit",
        json!({"type": "update", "filePath": "/work/src/a.rs", "structuredPatch": patch}),
    );
    stage.call("c2", "Bash", &json!({"command": "cargo test"}));
    let output: String = (1..20).map(|n| format!("test {n} ok\n")).collect();
    stage.event(Event::Progress { call: "c2".into(), data: json!({"output": output}) });
    stage.wait(12);
    insta::assert_snapshot!(stage.shown());
}

#[test]
fn a_question_for_permission() {
    let mut stage = Stage::new(60, 24);
    stage.begin_turn("change it");
    stage.call("c1", "Bash", &json!({"command": "rm -rf target"}));
    let ask = PermissionAsk {
        restates: false,
        cwd: "/work".into(),
        call: "c1".into(),
        tool: "Bash".to_owned(),
        input: json!({"command": "rm -rf target"}),
        reason: "no rule allows it".to_owned(),
        blocked_path: None,
        suggestions: Vec::new(),
        change: None,
        would_cover: Vec::new(),
        leaves_sandbox: false,
        agent: None,
    };
    stage.ask(Event::Asked(AskId::default(), Ask::Permission(ask)));
    insta::assert_snapshot!(stage.shown());
}

pub(super) fn todos() -> Body {
    let todo = |content: &str, status| Todo {
        content: content.to_owned(),
        status,
        active_form: format!("{content}ing"),
    };
    let todos = vec![
        todo("look", TodoStatus::Completed),
        todo("fix", TodoStatus::InProgress),
        todo("test", TodoStatus::Pending),
    ];
    Body::Effect(Change::SetTodos { todos })
}

// TERM-01
#[test]
fn forty_columns_are_enough() {
    let mut stage = Stage::new(40, 24);
    stage.set_mode(Mode::Plan);
    stage.append(todos());
    stage.begin_turn("a prompt that is longer than the terminal is wide");
    let table = "| a | b |\n|-|-|\n| one | a long cell in a narrow terminal |";
    stage.say(&format!("An answer with `code` that is longer than the terminal is wide.\n\n{table}"));
    stage.end_turn(Outcome::Success);
    insta::assert_snapshot!(stage.shown());
}

#[test]
fn twenty_columns_are_not_pretty_but_whole() {
    let mut stage = Stage::new(20, 12);
    stage.begin_turn("do it");
    stage.say("Done as you wished.");
    stage.end_turn(Outcome::Success);
    stage.write("next one");
    insta::assert_snapshot!(stage.shown());
}

#[test]
fn a_wide_terminal() {
    let mut stage = Stage::new(160, 14);
    stage.begin_turn("do it");
    stage.say("Done.");
    stage.end_turn(Outcome::Success);
    insta::assert_snapshot!(stage.shown());
}

// TERM-02
#[test]
fn wide_characters_measure_right() {
    let mut stage = Stage::new(30, 16);
    stage.begin_turn("日本語で説明してください。よろしくお願いします。");
    stage.stream("これは**太字**のテキストです。長い行は折り返されます。\n\n続き");
    stage.write("入力 ok");
    insta::assert_snapshot!(stage.shown());
    let (row, column) = stage.terminal.screen().cursor_position();
    let shown = stage.terminal.text();
    assert_eq!((shown.lines().nth(usize::from(row)), column), (Some("› 入力 ok"), 9));
}

#[test]
fn a_long_paste_is_folded() {
    let mut stage = Stage::new(60, 14);
    stage.write("look at ");
    let text: String = (0..100).map(|n| format!("pasted line {n}\n")).collect();
    stage.app.on_paste(&text);
    let shown = stage.shown();
    assert!(!shown.contains("pasted line 50"), "{shown}");
    insta::assert_snapshot!(shown);
    stage.press(KeyCode::Enter);
    assert!(stage.sent()[0].contains("pasted line 99"));
}

// TERM-01: in the middle of an answer the terminal becomes narrower, then wider.
#[test]
fn a_change_of_size_in_the_middle_of_an_answer() {
    let mut stage = Stage::new(60, 16);
    stage.begin_turn("count");
    let paragraphs: Vec<String> = (0..30).map(|n| format!("paragraph number {n}")).collect();
    stage.stream("");
    for (n, paragraph) in paragraphs.iter().enumerate() {
        stage.more(&format!("{paragraph}\n\n"));
        stage.draw();
        match n {
            10 => {
                stage.resize(40, 16);
                insta::assert_snapshot!("in_the_middle_of_an_answer_narrower", stage.shown());
            }
            20 => {
                stage.resize(70, 12);
                insta::assert_snapshot!("in_the_middle_of_an_answer_wider", stage.shown());
            }
            _ => {}
        }
    }
    stage.say(&paragraphs.iter().map(|text| format!("{text}\n\n")).collect::<String>());
    stage.end_turn(Outcome::Success);
    stage.draw();
    let lines = stage.terminal.lines();
    let found: Vec<&str> =
        lines.iter().filter_map(|line| line.find("paragraph").map(|at| &line[at..])).collect();
    assert_eq!(found, paragraphs);
}

#[test]
fn results_wait_for_the_answer_that_is_being_written() {
    let mut stage = Stage::new(60, 24);
    stage.begin_turn("do it");
    stage.call("c1", "Bash", &json!({"command": "make"}));
    stage.stream("First part.\n\nSecond part");
    stage.draw();
    stage.result("c1", "Bash", json!({"stdout": "made", "exitCode": 0}));
    stage.draw();
    stage.say("First part.\n\nSecond part.");
    let shown = stage.shown();
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text} is missing in\n{shown}"));
    assert!(at("First part.") < at("Second part.") && at("Second part.") < at("made"), "{shown}");
}

#[test]
fn plan_mode_cannot_be_overlooked() {
    let mut stage = Stage::new(60, 14);
    stage.set_mode(Mode::Plan);
    let shown = stage.shown();
    assert_eq!(shown.matches("plan mode").count(), 2, "{shown}");
    assert!(shown.contains("PLAN MODE: changes nothing"), "{shown}");
}

// TERM-03: of a long session only the end is shown; what of it is far away is not even looked at.
#[test]
fn of_a_long_past_the_end_is_shown() {
    let prompt = |text: &str| {
        let content = vec![RawBlock::text(text)];
        Body::User(UserMessage::new(content, Origin::Typed))
    };
    let code: String = (0..50_000).map(|n| format!("let x{n} = {n};\n")).collect();
    let mut past = vec![entry(1, prompt("the very first"))];
    past.extend((2..5_000).map(|n| entry(n, said(RawBlock::text(&format!("answer {n}"))))));
    past.push(entry(5_000, said(RawBlock::text(&format!("```\n{code}```\n\nThat was it.")))));
    let mut stage = Stage::resumed(60, 20, &past);
    stage.draw();
    let lines = stage.terminal.lines();
    let all = lines.join("\n");
    assert!(lines.len() < 350, "{}", lines.len());
    assert!(all.contains("What was said earlier is not shown") && !all.contains("the very first"), "{all}");
    assert!(all.contains("    let x49999 = 49999;\n\n  That was it."), "code is code still: {all}");
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Esc);
    assert!(stage.shown().contains("the very first"), "one can go back to it: {}", stage.shown());
}
