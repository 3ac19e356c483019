//! Plain mode: what lines mean, and that only one that is an answer is taken for one.

use serde_json::json;
use tiller_testkit::terminal::Program;
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, blocks_of, eventually};
use crate::steering::PIXEL;
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

fn until_awaited(program: &Program) {
    program.until("input is awaited", |terminal| terminal.text().trim_end().ends_with("\n>"));
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
    until_awaited(&program);
    assert!(!world.path("other").exists());
    let sent = world.server.messages();
    assert!(sent[2].body().to_string().contains("write it down instead"));
    assert!(!sent.iter().any(|request| request.body().to_string().contains("nonsense")));
    let printed = leave(program);
    assert!(!printed.contains('›') && !printed.contains("esc no"), "{printed}");
}

// What the terminal shows as it is typed is not printed again; what nobody typed here is.
#[test]
fn a_prompt_stands_there_once() {
    let world = World::new();
    world.server.replies([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]);
    let program = open(&world, &["--plain", "from the command line"], 100, 60);
    program.until_shown("● One.");
    until_awaited(&program);
    program.type_in("typed here\n");
    program.until_shown("● Two.");
    until_awaited(&program);
    let printed = leave(program);
    for prompt in ["from the command line", "typed here"] {
        assert_eq!(printed.matches(prompt).count(), 1, "{prompt}: {printed}");
    }
    let piped = world.run_with_stdin(&["--plain"], "from a pipe\n").ok();
    assert_eq!(piped.stdout.matches("> from a pipe").count(), 1, "{}", piped.stdout);
}

#[test]
fn what_is_said_on_the_command_line_may_be_a_command() {
    let world = World::new();
    let program = open(&world, &["--plain", "/status"], 100, 60);
    program.until_shown("── Status");
    until_awaited(&program);
    leave(program);
    assert_eq!(world.server.messages().len(), 0);
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
    until_awaited(&program);
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
    // Whoever leaves before the turn has ended stops it.
    until_awaited(&program);
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
    // Who leaves in the middle of a turn interrupts it.
    until_awaited(&program);
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
        let hints = program.printed().matches("again to exit").count();
        program.type_in(CTRL_C);
        let answered =
            |text: &str| text.contains("tiller --resume") || text.matches("again to exit").count() > hints;
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
    until_awaited(&program);
    assert!(!world.path("made").exists());
    leave(program);
}

// TERM-01: a line is taken as it was written, whatever is in it.
#[test]
fn lines_are_taken_as_they_were_written() {
    let world = World::new().file("src/parser.rs", "");
    let program = begin(&world, &[]);
    for line in ["look at @src", "a path ends with \\", "/etc/hosts is odd", " /mod"] {
        world.server.reply(Reply::text("Understood."));
        let before = world.server.messages().len();
        program.type_in(&format!("{line}\n"));
        eventually("the line was sent", || world.server.messages().len() > before);
        program.until("it is awaited", |terminal| terminal.text().trim_end().ends_with("\n>"));
        let request = world.server.messages().pop().unwrap();
        let texts = blocks_of(request.body(), "text");
        assert!(texts.iter().any(|block| block["text"] == line), "{line}: {texts:#?}");
    }
    program.type_in("/mod\n");
    program.until_shown("There is no command /mod");
    leave(program);
}

#[test]
fn the_first_sign_of_a_line_says_what_it_is() {
    let world = World::new();
    world.server.reply(Reply::text("Understood."));
    let program = begin(&world, &[]);
    program.type_in("!echo $((6 * 7)) > answer; cat answer\n");
    program.until_shown("\n  42");
    program.type_in("#always run the tests\n");
    program.until_shown("Added to AGENTS.md");
    assert_eq!(world.read("AGENTS.md"), "- always run the tests\n");
    assert!(world.server.messages().is_empty(), "neither is for the model");
    program.type_in("go\n");
    program.until_shown("Understood.");
    until_awaited(&program);
    assert!(
        world.server.messages()[0].body().to_string().contains("I ran `echo"),
        "it is told of the command"
    );
    leave(program);
}

// Whoever only writes to it may have closed the input before the image was read.
#[test]
fn an_image_is_sent_with_the_line_that_names_it() {
    let world = World::new();
    world.server.reply(Reply::text("I see it."));
    let shot = world.path("shot.png");
    fs_err::write(&shot, PIXEL).unwrap();
    let run = world.run_with_stdin(&["--plain"], &format!("{}\n", shot.display())).ok();
    assert!(run.stdout.contains("I see it."), "{run:#?}");
    assert_eq!(blocks_of(world.server.messages()[0].body(), "image").len(), 1);
    world.server.assert_clean();
}

// PERM-13: there is no mode key here, and no line that would always show the mode.
#[test]
fn the_mode_is_told_and_can_be_changed() {
    let world = World::new();
    let program = begin(&world, &["--permission-mode", "plan"]);
    program.until_shown("Mode: PLAN MODE: changes nothing · commands ");
    program.type_in("/mode default\n");
    program.until_shown("Mode: asks before changes · commands ");
    program.type_in("/mode\n");
    program.until_shown("Which mode? Current: default");
    program.until_shown("Type one of the numbers 1 to 5");
    program.type_in("2\n");
    program.until_shown("Mode: accepts edits · commands ");
    program.type_in("/mode bogus\n");
    program.until_shown("There is no mode bogus. Known modes: default");
    leave(program);
}

#[test]
fn the_help_has_the_keys_of_lines_and_the_last_words_a_row_of_their_own() {
    let world = World::new();
    world.server.reply(Reply::text("Hello."));
    let program = begin(&world, &[]);
    program.type_in("/help\n");
    program.until_shown("Stop the agent; pressed again, leave");
    program.type_in("hi\n");
    program.until_shown("Hello.");
    until_awaited(&program);
    let printed = leave(program);
    assert!(!printed.contains("ctrl+o"), "{printed}");
    assert!(printed.contains("\ntiller --resume ") && !printed.contains("> tiller --resume"), "{printed}");
}
