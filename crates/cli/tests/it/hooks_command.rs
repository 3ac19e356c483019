//! `tiller hooks`: what hooks there are and what they would do, without a session. The examples of docs/hooks.md.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{Run, World};

/// A world whose project has these hooks.
fn world(hooks: &Value) -> World {
    World::new().file(".tiller/settings.json", &json!({"hooks": hooks}).to_string())
}

fn command(command: &str) -> Value {
    json!({"hooks": [{"type": "command", "command": command}]})
}

fn test(world: &World, args: &[&str]) -> (Run, Value) {
    let run = world.run(&[&["hooks", "test"][..], args, &["--json"]].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:#?}"));
    (run, report)
}

#[test]
fn a_trial_tells_for_each_hook_what_it_did_and_what_that_means() {
    let world = world(&json!({"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "grep -q 'rm -rf' || exit 0; echo 'no rm -rf here' >&2; exit 2"}]},
        {"matcher": "Write|Edit", "hooks": [{"type": "command", "command": "touch never"}]},
    ]}));
    let (run, report) =
        test(&world, &["PreToolUse", "--input", r#"{"tool_input": {"command": "rm -rf x"}}"#]);
    assert_eq!(run.code(), 0, "a hook that blocks behaves: {run:#?}");
    assert_eq!(report["event"], "PreToolUse");
    assert_eq!(report["input"]["tool_name"], "Bash");
    let [guard, other] = report["hooks"].as_array().unwrap().as_slice() else { panic!("{report:#}") };
    assert_eq!(
        (&guard["matched"], &guard["run"]["end"], &guard["run"]["exitCode"]),
        (&json!(true), &json!("blocked"), &json!(2))
    );
    assert_eq!(guard["run"]["stderr"], "no rm -rf here\n");
    assert_eq!(guard["run"]["meaning"], json!(["denies the call: no rm -rf here"]));
    assert!(guard["source"].as_str().unwrap().ends_with(".tiller/settings.json"), "{guard:#}");
    assert_eq!((&other["matched"], other.get("run")), (&json!(false), None));

    let run = world.run(&["hooks", "test", "PreToolUse", "--matcher-value", "Bash"]).ok();
    for part in ["PreToolUse Bash: grep", "success, exit code 0", "-> has no objection", "does not match"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(!world.path("never").exists());
}

#[test]
fn a_hook_that_fails_is_found_by_the_exit_code() {
    for (hook, told) in [
        (command("./hooks/gone.sh"), "the command cannot be run"),
        (command("python3 hooks/gone.py"), "failed and is ignored"),
        (command("echo '{\"decision\": \"no\"}'"), "decision: unknown variant"),
        (json!({"hooks": [{"type": "command", "command": "sleep 3600", "timeout": 1}]}), "took too long"),
    ] {
        let world = world(&json!({"PreToolUse": [hook]}));
        let (run, report) = test(&world, &["PreToolUse"]);
        assert_eq!(run.code(), 4, "{run:#?}");
        let meaning = report["hooks"][0]["run"]["meaning"].to_string();
        assert!(meaning.contains(told), "{meaning}");
        assert_eq!(report["hooks"][0]["run"]["behaved"], false);
    }
    let world =
        world(&json!({"Stop": [{"matcher": "Bash(", "hooks": [{"type": "command", "command": "true"}]}]}));
    let (run, report) = test(&world, &["Stop"]);
    assert_eq!((run.code(), &report["hooks"][0]["matched"]), (4, &json!(false)));
    assert!(report["hooks"][0]["problem"].as_str().unwrap().contains("not a regular expression"));
}

#[test]
fn asynchronous_hooks_are_waited_for_and_questions_go_to_the_small_model() {
    let answer = json!({"systemMessage": "built", "hookSpecificOutput": {"additionalContext": "2 warnings"}});
    let world = world(&json!({
        "PostToolUse": [{"hooks": [{"type": "command", "async": true, "command": format!("echo '{answer}'")}]}],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "Have the tests been run?"}]}],
    }));
    let (run, report) = test(&world, &["PostToolUse"]);
    assert_eq!(run.code(), 0, "{run:#?}");
    let meaning = report["hooks"][0]["run"]["meaning"].to_string();
    assert!(meaning.contains("decides nothing") && meaning.contains("async_hook_response"), "{meaning}");

    world.server.reply(Reply::text(r#"{"ok": false, "reason": "run the tests first"}"#));
    let (run, report) = test(&world, &["Stop"]);
    assert_eq!(run.code(), 0, "{run:#?}");
    assert_eq!(report["hooks"][0]["run"]["meaning"], json!(["blocks: run the tests first"]));
    let asked = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(asked.contains("Have the tests been run?") && asked.contains("stop_hook_active"), "{asked}");
    world.server.assert_clean();
}

#[test]
fn hooks_are_listed_with_their_files() {
    let world = world(&json!({"Stop": [command("make check")], "PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "./guard", "onFailure": "block", "timeout": 5},
    ]}]}));
    let run = world.run(&["hooks", "list"]).ok();
    for part in [
        "PreToolUse Bash: ./guard",
        "blocks on failure, at most 5 s",
        "Stop *: make check",
        ".tiller/settings.json",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let run = world.run(&["hooks", "list", "--json"]).ok();
    let hooks: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&hooks[0]["hook"], &hooks[0]["onFailure"], &hooks[1]["timeout"]),
        (&json!("./guard"), &json!("block"), &json!(60))
    );
    let run = world.run(&["hooks", "list", "--no-project-settings"]).ok();
    assert!(run.stdout.starts_with("there are no hooks;"), "{}", run.stdout);
}

