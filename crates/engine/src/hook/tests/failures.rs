//! A hook that fails decides nothing, unless its configuration says that it blocks then.

use serde_json::{Value, json};
use tiller_config::HookEvent;
use tiller_protocol::entry::Level;

use super::bench::{Bench, notice, one};
use crate::hook::{Conclusion, Outcome, PermissionAnswer, Verdict};

/// Ways not to do one's work; in each of them nothing has been decided.
const FAILURES: [(&str, &str); 9] = [
    ("/nowhere/hook.sh", "the command cannot be run"),
    ("no-such-command-here --check", "the command cannot be run"),
    ("./not-executable", "the command cannot be run"),
    ("if true", "the shell does not understand the command"),
    ("echo 'unfinished", "the shell does not understand the command"),
    ("dash gone.sh", "the script gone.sh does not exist"),
    ("perl gone.pl", "the script gone.pl does not exist"),
    ("kill -KILL $$", "it was ended by signal 9"),
    ("exit 1", "exit code 1"),
];

fn bench() -> Bench {
    let bench = Bench::new();
    fs_err::write(bench.path().join("not-executable"), "exit 2").unwrap();
    bench
}

fn says_nothing(outcome: &Outcome) -> bool {
    outcome.decision.is_none()
        && outcome.blocked.is_none()
        && outcome.answer.is_none()
        && outcome.attachments.is_empty()
}

