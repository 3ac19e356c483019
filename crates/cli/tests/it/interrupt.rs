//! Signals: the turn ends in order, what is finished stays, and what is printed is valid.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, eventually, is_result_of, marker, processes_with, result_text, stream_args};
use crate::live::{Finished, Live};

/// Words that arrive before the answer stops.
const HALF: &str = "Half of an";

fn half_an_answer(world: &World) -> Gate {
    let gate = Gate::new();
    world.server.reply(Reply::text(HALF).gate(&gate).more(" answer"));
    gate
}

fn until_half(live: &mut Live) {
    live.until(|frame| frame["event"]["delta"]["text"] == HALF);
}

fn partial_args(prompt: &str) -> Vec<&str> {
    [&stream_args(prompt)[..], &["--include-partial-messages"]].concat()
}

fn interrupted(end: &Finished) {
    let (result, _) = end.result();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["outcome"], "interrupted");
    assert_eq!(result["is_error"], true);
    assert!(result["terminal_reason"].as_str().unwrap().starts_with("aborted_"));
}

/// A run whose Bash command is under way: it ignores polite signals and has a child in a session of its own.
fn running_command(world: &World, marker: &str) -> Live {
    let command = format!("trap '' TERM INT HUP; (setsid sleep {marker} &); touch begun; sleep {marker}");
    world.server.reply(Reply::new().tool_with_id("slow", "Bash", json!({"command": command})));
    let live = world.start(&stream_args("run it"));
    eventually("the command runs", || world.path("begun").exists());
    live
}

// HEAD-03: the half answer is kept and the conversation can go on.
#[test]
fn sigint_while_the_model_writes() {
    let world = World::new();
    let gate = half_an_answer(&world);
    let mut live = world.start(&partial_args("write"));
    until_half(&mut live);
    live.signal("INT");
    let end = live.finish();
    interrupted(&end);
    assert_eq!(end.result().0["terminal_reason"], "aborted_streaming");
    assert_eq!(end.code, 130);
    let partial: Vec<&Value> = end.frames.iter().filter(|frame| frame["type"] == "assistant").collect();
    assert_eq!(partial.len(), 1);
    assert_eq!(partial[0]["message"]["content"][0]["text"], HALF);
    assert_eq!(partial[0]["aborted"], true);
    gate.open();
    world.server.reply(Reply::text("done"));
    world.run(&["--continue", "-p", "go on"]).ok();
    let request = world.server.messages().pop().unwrap();
    assert!(request.body()["messages"].to_string().contains(HALF));
    world.server.assert_clean();
}

// HEAD-03: nothing of the command is left when the run has ended.
#[test]
fn sigint_while_a_command_runs() {
    let world = World::new();
    let marker = marker();
    let live = running_command(&world, &marker);
    live.signal("INT");
    let end = live.finish();
    interrupted(&end);
    assert_eq!(end.code, 130);
    assert!(end.frames.iter().any(|frame| is_result_of(frame, "slow")));
    assert_eq!(processes_with(&marker), [0; 0]);
    world.server.reply(Reply::text("done"));
    world.run(&["--continue", "-p", "go on"]).ok();
    assert!(result_text(world.server.messages()[1].body(), "slow").contains("interrupted"));
    world.server.assert_clean();
}

// Terminals and wrappers send one wish twice: it is still one interruption, with one result.
#[test]
fn a_signal_sent_twice_is_one_interruption() {
    let world = World::new();
    let marker = marker();
    let live = running_command(&world, &marker);
    // By one process, so that no time passes between the two: later it would be a second wish.
    let twice = "kill -s INT $0; kill -s INT $0";
    assert!(Command::new("sh").args(["-c", twice, &live.pid().to_string()]).status().unwrap().success());
    let end = live.finish();
    assert_eq!(end.code, 130);
    let results = end.frames.iter().filter(|frame| frame["type"] == "result").count();
    assert_eq!(results, 1, "{end:#?}");
    assert_eq!(end.result().0["is_error"], true);
    eventually("the command is gone", || processes_with(&marker).is_empty());
    world.server.assert_clean();
}

