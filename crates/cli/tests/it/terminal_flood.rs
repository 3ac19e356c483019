//! More than a terminal can show at once: all of it is shown, keys are not kept waiting, and one can leave.

use tiller_testkit::Reply;
use tiller_testkit::terminal::Program;

use crate::harness::World;
use crate::terminal::{READY, begin, leave};
use crate::terminal_end::in_a_shell;

const LINES: usize = 8_000;
const PIECE: usize = 4_096;

fn line(number: usize) -> String {
    format!("line {number:05}")
}

fn flood(world: &World) {
    let answer: String = (0..LINES).map(|number| format!("{}\n\n", line(number))).collect();
    world.server.reply(Reply::text(answer).chunked(PIECE));
}

/// How many of the lines the terminal has: all from the first on, each once and in order.
#[track_caller]
fn in_order(program: &Program) -> usize {
    let lines = program.look(|terminal| terminal.lines());
    let is_number = |text: &&str| text.len() == 5 && text.chars().all(|c| c.is_ascii_digit());
    let found: Vec<&str> = lines
        .iter()
        .filter_map(|text| text.split_once("line ").map(|(_, rest)| rest).filter(is_number))
        .collect();
    let wrong = found.iter().enumerate().find(|(at, number)| **number != format!("{at:05}"));
    assert_eq!(wrong, None, "of {} lines", found.len());
    found.len()
}

// TERM-03
#[test]
fn a_flood_is_shown_to_its_end_and_keys_are_seen_meanwhile() {
    let world = World::new();
    flood(&world);
    let program = begin(&world, &[]);
    program.type_in("count\r");
    program.until_shown("line 00");
    program.type_in("typed in the middle");
    program.until_shown("› typed in the middle");
    program.until_shown(&line(LINES - 1));
    program.until_gone("Enter steers");
    program.type_in("\x15");
    program.until_shown(READY);
    // Much was written at once, and yet everything is there, once and in order.
    let program = leave(program);
    assert_eq!(in_order(&program), LINES);
}

// TERM-01: what the terminal answers does not end up in the shell.
#[test]
fn who_leaves_in_the_middle_of_a_flood_finds_a_quiet_terminal() {
    let world = World::new();
    flood(&world);
    let mut program = in_a_shell(&world, "");
    program.until_shown(READY);
    program.type_in("count\r");
    program.until_shown("line 00");
    program.type_in("/exit\r");
    program.until_shown("all told");
    assert_eq!(program.wait(), 0);
    let all = program.look(|terminal| terminal.lines().join("\n"));
    assert!(all.contains("ended with 0"), "{all}");
    assert!(!all.contains("^[["), "an answer of the terminal was typed into the shell");
    assert!(in_order(&program) > 0);
}