#[test]
fn what_is_wrong_with_the_request_is_said() {
    let world = World::new();
    let run = world.run(&["hooks", "test", "BeforeTool"]);
    assert!(run.code() != 0 && run.stderr.contains("choose from PreToolUse, PostToolUse"), "{run:#?}");
    for input in ["{", "[]"] {
        let run = world.run(&["hooks", "test", "Stop", "--input", input]);
        assert!(run.code() == 1 && run.stderr.contains("--input"), "{run:#?}");
    }
    assert_eq!(world.run(&["hooks", "test", "Stop"]).ok().stdout, "there are no hooks for Stop\n");
}

/// The examples of the documentation: blocks of this language, in their order.
fn examples(language: &str) -> Vec<String> {
    let document = include_str!("../../../../docs/hooks.md");
    let blocks = document.split("\n```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n').map(str::to_owned)).collect()
}

#[test]
fn the_documented_examples_do_what_is_said_of_them() {
    let world = World::new().program(".tiller/no-force-push.sh", &examples("sh")[0]);
    let said = |settings: &str, event: &str, args: &[&str]| {
        let (run, report) = test(&world, &[&[event, "--settings", settings][..], args].concat());
        assert!(!run.stderr.contains("warning"), "{run:#?}");
        (run.code(), report["hooks"][0]["run"]["meaning"].to_string())
    };
    let [guard, strict, context, background, prompt] = examples("json").try_into().unwrap();
    let push = r#"{"tool_input": {"command": "git push --force"}}"#;
    let (code, meaning) = said(&guard, "PreToolUse", &["--input", push]);
    assert_eq!(
        (code, meaning.as_str()),
        (0, r#"["denies the call: Do not force-push. Ask the user to do it."]"#)
    );
    assert_eq!(said(&guard, "PreToolUse", &[]).1, r#"["has no objection"]"#);

    let (code, meaning) = said(&strict, "PreToolUse", &["--matcher-value", "Edit"]);
    assert!(
        code == 4 && meaning.contains("denies the call: A hook that must not fail has failed"),
        "{meaning}"
    );

    let (code, meaning) = said(&context, "PostToolUse", &["--matcher-value", "Write"]);
    assert_eq!((code, meaning.as_str()), (0, r#"["tells the model (hook_additional_context)"]"#));

    let (code, meaning) = said(&background, "PostToolUse", &["--matcher-value", "Write"]);
    assert!(code == 0 && meaning.contains("async_hook_response"), "there is no Makefile: {meaning}");

    world.server.reply(Reply::text(r#"{"ok": true}"#));
    assert_eq!(said(&prompt, "Stop", &[]), (0, r#"["has no objection"]"#.to_owned()));
    world.server.assert_clean();
}
