use serde_json::json;
use tiller_protocol::id::CallId;
use tiller_sandbox::Status;
use tiller_tools::{ShellInfo, ShellState};

use tiller_testenv::{eventually_beside, processes_with};

use crate::bench::{Bench, Ended, ended};

async fn start(bench: &mut Bench, command: &str) -> Ended {
    bench.call("Bash", json!({"command": command, "run_in_background": true})).await
}

async fn until_printed(bench: &mut Bench, id: &str, wanted: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        let news = bench.call("BashOutput", json!({"bash_id": id})).await;
        assert!(!news.failed, "{}", news.text);
        seen.push_str(news.detail["stdout"].as_str().unwrap());
        tokio::task::yield_now().await;
    }
    seen
}

async fn next_end(changes: &mut tokio::sync::mpsc::UnboundedReceiver<ShellInfo>) -> ShellInfo {
    loop {
        let change = changes.recv().await.unwrap();
        if change.state != ShellState::Running {
            return change;
        }
    }
}

// CUST-03
#[tokio::test]
async fn a_background_command_is_read_while_it_runs_and_announces_its_end() {
    let mut bench = Bench::new();
    let mut changes = bench.shells.changes();
    let started = start(&mut bench, "echo one; read line; echo \"got $line\"; exit 4").await;
    assert!(!started.failed && started.text.contains("bash_1"), "{}", started.text);
    assert_eq!(started.detail["backgroundTaskId"], "bash_1");
    assert_eq!(until_printed(&mut bench, "bash_1", "one\n").await, "one\n");
    let idle = bench.call("BashOutput", json!({"bash_id": "bash_1"})).await;
    assert_eq!(idle.text, "[bash_1: running]\n(no new output)");
    assert_eq!(bench.shells.list().len(), 1);
    bench.call("ShellInput", json!({"shell_id": "bash_1", "text": "two\n"})).await;
    assert_eq!(next_end(&mut changes).await.state, ShellState::Ended(Status::Code(4)));
    let last = bench.call("BashOutput", json!({"bash_id": "bash_1"})).await;
    assert_eq!(last.text, "[bash_1: exited with code 4]\ngot two");
    assert_eq!(
        fs_err::read_to_string(bench.view.spill_dir.join("call_1.stdout.txt")).unwrap(),
        "one\ngot two\n"
    );
}

// CUST-03
#[tokio::test]
async fn a_background_command_can_be_typed_into() {
    let mut bench = Bench::new();
    let mut changes = bench.shells.changes();
    start(&mut bench, "read line; echo \"got $line\"; cat; echo end").await;
    let typed = bench.call("ShellInput", json!({"shell_id": "bash_1", "text": "two\n"})).await;
    assert!(!typed.failed && typed.text == "Typed 4 bytes into bash_1.", "{}", typed.text);
    assert_eq!(until_printed(&mut bench, "bash_1", "got two\n").await, "got two\n");
    let typed = bench.call("ShellInput", json!({"shell_id": "bash_1", "text": "three", "end": true})).await;
    assert!(!typed.failed, "{}", typed.text);
    assert_eq!(next_end(&mut changes).await.state, ShellState::Ended(Status::Code(0)));
    assert_eq!(until_printed(&mut bench, "bash_1", "end").await, "threeend\n");
    for (id, why) in [("bash_1", "does not read"), ("bash_7", "no background command bash_7")] {
        let refused = bench.call("ShellInput", json!({"shell_id": id, "text": "x"})).await;
        assert!(refused.failed && refused.text.contains(why), "{}", refused.text);
    }
    let nothing = bench.call("ShellInput", json!({"shell_id": "bash_1", "text": ""})).await;
    assert!(nothing.failed && nothing.text.contains("nothing to type"), "{}", nothing.text);
}

