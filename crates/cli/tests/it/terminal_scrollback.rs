//! What scrolls away is all there, once and in order, whatever the terminal does.

use tiller_testkit::Reply;
use tiller_testkit::terminal::Program;

use crate::harness::World;
use crate::terminal::{READY, leave, open};

const LINES: usize = 2_000;

fn line(number: usize) -> String {
    format!("line {number:04}")
}

/// The numbered lines of the terminal, without what stands around them.
fn numbered(program: &Program) -> Vec<String> {
    let lines = program.look(|terminal| terminal.lines());
    lines.iter().filter_map(|text| text.find("line ").map(|at| text[at..].to_owned())).collect()
}

// TERM-01
#[test]
fn two_thousand_lines_survive_changes_of_size() {
    let world = World::new();
    let answer = format!("```\n{}\n```\n", (0..LINES).map(line).collect::<Vec<_>>().join("\n"));
    world.server.reply(Reply::text(answer).chunked(64));
    let program = open(&world, &[], 100, 30);
    program.until_shown(READY);
    program.type_in("count\r");
    for (step, (columns, rows)) in [(60, 20), (120, 40), (40, 24), (90, 16), (70, 30)].into_iter().enumerate()
    {
        let reached = line((step + 1) * 250);
        program.until(&format!("{reached} was written"), |terminal| {
            terminal.lines().iter().any(|text| text.contains(&reached))
        });
        program.resize(columns, rows);
    }
    program.until_shown(&line(LINES - 1));
    program.until_shown(READY);
    let program = leave(program);
    let expected: Vec<String> = (0..LINES).map(line).collect();
    assert_eq!(numbered(&program), expected);
}
