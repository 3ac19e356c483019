//! What comes from a terminal besides single keys: pastes, files, answers; and keys that mean more than a letter.

use serde_json::{Value, json};
use tiller_testkit::Reply;
use tiller_testkit::terminal::{LongRows, Program};

use crate::harness::{World, blocks_of};
use crate::steering::PIXEL;
use crate::terminal::{ENTER, READY, begin, leave, open, say, until_done};

const CTRL_R: &str = "\x12";
const CTRL_O: &str = "\x0f";
const CTRL_X: &str = "\x18";

// TERM-02
#[test]
fn lines_pasted_by_a_simple_terminal_are_one_message() {
    let world = World::new();
    world.server.reply(Reply::text("Understood."));
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    program.type_in("first line\rsecond line\rthird line\r");
    program.until_shown("third line");
    program.type_in("\r");
    program.until_shown("Understood.");
    leave(program);
    assert_eq!(world.server.messages().len(), 1);
    let body = world.server.messages()[0].body().to_string();
    assert!(body.contains("first line\\nsecond line\\nthird line"), "{body}");
}

/// A terminal with this background.
fn on(world: &World, background: &str) -> Program {
    let mut command = world.command(&[]);
    command.env("TERM", "xterm-256color");
    let program =
        Program::start_with(&command, 80, 30, LongRows::Wrap, |terminal| terminal.set_background(background));
    program.until_shown(READY);
    program
}

// TERM-03
#[test]
fn colours_follow_the_background_that_the_terminal_tells() {
    const ON_DARK: &str = "38;5;80m";
    const ON_LIGHT: &str = "38;5;24m";
    for (background, used, not_used) in
        [("rgb:ffff/ffff/f0f0", ON_LIGHT, ON_DARK), ("rgb:1010/1010/1010", ON_DARK, ON_LIGHT)]
    {
        let world = World::new();
        let program = on(&world, background);
        program.type_in("x");
        program.until_shown("› x");
        program.until("the mark has its colour", |_| true);
        let printed = program.printed();
        assert!(printed.contains(used), "{background}");
        // On a busy machine the answer may come after the first frame.
        let last = printed.rsplit("\x1b[?2026h").next().unwrap_or_default();
        assert!(!last.contains(not_used), "{background}: {last:?}");
    }
}

#[test]
fn answers_that_come_late_are_not_typed() {
    let world = World::new();
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    program.type_in("a");
    program.until_shown("› a");
    program.type_in("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c\x1b[8;30;80t");
    program.type_in("b");
    program.until_shown("› ab");
    program.type_in("\x03");
    leave(program);
}

// TERM-02: a slow line delivers them in pieces.
#[test]
fn answers_that_come_in_pieces_are_not_typed() {
    let world = World::new();
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    for (text, begin, rest) in [
        ("a", "\x1b[8;3", "0;80t"),
        ("ab", "\x1b]11;rgb:ff", "ff/ffff/ffff\x1b\\"),
        ("abc", "\x1b[3", "0;1R"),
    ] {
        program.type_in(&text[text.len() - 1..]);
        program.until_shown(&format!("› {text}"));
        program.type_apart(begin);
        program.type_in(rest);
    }
    program.type_in("d");
    program.until_shown("› abcd");
    program.type_in("\x03");
    leave(program);
}

// TERM-02: what the terminal answers meanwhile does not tear a paste apart.
#[test]
fn a_paste_among_answers_is_one_message() {
    let world = World::new();
    world.server.reply(Reply::text("Understood."));
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    program.type_in("\x1b[30;1Rfirst line\rsecond line\r\x1b[8;30;80tthird line\r\x1b[30;1R");
    program.until_shown("third line");
    program.type_in("\r");
    program.until_shown("Understood.");
    leave(program);
    let body = world.server.messages()[0].body().to_string();
    assert!(body.contains("first line\\nsecond line\\nthird line"), "{body}");
}

// TERM-02: a paste in brackets never sends by itself; a long one is folded, and sent in full.
#[test]
fn pastes_in_brackets_are_one_piece() {
    let world = World::new();
    world.server.reply(Reply::text("Understood."));
    let program = begin(&world, &[]);
    program.paste("one\rtwo");
    program.until_shown("  two");
    program.type_in(" and ");
    let long: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    program.paste(&long);
    program.until_shown("two and [pasted 40 lines #1]");
    assert!(world.server.messages().is_empty(), "nothing was sent yet");
    program.type_in(ENTER);
    until_done(&program, "● Understood.");
    leave(program);
    let body = world.server.messages()[0].body()["messages"].to_string();
    assert!(body.contains("one\\ntwo and line 1\\nline 2") && body.contains("line 40"), "{body}");
}

