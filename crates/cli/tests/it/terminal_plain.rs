//! Questions in plain mode: only a line that is an answer is taken for one.

use serde_json::json;
use tiller_testkit::terminal::Program;
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, eventually};
use crate::terminal::{open, planner};

const CTRL_C: &str = "\x03";

fn begin(world: &World, args: &[&str]) -> Program {
    let program = open(world, &[&["--plain"][..], args].concat(), 100, 60);
    program.until_shown("\n>");
    program
}

/// Types something that is no answer, and sees the question again.
fn is_asked_again(program: &Program, question: &str, line: &str) {
    let before = program.printed().matches(question).count();
    program.type_in(&format!("{line}\n"));
    eventually("the question is printed again", || program.printed().matches(question).count() > before);
}

fn leave(mut program: Program) -> String {
    program.type_in("/exit\n");
    assert_eq!(program.wait(), 0);
    program.printed()
}

// TERM-01
#[test]
fn permission_is_given_only_by_what_was_offered() {
    let world = World::new();
    let touch = |file: &str| Reply::new().tool("Bash", json!({"command": format!("touch {file}")}));
    world.server.replies([touch("made"), touch("other"), Reply::text("Something else.")]);
    let program = begin(&world, &[]);
    program.type_in("make it\n");
    program.until_shown("Type one of the numbers 1 to ");
    for line in ["", "nonsense", "0", "9", "no way", "/status", "1 please"] {
        is_asked_again(&program, "Type one of the numbers 1 to ", line);
    }
    program.type_in("no\n");
    program.until_shown("You refused");
    assert!(!world.path("made").exists());
    program.type_in("make the other\n");
    program.until_shown("touch other");
    program.until("the second question is there", |terminal| {
        terminal.text().rsplit("You refused").next().is_some_and(|text| text.contains("your words"))
    });
    let printed = program.printed();
    let own_words =
        printed.rsplit("or \"").next().and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    program.type_in(&format!("{own_words} write it down instead\n"));
    program.until_shown("Something else.");
    assert!(!world.path("other").exists());
    let sent = world.server.messages();
    assert!(sent[2].body().to_string().contains("write it down instead"));
    assert!(!sent.iter().any(|request| request.body().to_string().contains("nonsense")));
    let printed = leave(program);
    assert!(!printed.contains('›') && !printed.contains("esc no"), "{printed}");
}

// PLAN-16
#[test]
fn a_plan_is_not_approved_by_other_words() {
    let world = World::new();
    planner(&world);
    let program = begin(&world, &["--permission-mode", "plan"]);
    program.type_in("plan it\n");
    program.until_shown("Carry out this plan?");
    for line in ["use a trait instead", "", "yes"] {
        is_asked_again(&program, "Carry out this plan?", line);
    }
    assert!(!world.path("carried-out.txt").exists());
    program.type_in("no\n");
    program.until_shown("You refused");
    assert!(!world.path("carried-out.txt").exists());
    assert_eq!(world.server.messages().len(), 2);
    leave(program);
}

#[test]
fn the_agents_questions_are_answered_by_numbers_and_own_words() {
    let world = World::new();
    let option = |label: &str| json!({"label": label, "description": ""});
    let question = |text: &str, several: bool| json!({"question": text, "header": "Which", "multiSelect": several, "options": [option("red"), option("blue")]});
    let questions = json!({"questions": [question("Which colour?", false), question("Which ones?", true)]});
    world.server.replies([Reply::new().tool("AskUserQuestion", questions), Reply::text("Thank you.")]);
    let program = begin(&world, &[]);
    program.type_in("ask me\n");
    program.until_shown("Type one of the numbers 1 to 3");
    is_asked_again(&program, "Which colour?", "/status");
    program.type_in("3 deep green\n");
    program.until_shown("Type one or more of the numbers 1 to 3");
    program.type_in("1,2\n");
    program.until_shown("Send the answers");
    is_asked_again(&program, "Send the answers", "");
    program.type_in("1\n");
    program.until_shown("Thank you.");
    let body = world.server.messages()[1].body().to_string();
    assert!(body.contains("deep green") && body.contains("red, blue"), "{body}");
    leave(program);
}

#[test]
fn a_project_is_not_trusted_by_an_empty_line() {
    let hooks =
        r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}"#;
    let world = World::new().file(".tiller/settings.json", hooks);
    world.server.reply(Reply::text("Untouched."));
    let program = open(&world, &["--plain"], 100, 60);
    program.until_shown("Type one of the numbers 1 to 3");
    is_asked_again(&program, "Do you trust", "");
    is_asked_again(&program, "Do you trust", "yes please");
    program.type_in("no\n");
    program.until_shown("\n>");
    program.type_in("go\n");
    program.until_shown("Untouched.");
    assert!(!world.path("ran").exists());
    leave(program);
}

// VERB-02
#[test]
fn ctrl_c_stops_the_turn_and_leaves_when_pressed_again() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("Half of an\n\n").gate(&gate).more(" answer"));
    let mut program = begin(&world, &[]);
    program.type_in("write\n");
    program.until_shown("Half of an");
    program.type_in(CTRL_C);
    program.until_shown("Stopped.");
    gate.open();
    // On a busy machine the second may come too late to belong to the first.
    for _ in 0..30 {
        let hints = program.printed().matches("again to leave").count();
        program.type_in(CTRL_C);
        let answered =
            |text: &str| text.contains("tiller --resume") || text.matches("again to leave").count() > hints;
        eventually("Ctrl+C has been understood", || answered(&program.printed()));
        if program.printed().contains("tiller --resume") {
            break;
        }
    }
    assert_eq!(program.wait(), 0, "{}", program.text());
}

#[test]
fn ctrl_c_at_a_question_refuses() {
    let world = World::new();
    world.server.reply(Reply::new().tool("Bash", json!({"command": "touch made"})));
    let program = begin(&world, &[]);
    program.type_in("make it\n");
    program.until_shown("Type one of the numbers 1 to ");
    program.type_in(CTRL_C);
    program.until("input is awaited", |terminal| terminal.text().trim_end().ends_with("\n>"));
    assert!(!world.path("made").exists());
    leave(program);
}
