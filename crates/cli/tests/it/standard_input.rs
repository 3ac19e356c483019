//! Standard input as part of a prompt.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use serde_json::Value;
use tiller_testkit::Reply;

use crate::harness::World;

/// A shell that runs the binary in a pipeline, as `"$0"`.
fn shell(world: &World, script: &str) -> Command {
    let run = world.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(run.get_program()).current_dir(world.dir()).env_clear();
    shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

// HEAD-02: what comes in the end is waited for, and that is said.
#[test]
fn a_slow_command_of_the_pipeline_is_waited_for() {
    let world = World::new();
    world.server.reply(Reply::text("it is late"));
    let gate = world.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let mut run = shell(&world, r#"(read x <gate; echo "the late log") | "$0" -p explain"#).spawn().unwrap();
    let mut told = String::new();
    let mut stderr = BufReader::new(run.stderr.take().unwrap());
    stderr.read_line(&mut told).unwrap();
    // The first command of the pipeline waits for this.
    fs_err::OpenOptions::new().write(true).open(&gate).unwrap().write_all(b"\n").unwrap();
    stderr.read_to_string(&mut told).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("waiting for standard input"), "{told}");
    assert_eq!(output.stdout, b"it is late\n");
    let prompt = world.server.messages()[0].body().to_string();
    assert!(prompt.contains("explain") && prompt.contains("the late log"), "{prompt}");
    world.server.assert_clean();
}

// HEAD-02: a parent that leaves standard input open must not stop a run that knows what to do; nothing is left out in
// silence.
#[test]
fn a_silent_input_does_not_hold_up_a_run_with_a_prompt() {
    for format in ["json", "text"] {
        let world = World::new();
        world.server.reply(Reply::text("fine"));
        let mut command = world.command(&["-p", "go", "--output-format", format]);
        let mut run = command.stdin(Stdio::piped()).spawn().unwrap();
        let held = run.stdin.take();
        let output = run.wait_with_output().unwrap();
        drop(held);
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains("nothing arrived on standard input"), "{stderr}");
        if format == "json" {
            let result: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(result["result"], "fine");
            let warning = result["warnings"][0].as_str().unwrap();
            assert!(warning.contains("nothing arrived on standard input"), "{warning}");
        } else {
            assert_eq!(stdout, "fine\n");
        }
        world.server.assert_clean();
    }
}

// HEAD-03: also when there is nothing to do, or too much to read.
#[test]
fn a_run_without_a_usable_prompt_has_a_result() {
    let world = World::new();
    let large = world.path("large");
    fs_err::write(&large, vec![b'x'; 11 << 20]).unwrap();
    for format in ["json", "stream-json"] {
        let none = world.run(&["-p", "--output-format", format]);
        let mut command = world.command(&["-p", "sum it up", "--output-format", format]);
        let output = command.stdin(fs_err::File::open(&large).unwrap().into_file()).output().unwrap();
        assert_eq!((none.code(), output.status.code()), (1, Some(1)));
        let too_much: Value = serde_json::from_slice(&output.stdout).unwrap();
        for (result, problem) in [(&none.frames()[0], "there is no prompt"), (&too_much, "10 MB")] {
            assert_eq!((&result["type"], &result["is_error"]), (&"result".into(), &true.into()), "{result}");
            assert!(result["errors"][0].as_str().unwrap().contains(problem), "{result}");
        }
    }
    assert_eq!(world.server.messages().len(), 0);
}