/// The images of a request.
fn images(request: &Value) -> usize {
    blocks_of(request, "image").len()
}

#[test]
fn an_image_that_is_dragged_into_the_terminal_is_sent() {
    let world = World::new();
    world.server.replies([Reply::text("I see it."), Reply::text("I see it again.")]);
    let shot = world.path("a shot.png");
    fs_err::write(&shot, PIXEL).unwrap();
    let program = begin(&world, &[]);
    program.type_in("look: ");
    program.paste(&shot.display().to_string());
    // At once: whether it is read already must not matter.
    program.type_in(ENTER);
    until_done(&program, "● I see it.");
    assert!(program.text().contains("look: [image #1 a shot.png]"), "{}", program.text());
    // What was sent before can be sent anew, with all that belongs to it.
    program.type_in("\x1b[A");
    program.until_shown("› look: [image #1 a shot.png]");
    program.type_in(ENTER);
    until_done(&program, "● I see it again.");
    leave(program);
    let requests = world.server.messages();
    assert_eq!([images(requests[0].body()), images(requests[1].body())], [1, 2]);
    world.server.assert_clean();
}

#[test]
fn a_file_is_mentioned_and_a_note_is_kept() {
    let world = World::new().file("src/parser.rs", "fn parse() {}\n");
    world.server.reply(Reply::text("I have read it."));
    let program = begin(&world, &[]);
    program.type_in("explain @pars");
    program.until_shown("@src/parser.rs");
    program.type_in("\t");
    program.until_shown("› explain @src/parser.rs");
    program.until_gone("  @src/parser.rs");
    program.type_in(ENTER);
    until_done(&program, "● I have read it.");
    assert!(world.server.messages()[0].body()["messages"].to_string().contains("fn parse()"));
    program.type_in("#always run the tests");
    program.until_shown("# always run the tests");
    program.type_in(ENTER);
    program.until_shown("Added to AGENTS.md");
    assert_eq!(world.read("AGENTS.md"), "- always run the tests\n");
    leave(program);
    assert_eq!(world.server.messages().len(), 1, "the note is none of the model's business");
}

#[test]
fn the_history_of_earlier_sessions_is_searched() {
    let world = World::new();
    world.server.replies([Reply::text("Painted."), Reply::text("Painted again.")]);
    let program = begin(&world, &[]);
    say(&program, "paint the fence");
    until_done(&program, "● Painted.");
    leave(program);
    let program = begin(&world, &[]);
    program.type_in(CTRL_R);
    program.until_shown("search:");
    program.type_in("fence");
    program.until_shown("search: fence");
    program.until_shown("paint the fence");
    program.type_in(ENTER);
    program.until_shown("› paint the fence");
    program.type_in(ENTER);
    until_done(&program, "● Painted again.");
    leave(program);
    assert!(world.server.messages()[1].body()["messages"].to_string().contains("paint the fence"));
}

#[test]
fn keys_have_the_meaning_that_settings_give_them() {
    let world = World::new();
    let settings = json!({"terminal": {"keys": {"ctrl+x": "expand-output"}}});
    fs_err::create_dir_all(world.config_dir()).unwrap();
    fs_err::write(world.config_dir().join("settings.json"), settings.to_string()).unwrap();
    world
        .server
        .replies([Reply::new().tool("Bash", json!({"command": "seq 1 200"})), Reply::text("Counted.")]);
    let program = begin(&world, &["--permission-mode", "bypassPermissions"]);
    say(&program, "count");
    until_done(&program, "● Counted.");
    for key in [CTRL_O, CTRL_X] {
        program.type_in(key);
        program.until_shown("── Results");
        program.until_shown("seq 1 200");
        program.type_in(ENTER);
        program.until_shown("more lines");
        program.type_in(key);
        program.until_shown(READY);
    }
    leave(program);
}

// A note is told in the session in which it is made, and only once: of a file that the model has seen, what has changed
// is told anyway.
#[test]
fn a_note_reaches_the_running_session() {
    for instructions in [None, Some("Be kind.\n")] {
        let mut world = World::new();
        if let Some(text) = instructions {
            world = world.file("AGENTS.md", text);
        }
        world.server.replies([Reply::text("One."), Reply::text("Two.")]);
        let program = begin(&world, &[]);
        say(&program, "first");
        program.until_shown("● One.");
        program.type_in("#prefer tabs");
        program.until_shown("# prefer tabs");
        program.type_in(ENTER);
        program.until_shown("Added to AGENTS.md; the agent is told with your next message.");
        say(&program, "second");
        program.until_shown("● Two.");
        let messages = world.server.messages();
        let sent = messages[1].body()["messages"].to_string();
        assert_eq!(sent.matches("prefer tabs").count(), 1, "{instructions:?}: {sent}");
        leave(program);
    }
}
