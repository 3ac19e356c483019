//! Going back at a terminal: by keys, after a look at the difference.

use serde_json::json;
use tiller_testkit::Reply;
use tiller_testkit::terminal::Program;

use crate::harness::{World, eventually};
use crate::terminal::{ENTER, ESC, READY, begin, leave, say, until_done};

const UP: &str = "\x1b[A";
const LIST: &str = "Go back to before which prompt?";

fn step(world: &World, command: &str, said: &str) {
    world.server.replies([Reply::new().tool("Bash", json!({"command": command})), Reply::text(said)]);
}

/// Two prompts, each of which changes files by a command.
fn two_prompts(world: &World) -> Program {
    step(world, "printf 'one\\ntwo\\n' > file; echo x > new", "Made.");
    step(world, "printf 'one\\n2\\nthree\\n' > file; rm new", "Changed.");
    let program = begin(world, &["--permission-mode", "bypassPermissions"]);
    say(&program, "make it");
    until_done(&program, "● Made.");
    say(&program, "change it");
    until_done(&program, "● Changed.");
    program
}

/// Presses Esc twice; once more if on a busy machine the second came too late to belong to the first.
fn escape_twice(program: &Program) {
    while !program.text().contains(LIST) {
        program.type_in(ESC);
        program.until("Esc has been understood", |terminal| {
            let text = terminal.text();
            text.contains("press esc again") || text.contains(LIST)
        });
        program.type_in(ESC);
        program.until("it was pressed again", |terminal| {
            let text = terminal.text();
            !text.contains("press esc again") || text.contains(LIST)
        });
    }
}

// UNDO-02
#[test]
fn esc_twice_goes_back_with_the_files_and_the_step_is_undone() {
    let world = World::new();
    let program = two_prompts(&world);
    escape_twice(&program);
    program.until_shown("› change it");
    program.type_in(ENTER);
    program.until_shown("1. Conversation and files");
    let shown = program.text();
    for part in ["modified  file", "2 - 2", "2 + two", "- three", "added     new", "1 + x"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert_eq!(world.read("file"), "one\n2\nthree\n", "only looked at");
    program.type_in("1");
    program.until_shown("Back to before \"change it\": conversation and files");
    program.until_shown("› change it");
    assert_eq!((world.read("file").as_str(), world.read("new").as_str()), ("one\ntwo\n", "x\n"));

    world.server.reply(Reply::text("As you like it."));
    program.type_in(" otherwise");
    program.until_shown("› change it otherwise");
    program.type_in(ENTER);
    until_done(&program, "● As you like it.");
    let request = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(request.contains("change it otherwise") && request.contains("Made."), "{request}");
    assert!(!request.contains("Changed."), "{request}");

    say(&program, "/rewind");
    program.until_shown("› Undo the last rewind");
    program.type_in(ENTER);
    program.until_shown("1. Undo the rewind");
    program.type_in("1");
    program.until_shown("The last rewind is undone: conversation and files");
    eventually("the files are as they were", || !world.path("new").exists());
    assert_eq!(world.read("file"), "one\n2\nthree\n");
    leave(program);
    world.server.assert_clean();
}

// UNDO-02: what was left behind can be gone on from, also when it is not the last that was.
#[test]
fn a_conversation_that_was_left_behind_is_gone_on_from() {
    let world = World::new();
    let program = two_prompts(&world);
    say(&program, "/rewind");
    program.until_shown("› change it");
    program.type_in(ENTER);
    program.until_shown("1. Conversation and files");
    program.type_in("1");
    program.until_shown("Back to before \"change it\": conversation and files");
    program.until_shown("› change it");
    step(&world, "echo otherwise > file", "Otherwise.");
    program.type_in(" otherwise");
    program.until_shown("› change it otherwise");
    program.type_in(ENTER);
    until_done(&program, "● Otherwise.");

    say(&program, "/rewind");
    program.until_shown("› Undo the last rewind");
    program.type_in(UP);
    program.until_shown("› Continue what was left behind: change it");
    program.until_shown("2 prompts, to its end");
    program.type_in(ENTER);
    program.until_shown("Continue from: change it");
    program.until_shown("1. Conversation and files");
    program.type_in("1");
    program.until_shown("Continued what was left behind: conversation and files");
    eventually("the files are as they were", || world.read("file") == "one\n2\nthree\n");
    assert!(!world.path("new").exists());

    world.server.reply(Reply::text("Going on."));
    say(&program, "go on");
    until_done(&program, "● Going on.");
    let request = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(request.contains("Changed.") && request.contains("go on"), "{request}");
    assert!(!request.contains("Otherwise."), "{request}");
    leave(program);
    world.server.assert_clean();
}

// UNDO-02: each goes back alone, and what was left behind is not shown when the session is continued.
#[test]
fn the_conversation_goes_back_alone() {
    let world = World::new();
    let program = two_prompts(&world);
    say(&program, "/rewind");
    program.until_shown(LIST);
    program.type_in(UP);
    program.until_shown("› make it");
    program.type_in(ENTER);
    program.until_shown("2. The conversation");
    program.type_in("2");
    program.until_shown("Back to before \"make it\": the conversation");
    program.until_shown("› make it");
    assert_eq!(world.read("file"), "one\n2\nthree\n");
    program.type_in("\x15");
    leave(program);
    let program = begin(&world, &["--continue"]);
    program.until_shown("Back to before \"make it\"");
    assert!(!program.text().contains("Changed."), "{}", program.text());
    leave(program);
}

// UNDO-02: where nothing was kept, it says why and still goes back in the conversation.
#[test]
fn without_snapshots_only_the_conversation_is_offered() {
    let world = World::new().var("TILLER_DISABLE_SNAPSHOTS", "1");
    let program = two_prompts(&world);
    say(&program, "/rewind");
    program.until_shown(LIST);
    program.type_in(ENTER);
    program.until_shown("Files stay as they are: ");
    program.until_shown("1. The conversation");
    assert!(!program.text().contains("2. "), "{}", program.text());
    program.type_in(ESC);
    program.until_shown(READY);
    leave(program);
}
