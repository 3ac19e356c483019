//! However Tiller ends at a terminal, the shell gets it back as it was; and it ends.

use std::process::Command;

use tiller_testkit::terminal::{LongRows, Program};

use crate::harness::{World, eventually};
use crate::terminal::{READY, leave, open};

const ENTER: &str = "\r";
const ESC: &str = "\x1b";

/// Tiller started by a shell that tells afterwards how it finds the terminal. The process id is in a file.
pub(crate) fn in_a_shell(world: &World, args: &str) -> Program {
    let tiller = world.command(&[]);
    let script = format!(
        "sh -c 'echo $$ > pid.new; mv pid.new pid; exec {} {args}'; echo; echo ended with $?; stty -a; echo all told",
        tiller.get_program().to_string_lossy()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(world.dir()).env_clear();
    command.envs(tiller.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TERM", "xterm-256color");
    Program::start(&command, 100, 40, LongRows::Wrap)
}

fn send(signal: &str, world: &World) {
    let sent = Command::new("kill").args([&format!("-{signal}"), world.read("pid").trim()]).status().unwrap();
    assert!(sent.success());
}

// TERM-01
#[test]
fn signals_end_the_session_and_give_the_terminal_back() {
    for signal in ["INT", "TERM", "HUP"] {
        let world = World::new();
        let mut program = in_a_shell(&world, "");
        program.until_shown(READY);
        send(signal, &world);
        program.until_shown("all told");
        assert_eq!(program.wait(), 0);
        let text = program.text();
        assert!(text.contains("ended with 0"), "{signal}: {text}");
        assert!(text.contains("isig icanon") && text.contains(" echo "), "{signal}: {text}");
        assert!(!text.contains("───"), "{signal}: the live area is gone: {text}");
        assert!(
            !program.look(|terminal| terminal.screen().hide_cursor() || terminal.screen().bracketed_paste())
        );
    }
}

#[test]
fn plain_mode_ends_in_order_when_it_is_told_to() {
    let world = World::new();
    let mut program = in_a_shell(&world, "--plain");
    program.until_shown(READY_PLAIN);
    send("TERM", &world);
    program.until_shown("ended with 0");
    assert_eq!(program.wait(), 0);
}

const READY_PLAIN: &str = "\n>";

fn run_line(program: &Program, line: &str) {
    program.type_in("!");
    program.type_in(line);
    program.until_shown(line);
    program.type_in(ENTER);
    program.until_shown("runs · ");
}

#[test]
fn a_command_of_the_users_does_not_keep_them_from_leaving() {
    let world = World::new();
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    run_line(&program, "touch begun; sleep 1000");
    eventually("it runs", || world.path("begun").exists());
    program.type_in("/exit\r");
    let mut program = program;
    assert_eq!(program.wait(), 0);
}

#[test]
fn a_command_that_never_ends_is_stopped_and_what_it_prints_is_bounded() {
    let world = World::new();
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    run_line(&program, "touch begun; yes");
    eventually("it runs", || world.path("begun").exists());
    program.type_in(ESC);
    program.until_shown("it was ended by a signal");
    program.until_gone("runs · ");
    let printed = program.printed();
    assert!(printed.len() < 2_000_000, "{} bytes were printed", printed.len());
    leave(program);
}