// CUST-03: what was typed only in part must not become another command by what is typed next.
#[tokio::test]
async fn typing_that_did_not_arrive_whole_ends_typing() {
    let mut bench = Bench::new();
    let mut changes = bench.shells.changes();
    start(&mut bench, "while [ ! -e go ]; do sleep 0.02; done; wc -c").await;
    // More than a pipe holds.
    let long = json!({"shell_id": "bash_1", "text": "x".repeat(100_000)});
    let mut typing = bench.start("ShellInput", &long).unwrap();
    while bench.shells.typed()["bash_1"].command.is_empty() {
        assert!(futures::poll!(&mut typing).is_pending());
        tokio::task::yield_now().await;
    }
    drop(typing);
    let again = bench.call("ShellInput", json!({"shell_id": "bash_1", "text": "y\n"})).await;
    assert!(again.failed && again.text == "bash_1 does not read its input.", "{}", again.text);
    fs_err::write(bench.path().join("go"), "").unwrap();
    assert_eq!(next_end(&mut changes).await.state, ShellState::Ended(Status::Code(0)));
    let printed = bench.call("BashOutput", json!({"bash_id": "bash_1"})).await;
    let arrived: usize = printed.detail["stdout"].as_str().unwrap().trim().parse().unwrap();
    assert!(arrived < 100_000, "{arrived}");
}

// CUST-03
#[tokio::test]
async fn output_can_be_filtered() {
    let mut bench = Bench::new();
    let mut changes = bench.shells.changes();
    start(&mut bench, "seq 20; echo error 7 >&2").await;
    next_end(&mut changes).await;
    let news = bench.call("BashOutput", json!({"bash_id": "bash_1", "filter": "7$"})).await;
    assert_eq!(news.text, "[bash_1: exited with code 0]\n7\n17\nerror 7");
    let bad = bench.call("BashOutput", json!({"bash_id": "bash_1", "filter": "("})).await;
    assert!(bad.failed && bad.text.contains("regular expression"), "{}", bad.text);
}

// CUST-03
#[tokio::test]
async fn killing_ends_everything_the_command_started() {
    let mut bench = Bench::new();
    let tag = bench.tag();
    start(&mut bench, &format!("setsid bash -c 'echo up; sleep 1000; : {tag}' & wait; : {tag}")).await;
    until_printed(&mut bench, "bash_1", "up").await;
    let killed = bench.call("KillShell", json!({"shell_id": "bash_1"})).await;
    assert!(!killed.failed && killed.text.contains("was ended"), "{}", killed.text);
    assert_eq!(processes_with(&tag), [0; 0]);
    let again = bench.call("KillShell", json!({"shell_id": "bash_1"})).await;
    assert!(!again.failed && again.text.contains("had ended before: killed"), "{}", again.text);
    let unknown = bench.call("KillShell", json!({"shell_id": "bash_9"})).await;
    assert!(unknown.failed && unknown.text.contains("bash_1 (killed)"), "{}", unknown.text);
}

/// Waits until a running call has reported that its command printed this.
async fn until_reported(bench: &mut Bench, wanted: &str) {
    loop {
        let news = bench.progress.recv().await.unwrap();
        if news["output"].as_str().unwrap().contains(wanted) {
            return;
        }
    }
}

// VERB-03
#[tokio::test]
async fn a_command_that_is_waited_for_goes_on_in_the_background() {
    let mut bench = Bench::new();
    let mut changes = bench.shells.changes();
    let command = "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; cd /; exit 3";
    let call = bench.start("Bash", &json!({"command": command, "timeout": 600_000})).unwrap();
    let running = tokio::spawn(call);
    until_reported(&mut bench, "before").await;
    assert!(!bench.shells.move_to_background(&CallId::from("call_9")), "no such call");
    assert!(bench.shells.move_to_background(&CallId::from("call_1")));
    let moved = ended(running.await.unwrap());
    assert!(!moved.failed && moved.text.contains("goes on as bash_1"), "{}", moved.text);
    assert_eq!(
        (&moved.detail["backgroundTaskId"], &moved.detail["backgroundedByUser"]),
        (&json!("bash_1"), &json!(true))
    );
    assert!(moved.effects.is_empty());
    assert!(!bench.shells.move_to_background(&CallId::from("call_1")), "it was moved before");
    let [listed] = bench.shells.list().try_into().unwrap();
    assert_eq!(
        (listed.command.as_str(), listed.call.as_str(), listed.state),
        (command, "call_1", ShellState::Running)
    );

    let first = bench.call("BashOutput", json!({"bash_id": "bash_1"})).await;
    assert_eq!(first.text, "[bash_1: running]\nbefore");
    fs_err::write(bench.path().join("go"), "").unwrap();
    assert_eq!(next_end(&mut changes).await.state, ShellState::Ended(Status::Code(3)));
    let last = bench.call("BashOutput", json!({"bash_id": "bash_1"})).await;
    assert_eq!(last.text, "[bash_1: exited with code 3]\nafter");
    let stored = bench.view.spill_dir.join("call_1.stdout.txt");
    assert_eq!(fs_err::read_to_string(stored).unwrap(), "before\nafter\n", "nothing was lost on the way");
}

