//! What comes from a terminal besides single keys: pastes that are not marked, and answers.

use tiller_testkit::Reply;
use tiller_testkit::terminal::{LongRows, Program};

use crate::harness::World;
use crate::terminal::{READY, leave, open};

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
