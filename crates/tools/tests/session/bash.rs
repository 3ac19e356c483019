use serde_json::json;
use tiller_protocol::effect::Effect;
use tiller_tools::Input;

use tiller_testenv::processes_with;

use crate::bench::{Bench, ended, registry};

#[tokio::test]
async fn output_and_errors_are_shown_in_this_order() {
    let mut bench = Bench::new();
    let result = bench.bash("echo err >&2; echo out").await;
    assert_eq!((result.text.as_str(), result.failed), ("out\nerr", false));
    assert_eq!((&result.detail["stdout"], &result.detail["stderr"]), (&json!("out\n"), &json!("err\n")));
    assert_eq!((&result.detail["exitCode"], &result.detail["interrupted"]), (&json!(0), &json!(false)));
    assert_eq!(bench.bash("true").await.text, "(no output)");
}

// EXEC-06
#[tokio::test]
async fn a_failing_command_is_an_error_with_its_output() {
    let result = Bench::new().bash("echo partial; exit 3").await;
    assert_eq!((result.text.as_str(), result.failed), ("partial\n[exit code 3]", true));
    let result = Bench::new().bash("kill -9 $$").await;
    assert_eq!((result.text.as_str(), result.failed), ("[ended by signal 9]", true));
    assert!(Bench::new().bash("echo 'unclosed").await.failed);
    assert!(Bench::new().bash("  ").await.text.contains("empty"));
}

// EXEC-03
#[test]
fn no_command_runs_beside_others() {
    for command in ["ls", "git status", "rm -rf x", "true"] {
        for background in [false, true] {
            let input = json!({"command": command, "run_in_background": background});
            let call = registry().prepare("Bash", Input::Json(&input)).unwrap();
            assert!(!call.parallel(), "{command}");
            assert_eq!(call.read_only(), !background && command != "rm -rf x", "{command}");
        }
    }
}

#[tokio::test]
async fn the_directory_persists_and_variables_do_not() {
    let mut bench = Bench::new();
    let sub = bench.path().join("a b");
    let result = bench.bash("mkdir 'a b'; export X=1; cd 'a b'").await;
    assert_eq!(result.effects, [Effect::ChangeDir { path: sub.clone() }]);
    assert!(result.text.contains(&format!("now {}]", sub.display())), "{}", result.text);
    let result = bench.bash("pwd; echo \"[$X]\"").await;
    assert_eq!(result.text, format!("{}\n[]", sub.display()));
    assert_eq!(result.effects, []);
    let result = bench.bash("cd ..; false").await;
    assert_eq!((result.failed, result.effects), (true, vec![Effect::ChangeDir { path: bench.path() }]));
}

#[tokio::test]
async fn a_directory_that_is_gone_is_not_kept() {
    let mut bench = Bench::new();
    assert_eq!(bench.bash("mkdir d; cd d; rmdir ../d").await.effects, []);
    assert_eq!(bench.view.cwd, bench.path());
    bench.view.cwd = bench.path().join("gone");
    let result = bench.bash("pwd").await;
    assert!(result.failed && result.text.contains("does not exist"), "{}", result.text);
}

// CUST-01
#[tokio::test]
async fn a_timeout_keeps_what_was_printed() {
    let mut bench = Bench::new();
    let tag = bench.tag();
    // A busy machine may need longer to start the command than others to run it.
    let mut limit = 300;
    let result = loop {
        let input = json!({"command": format!("echo before; sleep 1000; : {tag}"), "timeout": limit});
        let result = bench.call("Bash", input).await;
        assert!(result.failed && result.text.contains(&format!("[timed out after {limit} ms")));
        if result.text.starts_with("before\n") || limit > 60_000 {
            break result;
        }
        limit *= 4;
    };
    assert!(result.text.starts_with("before\n[timed out"), "{}", result.text);
    assert_eq!((&result.detail["interrupted"], &result.detail["timedOut"]), (&json!(true), &json!(true)));
    assert_eq!(processes_with(&tag), [0; 0]);
}

// CUST-01, CUST-02
#[tokio::test]
async fn cancelling_ends_everything_and_keeps_what_was_printed() {
    let mut bench = Bench::new();
    let tag = bench.tag();
    let stubborn = format!("trap '' TERM INT HUP; echo ready; while :; do sleep 1; done; : {tag}");
    let command = format!("setsid bash -c \"{stubborn}\" & {stubborn}");
    let running = tokio::spawn(bench.start("Bash", &json!({"command": command})).unwrap());
    let progress = bench.progress.recv().await.unwrap();
    assert!(progress["output"].as_str().unwrap().contains("ready"), "{progress}");
    bench.cancel.cancel();
    let result = ended(running.await.unwrap());
    assert!(
        result.failed && result.text.contains("ready\n") && result.text.contains("[interrupted"),
        "{}",
        result.text
    );
    assert_eq!(processes_with(&tag), [0; 0]);
}

// EXEC-41
#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_stored() {
    let mut bench = Bench::new();
    for (lines, bytes) in [(8_000, 38_893), (100_000, 588_895)] {
        let result = bench.bash(&format!("seq {lines}")).await;
        assert!(result.text.chars().count() <= 30_000, "{}", result.text.len());
        assert!(result.text.starts_with("1\n2\n") && result.text.ends_with(&format!("\n{lines}")));
        assert!(result.text.contains(&format!("{bytes} bytes in all")), "{lines}");
        let file = result.detail["files"][0].as_str().unwrap();
        assert!(result.text.contains(file) && file.starts_with(bench.view.spill_dir.to_str().unwrap()));
        assert_eq!(fs_err::read_to_string(file).unwrap().lines().count(), lines);
    }
}

// CUST-01
#[tokio::test]
async fn a_flood_is_told_with_its_size() {
    let result = Bench::new().bash("yes | head -c 200M").await;
    assert!(!result.failed && result.text.chars().count() <= 30_000);
    assert!(
        result.text.contains("209715200 bytes, of which the first 67108864 are stored in all"),
        "{}",
        &result.text[14_000..16_000]
    );
}

#[tokio::test]
async fn strange_output_becomes_readable() {
    let result = Bench::new().bash(r"printf '\033[31mred\033[0m \377\n 10%%\r100%%\n'").await;
    assert_eq!(result.text, "red \u{fffd}\n100%");
}

#[tokio::test]
async fn standard_input_is_empty() {
    assert_eq!(Bench::new().bash("cat; echo done").await.text, "done");
}

// A directory that looks like a repository must not have its programs run by a command that counts as looking.
#[tokio::test]
async fn looking_at_a_repository_runs_nothing_of_its_choice() {
    let mut bench = Bench::new();
    let config = "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch pwned; false\"\n";
    for (name, content) in [("HEAD", "ref: refs/heads/main\n"), ("config", config)] {
        fs_err::write(bench.path().join(name), content).unwrap();
    }
    for name in ["objects", "refs"] {
        fs_err::create_dir(bench.path().join(name)).unwrap();
    }
    bench.bash("git status").await;
    assert!(!bench.path().join("pwned").exists());
}