// HEAD-01, HEAD-03
#[test]
fn sigterm_ends_with_a_result_and_143() {
    for format in ["json", "stream-json", "text"] {
        let world = World::new();
        let gate = half_an_answer(&world);
        let args = ["-p", "write", "--output-format", format, "--debug-file", "debug"];
        let mut command = world.command(&args);
        let child = command.spawn().unwrap();
        gate.wait_reached();
        eventually("the answer has begun", || !world.logs().is_empty());
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{format}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        if format == "text" {
            // How much of the answer had arrived is not ours to say.
            assert!("Half of an".starts_with(stdout.trim_end()), "{stdout}");
            assert_eq!(stderr, "tiller: interrupted; --continue resumes from here\n");
        } else {
            let last: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
            assert_eq!(
                (last["type"].as_str(), last["outcome"].as_str()),
                (Some("result"), Some("interrupted"))
            );
        }
        gate.open();
        world.server.assert_clean();
    }
}

// HEAD-03
#[test]
fn other_signals_that_end_a_process_leave_a_result_as_well() {
    for signal in ["HUP", "QUIT"] {
        let world = World::new();
        let gate = half_an_answer(&world);
        let live = world.start(&["-p", "write", "--output-format", "json"]);
        gate.wait_reached();
        eventually("the answer has begun", || !world.logs().is_empty());
        live.signal(signal);
        let end = live.wait();
        let (result, code) = end.result();
        assert_eq!((result["outcome"].as_str(), code), (Some("interrupted"), 143), "{signal}");
        gate.open();
        world.server.assert_clean();
    }
}

// HEAD-03: what whoever started it wants to survive, it survives.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("done").gate(&gate));
    let own = world.command(&["-p", "write"]);
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" HUP; exec "$@""#, "sh"]).arg(own.get_program()).args(own.get_args());
    command
        .current_dir(world.dir())
        .env_clear()
        .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    gate.wait_reached();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "HUP", &pid]).status().unwrap().success());
    gate.open();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"done\n"[..]));
    world.server.assert_clean();
}

// A host that stays connected takes SIGINT for an interrupt, not for a failure of the program.
#[test]
fn sigint_in_a_talking_session_exits_0() {
    let world = World::new();
    let gate = half_an_answer(&world);
    let mut live = world.talk(&["--include-partial-messages"]);
    live.say("write");
    until_half(&mut live);
    live.signal("INT");
    let end = live.wait();
    interrupted(&end);
    assert_eq!(end.result().0["terminal_reason"], "aborted_streaming");
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    gate.open();
    world.server.assert_clean();
}

#[test]
fn sigterm_in_a_talking_session_exits_143_and_leaves_the_queue() {
    let world = World::new();
    let gate = half_an_answer(&world);
    let mut live = world.talk(&["--include-partial-messages"]);
    live.say("write");
    until_half(&mut live);
    live.send(&json!({"type": "user", "message": {"content": "and then this"}, "priority": "later"}));
    eventually("the message is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    live.signal("TERM");
    let end = live.wait();
    interrupted(&end);
    assert_eq!(end.result().0["terminal_reason"], "aborted_streaming");
    assert_eq!(end.code, 143);
    gate.open();
    world.server.assert_clean();
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    world.run(&["--continue", "-p", "go on"]).ok();
    assert!(world.server.messages()[2].body()["messages"].to_string().contains("and then this"));
    world.server.assert_clean();
}

// A reader that goes away is no reason to hang.
#[test]
fn a_closed_output_ends_the_run() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("one").gate(&gate).and_text("two"));
    let mut child = world.command(&stream_args("write")).spawn().unwrap();
    gate.wait_reached();
    drop(child.stdout.take());
    gate.open();
    assert!(!child.wait().unwrap().success());
    assert_eq!(world.server.rejections(), Vec::<String>::new());
}
