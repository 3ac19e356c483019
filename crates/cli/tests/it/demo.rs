//! The demo works for whoever has just installed Tiller: no account, no network.

use std::path::PathBuf;
use std::process::Command;

use tiller_testkit::terminal::{LongRows, Program};

use crate::harness::World;
use crate::terminal::{READY, leave, say};

// The recording drives the real loop and the real tools.
#[test]
fn the_demo_fixes_a_bug_without_account_or_network() {
    let world = World::new();
    let temp = tempfile::tempdir().unwrap();
    let mut command = world.command(&["demo"]);
    command.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL").env("TMPDIR", temp.path());
    // Whoever tries to reach anything fails at this proxy.
    command.env("HTTPS_PROXY", "http://127.0.0.1:9").env("HTTP_PROXY", "http://127.0.0.1:9");
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("The model's words are recorded."), "{stdout}");
    assert!(stdout.contains("What changed:") && stdout.contains("diff --git a/version.sh"), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "colours are for terminals");
    assert!(stdout.ends_with("export ANTHROPIC_API_KEY=sk-ant-...\n  tiller\n"), "{stdout}");
    let inspect = stdout.lines().find_map(|line| line.split("tiller inspect ").nth(1)).unwrap();
    assert!(world.run(&["inspect", inspect.trim()]).ok().stdout.contains("version.sh"));

    let mut left = fs_err::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().path());
    let repository: PathBuf =
        left.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("tiller-demo-")).unwrap();
    assert!(Command::new("./test.sh").current_dir(&repository).status().unwrap().success());
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(&repository).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(git(&["diff", "--name-only"]), "version.sh\n");
    assert!(git(&["diff"]).lines().filter(|line| line.starts_with('+')).all(|line| stdout.contains(line)));
    Command::new("git").args(["checkout", "-q", "."]).current_dir(&repository).status().unwrap();
    assert!(
        !Command::new("./test.sh").current_dir(&repository).status().unwrap().success(),
        "there was a bug"
    );
    assert_eq!(world.server.requests().len(), 0);
    world.server.assert_clean();
}

// What people see first is what they will see at work.
#[test]
fn at_a_terminal_the_demo_is_drawn() {
    let world = World::new();
    let temp = tempfile::tempdir().unwrap();
    let mut command = world.command(&["demo"]);
    command.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL").env("TMPDIR", temp.path());
    command.env("TERM", "xterm-256color").env("TILLER_DEMO_PACE_MS", "0");
    let program = Program::start(&command, 100, 40, LongRows::Wrap);
    program.until("it has come to its end", |terminal| {
        let all = terminal.lines().join("\n");
        all.contains("> ./test.sh fails.")
            && all.contains("● Edit version.sh")
            && terminal.text().contains(READY)
    });
    let advice = program.look(|terminal| terminal.lines().join("\n"));
    assert!(advice.contains("This is the demo: the model's words are recorded."), "{advice}");
    say(&program, "and now?");
    program.until_shown("My recording ends here.");
    program.until_shown(READY);
    let program = leave(program);
    let all = program.look(|terminal| terminal.lines().join("\n"));
    assert!(all.contains("What changed:") && all.contains("The repository stays at"), "{all}");
    assert_eq!(world.server.requests().len(), 0);
}

#[test]
fn the_demo_explains_itself() {
    let world = World::new();
    let help = world.run(&["demo", "--help"]).ok();
    assert!(help.stdout.contains("Usage: tiller demo"));
    let wrong = world.run(&["demo", "--fast"]);
    assert_eq!(wrong.code(), 2);
    assert!(wrong.stderr.contains("--fast"), "{}", wrong.stderr);
    world.server.assert_clean();
}
