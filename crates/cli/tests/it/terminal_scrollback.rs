//! What scrolls away is all there, once and in order, whatever the terminal does.

use tiller_testkit::terminal::Program;
use tiller_testkit::{Gate, Reply};

use crate::harness::World;
use crate::terminal::{READY, leave, open};

const LINES: usize = 2_000;
/// Lines between two changes of size.
const PART: usize = 300;

/// What only the live area shows.
const LIVE: [&str; 4] = ["───", "Enter steers", "Writing", "asks before"];

fn line(number: usize) -> String {
    format!("line {number:04}")
}

/// The numbered lines of the terminal, without what stands around them.
fn numbered(program: &Program) -> Vec<String> {
    let lines = program.look(|terminal| terminal.lines());
    lines.iter().filter_map(|text| text.find("line ").map(|at| text[at..].to_owned())).collect()
}

/// An answer in parts: each waits for its gate, so that it comes while the size changes.
fn in_parts(gates: &[Gate]) -> Reply {
    let part = |number: usize| -> String {
        let last = if number == gates.len() { LINES } else { (number + 1) * PART };
        (number * PART..last).map(|number| line(number) + "\n").collect()
    };
    let first = Reply::text(format!("```\n{}", part(0)));
    let gates = gates.iter().zip(1..);
    gates.fold(first, |reply, (gate, number)| reply.gate(gate).more(part(number))).more("```\n")
}

/// Writes the lines, changing the size on the way.
fn survives(change: impl Fn(&Program, u16, u16)) {
    let sizes = [(60, 20), (120, 40), (40, 24), (90, 16), (70, 30)];
    let gates = sizes.map(|_| Gate::new());
    let world = World::new();
    world.server.reply(in_parts(&gates));
    let program = open(&world, &[], 100, 30);
    program.until_shown(READY);
    program.type_in("count\r");
    for (step, (columns, rows)) in sizes.into_iter().enumerate() {
        program.until_shown(&line((step + 1) * PART - 1));
        gates[step].open();
        change(&program, columns, rows);
    }
    program.until_shown(&line(LINES - 1));
    program.until_shown(READY);
    let program = leave(program);
    let expected: Vec<String> = (0..LINES).map(line).collect();
    let found = numbered(&program);
    let differs = (0..found.len().max(LINES)).find(|at| found.get(*at) != expected.get(*at));
    let around = differs.map(|at| &found[at.saturating_sub(3)..(at + 3).min(found.len())]);
    assert_eq!(around, None, "every line is there once and in order");
    let lines = program.look(|terminal| terminal.lines());
    let remains: Vec<&String> =
        lines.iter().filter(|line| LIVE.iter().any(|part| line.contains(part))).collect();
    assert_eq!(remains, Vec::<&String>::new(), "no live area was left behind");
}

// TERM-01
#[test]
fn two_thousand_lines_survive_changes_of_size() {
    survives(Program::resize);
}

// TERM-01
#[test]
fn two_thousand_lines_survive_changes_of_size_that_are_heard_of_late() {
    survives(Program::resize_late);
}
