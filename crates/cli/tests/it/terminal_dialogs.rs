//! Questions at a terminal, answered by keys: permission, plans, choices.

use serde_json::json;
use tiller_testkit::Reply;
use tiller_testkit::terminal::{LongRows, Program};

use crate::harness::{World, held_by_namespaces, result_text};
use crate::terminal::{ENTER, ESC, READY, begin, leave, planner, say, until_asked, until_done};

const DOWN: &str = "\x1b[B";
const RIGHT: &str = "\x1b[C";

fn bash(command: &str) -> Reply {
    Reply::new().tool("Bash", json!({"command": command}))
}

/// The last request, with the result of its last call.
fn last_result(world: &World) -> String {
    let request = world.server.messages().pop().unwrap().body().clone();
    let call = request.to_string();
    let id =
        call.rsplit("\"tool_use_id\":\"").next().and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    result_text(&request, &id)
}

// RULE-04: the rule is general, its scope is chosen, and it holds from then on.
#[test]
fn a_rule_is_kept_where_the_user_wants_it() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    world.server.replies([bash("touch one"), bash("touch two"), Reply::text("Done.")]);
    let program = begin(&world, &[]);
    say(&program, "make two files");
    until_asked(&program, "2. Yes, and from now on");
    program.type_in(DOWN);
    program.until_shown("› 2. Yes, and from now on");
    program.until_shown("only me");
    program.type_in(RIGHT);
    program.until_shown("this project, everyone");
    program.type_in(ENTER);
    until_done(&program, "● Done.");
    assert!(world.path("one").exists() && world.path("two").exists(), "the rule covers both");
    let settings = world.read(".tiller/settings.json");
    assert!(settings.contains("Bash(touch:*)"), "{settings}");
    leave(program);
}

#[test]
fn a_refusal_with_words_lets_the_agent_go_on() {
    let world = World::new();
    world.server.replies([bash("touch made"), Reply::text("As you wish.")]);
    let program = begin(&world, &[]);
    say(&program, "make it");
    until_asked(&program, "No, and say what to do instead");
    let choice = if program.text().contains("4. No, and say") { "4" } else { "3" };
    program.type_in(choice);
    program.until_shown("What should be done instead?");
    program.type_in("use a directory");
    program.until_shown("› use a directory");
    program.type_in(ENTER);
    until_done(&program, "● As you wish.");
    assert!(last_result(&world).contains("use a directory"));
    assert!(!world.path("made").exists());
    leave(program);
}

// Whoever writes "no" and Enter has not said yes.
#[test]
fn words_written_at_a_question_go_to_the_agent() {
    let world = World::new();
    world.server.replies([bash("touch made"), Reply::text("As you wish.")]);
    let program = begin(&world, &[]);
    say(&program, "make it");
    until_asked(&program, "Yes, this once");
    program.type_in("no");
    program.until_shown("Enter sends what you wrote");
    program.type_in(ENTER);
    program.until_shown("no  sent after the running step");
    until_asked(&program, "Yes, this once");
    assert!(!world.path("made").exists(), "nobody has answered");
    program.type_in(ESC);
    program.until_shown("You refused");
    assert!(!world.path("made").exists());
    until_done(&program, "● As you wish.");
    leave(program);
}

// Several questions wait in a row and are counted.
#[test]
fn questions_queue_up() {
    let world = World::new();
    let both = Reply::new()
        .tool("Bash", json!({"command": "touch first"}))
        .tool("Bash", json!({"command": "touch second"}));
    world.server.replies([both, Reply::text("Both are made.")]);
    let program = begin(&world, &[]);
    say(&program, "make two");
    program.until_shown("touch first");
    until_asked(&program, "Yes, this once");
    program.type_in("1");
    until_asked(&program, "$ touch second");
    program.type_in("1");
    until_done(&program, "● Both are made.");
    assert!(world.path("first").exists() && world.path("second").exists());
    leave(program);
}

fn plan(world: &World) -> Program {
    planner(world);
    let mut command = world.command(&["--permission-mode", "plan"]);
    command.env("TERM", "xterm-256color").env("EDITOR", world.path("edit.sh"));
    let program = Program::start(&command, 80, 30, LongRows::Wrap);
    program.until_shown(READY);
    say(&program, "plan it");
    program.until_shown("Touch a file.");
    until_asked(&program, "No, keep planning");
    program
}

const EDITS: &str = "#!/bin/sh\necho 'And stop.' >> \"$1\"\n";

// PLAN-17: what was edited is what gets approved; each edit is confirmed then.
#[test]
fn a_plan_is_edited_before_it_is_approved() {
    let world = World::new().program("edit.sh", EDITS);
    let program = plan(&world);
    program.type_in("e");
    program.until_shown("And stop.");
    program.type_in("2");
    until_asked(&program, "Yes, this once");
    program.type_in("1");
    until_done(&program, "● It is carried out.");
    program.until_shown("asks before changes");
    assert!(world.server.messages()[2].body().to_string().contains("And stop."), "the model hears of it");
    leave(program);
}