#[track_caller]
fn failure(outcome: &Outcome) -> &str {
    match outcome.runs.as_slice() {
        [run] => match &run.conclusion {
            Conclusion::Failed(why) => why,
            other => panic!("{other:?} {outcome:?}"),
        },
        _ => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn a_hook_that_cannot_do_its_work_decides_nothing_and_is_always_told() {
    let bench = bench();
    for (command, why) in FAILURES {
        for event in [HookEvent::PreToolUse, HookEvent::Stop, HookEvent::UserPromptSubmit] {
            let outcome = bench.run(event, command).await;
            assert!(failure(&outcome).starts_with(why), "{command}: {outcome:?}");
            assert!(says_nothing(&outcome), "{command}: {outcome:?}");
            let text = notice(&outcome);
            assert!(text.contains("failed and is ignored") && text.contains(why), "{text}");
            assert_eq!(outcome.notices[0].0, Level::Warning);
        }
    }
}

#[tokio::test]
async fn a_hook_that_must_not_fail_blocks_when_it_does() {
    let bench = bench();
    let strict = |command: &str| json!({"type": "command", "command": command, "onFailure": "block"});
    let unusable =
        ["echo '{\"decision\": 1}'", "echo '{\"decision\"'", "echo '{\"permissionDecision\": \"deny\"}'"]
            .map(|command| (command, "it"));
    for (command, _) in FAILURES.into_iter().chain(unusable) {
        let outcome = bench.run_hook(HookEvent::PreToolUse, strict(command)).await;
        let why = failure(&outcome);
        let decision = outcome.decision.as_ref().unwrap();
        assert_eq!(decision.verdict, Verdict::Deny, "{command}");
        assert!(decision.reason.contains("must not fail") && decision.reason.contains(why), "{decision:?}");
        assert!(notice(&outcome).contains("failed and blocks"));
        assert_eq!(outcome.notices[0].0, Level::Error);
        assert!(bench.run_hook(HookEvent::Stop, strict(command)).await.blocked.is_some());
        let outcome = bench.run_hook(HookEvent::PermissionRequest, strict(command)).await;
        assert!(matches!(outcome.answer, Some(PermissionAnswer::Deny { .. })));
        let outcome = bench.run_hook(HookEvent::SessionStart, strict(command)).await;
        assert!(says_nothing(&outcome) && notice(&outcome).contains("is ignored"));
    }
    let outcome = bench.run_hook(HookEvent::PreToolUse, strict("true")).await;
    assert!(says_nothing(&outcome) && outcome.notices.is_empty());
}

#[tokio::test]
async fn a_script_that_is_there_decides_even_if_it_speaks_of_missing_files() {
    let bench = bench();
    fs_err::write(bench.path().join("guard.sh"), "echo 'guard.sh: gone.txt: No such file' >&2; exit 2")
        .unwrap();
    for command in
        ["dash guard.sh", "sh ./guard.sh", "dash \"$PWD/guard.sh\"", "cd / && dash gone.sh; exit 2"]
    {
        let outcome = bench.run(HookEvent::PreToolUse, command).await;
        assert_eq!(outcome.decision.map(|decision| decision.verdict), Some(Verdict::Deny), "{command}");
    }
    for command in ["echo 'not so' >&2; exit 2\nif", "echo 'guard: syntax error in a.py' >&2; exit 2\nif"] {
        let outcome = bench.run(HookEvent::PreToolUse, command).await;
        assert_eq!(outcome.decision.map(|decision| decision.verdict), Some(Verdict::Deny), "{command}");
    }
    let outcome = bench.run(HookEvent::PreToolUse, "exit 2").await;
    assert_eq!(outcome.decision.unwrap().reason, "no reason was given");
}

#[tokio::test]
async fn a_directory_that_is_gone_is_told() {
    let bench = bench();
    let hooks = bench.hooks(one(HookEvent::Stop, &json!({"type": "command", "command": "true"})));
    let mut moment = bench.moment();
    moment.cwd = "/nowhere/at/all".into();
    let occasion = crate::hook::Occasion::Stop { stop_hook_active: false };
    let outcome = hooks.run(occasion, &moment, &Default::default()).await;
    assert!(failure(&outcome).contains("/nowhere/at/all does not exist"));
}

#[tokio::test]
async fn a_directory_that_cannot_be_entered_does_not_switch_a_guard_off() {
    let bench = bench();
    let command = "cat > input.json; pwd > started; exit 2";
    let hooks = bench.hooks_here(one(HookEvent::PreToolUse, &json!({"type": "command", "command": command})));
    let (gone, file) = (bench.path().join("gone"), bench.path().join("not-executable"));
    for cwd in [gone, file] {
        let mut moment = bench.moment();
        moment.cwd = cwd.clone();
        let (input, call) = (json!({}), "toolu_1".into());
        let occasion = crate::hook::Occasion::PreToolUse { tool: "Bash", input: &input, call: &call };
        let outcome = hooks.run(occasion, &moment, &Default::default()).await;
        assert_eq!(outcome.decision.map(|decision| decision.verdict), Some(Verdict::Deny));
        assert_eq!(bench.read("started").trim(), bench.path().to_str().unwrap());
        let told: Value = serde_json::from_str(&bench.read("input.json")).unwrap();
        assert_eq!(told["cwd"], json!(cwd));
    }
}

/// Whoever runs this as root can enter any directory; the guard speaks all the same.
#[tokio::test]
async fn a_directory_without_permissions_does_not_switch_a_guard_off() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    let locked = bench.path().join("locked");
    fs_err::create_dir(&locked).unwrap();
    fs_err::set_permissions(&locked, PermissionsExt::from_mode(0o000)).unwrap();
    let hooks = bench.hooks_here(one(HookEvent::Stop, &json!({"type": "command", "command": "exit 2"})));
    let mut moment = bench.moment();
    moment.cwd = locked.clone();
    let occasion = crate::hook::Occasion::Stop { stop_hook_active: false };
    let outcome = hooks.run(occasion, &moment, &Default::default()).await;
    fs_err::set_permissions(&locked, PermissionsExt::from_mode(0o700)).unwrap();
    assert!(outcome.blocked.is_some(), "{outcome:?}");
}

// HOOK-17
#[tokio::test]
async fn a_matcher_that_nobody_understands_is_told_once_and_loudly() {
    let bench = bench();
    let group = json!({"matcher": "Bash(", "hooks": [
        {"type": "command", "command": "exit 2"}, {"type": "command", "command": "touch ran"},
    ]});
    let hooks = bench.hooks(json!({"PreToolUse": [group.clone()], "Notification": [group]}));
    for (event, level) in [(HookEvent::PreToolUse, Level::Error), (HookEvent::Notification, Level::Warning)] {
        assert!(hooks.has(event));
        let outcome = bench.run_at(&hooks, event).await;
        assert!(outcome.runs.is_empty() && says_nothing(&outcome));
        let text = notice(&outcome);
        assert!(text.contains("never run") && text.contains("\"Bash(\""), "{text}");
        assert_eq!(outcome.notices[0].0, level);
        assert!(bench.run_at(&hooks, event).await.notices.is_empty());
    }
    assert!(!bench.path().join("ran").exists());
}

// HOOK-17
#[tokio::test]
async fn matchers_are_compared_with_what_the_event_is_about() {
    let bench = bench();
    for (event, subject) in [
        (HookEvent::PreToolUse, Some("Bash")),
        (HookEvent::PostToolUse, Some("Bash")),
        (HookEvent::PostToolUseFailure, Some("Bash")),
        (HookEvent::PermissionRequest, Some("Bash")),
        (HookEvent::SessionStart, Some("compact")),
        (HookEvent::SessionEnd, Some("prompt_input_exit")),
        (HookEvent::SubagentStart, Some("Explore")),
        (HookEvent::SubagentStop, Some("Explore")),
        (HookEvent::PreCompact, Some("auto")),
        (HookEvent::Notification, Some("idle_prompt")),
        (HookEvent::UserPromptSubmit, None),
        (HookEvent::Stop, None),
    ] {
        let hook = |name: &str| json!({"type": "command", "command": format!("true {name}")});
        let groups: Vec<Value> = ["", "*", subject.unwrap_or("x"), "other"]
            .iter()
            .map(|matcher| json!({"matcher": matcher, "hooks": [hook(&format!("m{matcher}"))]}))
            .collect();
        let outcome = bench.run_at(&bench.hooks(json!({event.name(): groups})), event).await;
        assert_eq!(outcome.runs.len(), if subject.is_some() { 3 } else { 4 }, "{event:?}");
    }
}

#[tokio::test]
async fn identical_commands_run_once_and_as_strictly_as_the_strictest() {
    let bench = bench();
    let command = "echo ran >> count; exit 1";
    let settings = json!({"PreToolUse": [
        {"hooks": [{"type": "command", "command": command, "async": true}, {"type": "command", "command": command}]},
        {"matcher": "Bash", "hooks": [{"type": "command", "command": command, "onFailure": "block"}]},
        {"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": command}]},
    ]});
    let outcome = bench.run_at(&bench.hooks(settings), HookEvent::PreToolUse).await;
    assert_eq!(bench.read("count"), "ran\n");
    assert_eq!(outcome.runs.len(), 2, "a question is no command");
    assert_eq!(outcome.decision.unwrap().verdict, Verdict::Deny);
}