// VERB-03 CUST-03
#[tokio::test]
async fn a_moved_command_outlives_its_call_and_can_be_killed() {
    let mut bench = Bench::new();
    let tag = bench.tag();
    let command = format!("echo up; setsid sleep 1000 & wait; : {tag}");
    let running =
        tokio::spawn(bench.start("Bash", &json!({"command": command, "timeout": 600_000})).unwrap());
    until_reported(&mut bench, "up").await;
    assert!(bench.shells.move_to_background(&CallId::from("call_1")));
    assert!(!ended(running.await.unwrap()).failed);
    // The call's own end, and that of its turn, no longer concern the command.
    std::mem::take(&mut bench.cancel).cancel();
    assert!(!processes_with(&tag).is_empty());
    let killed = bench.call("KillShell", json!({"shell_id": "bash_1"})).await;
    assert!(killed.text.contains("was ended"), "{}", killed.text);
    assert_eq!(processes_with(&tag), [0; 0]);
    assert_eq!(bench.shells.list()[0].state, ShellState::Killed);
}

// VERB-03 CUST-02
#[tokio::test]
async fn a_moved_command_ends_with_the_session() {
    let mut bench = Bench::new();
    let tag = bench.tag();
    let command = format!("trap '' TERM; echo up; while :; do sleep 1; done; : {tag}");
    let running = tokio::spawn(bench.start("Bash", &json!({"command": command})).unwrap());
    until_reported(&mut bench, "up").await;
    assert!(bench.shells.move_to_background(&CallId::from("call_1")));
    assert!(!ended(running.await.unwrap()).failed);
    bench.shells.end_all().await;
    assert_eq!(processes_with(&tag), [0; 0]);
}

// CUST-03
#[tokio::test]
async fn output_that_was_not_read_is_known_once() {
    let mut bench = Bench::new();
    let mut changes = bench.shells.changes();
    bench.shells.number_after(4);
    start(&mut bench, "printf 12345; read line; printf 67; exit 0").await;
    eventually_beside("it has printed", || bench.shells.unread("bash_5") == Some(5)).await;
    bench.shells.unread_is_known("bash_5");
    assert_eq!(bench.shells.unread("bash_5"), None);
    bench.call("ShellInput", json!({"shell_id": "bash_5", "text": "\n"})).await;
    next_end(&mut changes).await;
    assert_eq!(bench.shells.unread("bash_5"), Some(7));
    bench.call("BashOutput", json!({"bash_id": "bash_5"})).await;
    assert_eq!((bench.shells.unread("bash_5"), bench.shells.unread("bash_1")), (None, None));
}

// CUST-02
#[tokio::test]
async fn the_end_of_the_session_ends_all() {
    let mut bench = Bench::new();
    let tag = bench.tag();
    for _ in 0..3 {
        start(&mut bench, &format!("trap '' TERM; while :; do sleep 1; done; : {tag}")).await;
    }
    eventually_beside("all of them run", || processes_with(&tag).len() == 3).await;
    bench.shells.end_all().await;
    assert_eq!(processes_with(&tag), [0; 0]);
    assert!(bench.shells.list().iter().all(|shell| shell.state == ShellState::Killed));
}