// PLAN-18: with words the planning goes on.
#[test]
fn a_plan_is_sent_back_with_words() {
    let world = World::new().program("edit.sh", EDITS);
    let program = plan(&world);
    program.type_in("3");
    program.until_shown("What should be different?");
    program.type_in("smaller steps");
    program.until_shown("› smaller steps");
    program.type_in(ENTER);
    program.until_shown("PLAN MODE");
    program.until("the model was told", |_| world.server.messages().len() >= 3);
    assert!(world.server.messages()[2].body().to_string().contains("smaller steps"));
    until_done(&program, "● It is carried out.");
    assert!(!world.path("carried-out.txt").exists(), "it is planning still");
    leave(program);
}

#[test]
fn questions_are_answered_by_keys() {
    let world = World::new();
    let option = |label: &str| json!({"label": label, "description": format!("{label} it is")});
    let questions = json!({"questions": [
        {"question": "Which colour?", "header": "Colour", "options": [option("Red"), option("Blue")]},
        {"question": "Which sizes?", "header": "Size", "multiSelect": true,
         "options": [option("Small"), option("Large")]},
    ]});
    world.server.replies([Reply::new().tool("AskUserQuestion", questions), Reply::text("Understood.")]);
    let program = begin(&world, &[]);
    say(&program, "paint");
    // The questions are named beside the call as well; what can be answered only stands where it is asked.
    until_asked(&program, "Red it is");
    program.type_in("2");
    program.until_shown("Small it is");
    program.type_in(" ");
    program.type_in(DOWN);
    program.type_in(" ");
    program.until("both are checked", |terminal| terminal.text().matches("[x]").count() == 2);
    program.type_in("\t");
    program.until_shown("Blue");
    program.type_in(ENTER);
    until_done(&program, "● Understood.");
    let told = last_result(&world);
    assert!(told.contains("Blue") && told.contains("Small") && told.contains("Large"), "{told}");
    assert!(!told.contains("Red"), "{told}");
    leave(program);
}

#[test]
fn esc_refuses_a_question_and_only_then_stops() {
    let world = World::new();
    world.server.replies([bash("touch made")]);
    let program = begin(&world, &[]);
    say(&program, "make it");
    until_asked(&program, "Yes, this once");
    program.type_in(ESC);
    program.until_shown("You refused");
    program.until_shown(READY);
    leave(program);
    assert_eq!(world.server.messages().len(), 1);
}

// What stands in a file and would go is seen before it goes.
#[test]
fn replacing_a_file_shows_the_lines_that_would_change() {
    let world = World::new().file("notes", "one\ntwo\nthree\n");
    let path = world.path("notes");
    world.server.replies([
        Reply::new().tool("Read", json!({"file_path": path})),
        Reply::new().tool("Write", json!({"file_path": path, "content": "one\n2\nthree\n"})),
        Reply::text("Replaced."),
    ]);
    let program = begin(&world, &[]);
    say(&program, "replace it");
    program.until_shown("Replace this file?");
    program.until_shown("replaces the file that is there: +1 -1");
    program.until_shown("2 - two");
    program.until_shown("2 + 2");
    until_asked(&program, "Yes, this once");
    program.type_in("1");
    program.until_shown("● Replaced.");
    assert_eq!(world.read("notes"), "one\n2\nthree\n");
    leave(program);
}

#[test]
fn changing_a_notebook_shows_the_lines_of_its_cell() {
    let cell = json!({"cell_type": "code", "id": "sum", "metadata": {}, "outputs": [], "execution_count": null,
        "source": ["a = 1\n", "b = 2"]});
    let notebook = json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    let world = World::new().file("sums.ipynb", &notebook.to_string());
    let path = world.path("sums.ipynb");
    world.server.replies([
        Reply::new().tool("Read", json!({"file_path": path})),
        Reply::new().tool(
            "NotebookEdit",
            json!({"notebook_path": path, "cell_id": "sum", "new_source": "a = 1\nb = 40 + 2"}),
        ),
        Reply::text("The sum is right now."),
    ]);
    let program = begin(&world, &[]);
    say(&program, "mend the sum");
    program.until_shown("2 - b = 2");
    program.until_shown("2 + b = 40 + 2");
    program.until_shown("cell_id: sum");
    until_asked(&program, "Yes, this once");
    program.type_in("1");
    program.until_shown("● The sum is right now.");
    assert!(world.read("sums.ipynb").contains("b = 40 + 2"));
    leave(program);
}
